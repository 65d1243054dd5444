"""docs/rules.md: every rule names a function that exists and a test that exists; no row is empty."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "rules.md"
SECTIONS = ("1 Time", "2 The agent", "3 Context", "4 The environment model", "5 The week", "6 Year end", "10 Metrics",
            "11 Worlds", "Decided cases")  # fmt: skip
HEADS = {("Rule", "Decided by", "Proven by"), ("Case and decision", "Decided by", "Proven by")}
FUNCTION = re.compile(r"`((?:sim|training|pipeline)/[\w/]+\.py):([\w.]+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def tables() -> dict[str, list[list[str]]]:
    """Rows of each section's table, the head and the rule below it left out."""
    found: dict[str, list[list[str]]] = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, *lines = section.splitlines()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
        assert tuple(rows[0]) in HEADS, title
        found[title] = rows[2:]
    return found


ROWS = [(title, row) for title, rows in tables().items() for row in rows]


@cache
def names_in(path: str) -> frozenset[str]:
    """Functions, classes, methods and constants of a file, methods with their class."""
    names: set[str] = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return frozenset(names)


def test_every_section_has_its_table():
    assert tuple(tables()) == SECTIONS
    assert all(rows for rows in tables().values())


@pytest.mark.parametrize(("title", "row"), ROWS, ids=[f"{title}: {row[0][:60]}" for title, row in ROWS])
def test_every_rule_has_a_function_and_a_test(title, row):
    assert len(row) == 3
    assert all(row)
    functions, tests = FUNCTION.findall(row[1]), TEST.findall(row[2])
    assert functions, row[1]
    assert tests, row[2]
    for path, name in (*functions, *tests):
        assert (ROOT / path).is_file(), path
        assert name in names_in(path), f"{path} has no {name}"
