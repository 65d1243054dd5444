"""What the documents name exists: modules with their folders, tests by name, files that are linked or shown."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "slurm/README.md",
    "benchmarks/README.md",
    "docs/analyses.md",
    "docs/privacy.md",
    "docs/rules.md",
)
DOCUMENTED = ("pipeline", "sim", "training", "benchmarks")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def tree_paths() -> set[str]:
    """Paths of the tree in README.md: names are joined with the folders that they are indented below."""
    block = text_of("README.md").split("## The tree", 1)[1].split("```")[1]
    folders: list[str] = []
    paths: set[str] = set()
    for line in block.splitlines():
        if not line.strip():
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        folders[depth:] = [name] if name.endswith("/") else []
        paths.add("".join(folders[:depth]) + name)
    return paths


def test_the_tree_has_every_module_in_its_folder_and_no_other():
    named = {path for path in tree_paths() if path.endswith(".py") and path.split("/")[0] in DOCUMENTED}
    there = {
        path.relative_to(ROOT).as_posix()
        for folder in DOCUMENTED
        for path in (ROOT / folder).rglob("*.py")
        if path.stem != "__init__"
    }
    assert named - there == set(), "the README's tree names modules that are not there"
    assert there - named == set(), "the README's tree lacks modules"


def test_everything_else_in_the_tree_exists():
    missing = [path for path in sorted(tree_paths()) if not (ROOT / path).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_are_named_exist(page):
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of(page)):
        assert re.search(rf"^(async )?def {name}\(", text_of(path), re.MULTILINE), f"{page} names {path}::{name}"


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_that_are_named_exist(page):
    here = (ROOT / page).parent
    for target in re.findall(r"\]\(([^)#]+)\)", text_of(page)):
        assert (here / target).exists(), f"{page} links to {target}"
    for path in re.findall(r"\b((?:configs|slurm|tests|sim|training|pipeline|benchmarks)/[\w/.]+\.\w+)", text_of(page)):
        assert (ROOT / path).exists(), f"{page} names {path}"


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_that_are_named_exist(page):
    targets = set(re.findall(r"^([\w-]+):", text_of("Makefile"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z][\w-]*)", text_of(page))) <= targets
