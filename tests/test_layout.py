"""The rules of the tree as code: who may import whom, where heavy imports stand, sizes, names, configs, README."""

import ast
import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PACKAGES = ("sim", "training", "pipeline")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
RAY_FILES = {"cluster", "agent_host", "ray_executor", "journal_actor", "vllm_pool", "trainer_job"}
TORCH_FILES = {"training/sft.py", "training/tiny_model.py", "training/base_model.py", "pipeline/held_weights.py"}
TRANSFORMERS_FILES = {*TORCH_FILES, "training/tokens.py"}
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
DRIVERS = {"pipeline/rounds.py", "sim/lifetime.py", "training/prepare.py"}
MAX_DRIVER_FUNCTION_LINES = 40
LAYERS = {
    "core": set(),
    "journal": {"core", "llm"},
    "llm": {"core", "journal"},
    "engine": {"core"},
    "world": {"core", "context", "llm"},
    "context": {"core", "llm", "engine", "journal", "world", "mind"},
    "mind": {"core", "llm", "engine", "context", "world"},
    "environment": {"core", "llm", "engine", "context", "mind", "world"},
    "week": {"core", "llm", "engine", "context", "mind", "environment", "world"},
    "year": {"core", "llm", "engine", "context", "mind", "environment", "world"},
}
PURE = ["sim/core", "training/advantage.py", "training/selection.py", "training/filters.py", "training/mixing.py"]
PURE_BANNED = {"asyncio", "logging", "os", "pathlib", "time", "random", "socket", "subprocess", "uuid", "datetime"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    # A garbage collection that parses something itself, in the middle of building a tree, is an error of CPython 3.11.
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()


def imports_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def typing_only(tree: ast.Module) -> ast.Module:
    """The module without its `if TYPE_CHECKING:` blocks."""

    class Strip(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" else node

    return ast.fix_missing_locations(Strip().visit(tree))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path):
    package, *rest = path.relative_to(ROOT).parts
    layer = rest[0].removesuffix(".py")
    for imported in imports_of(typing_only(tree_of(path))):
        top, *inner = imported.split(".")
        if top in PACKAGES:
            assert PACKAGES.index(top) <= PACKAGES.index(package), f"{name_of(path)} imports {imported}"
        if package == "sim" and top == "sim" and layer in LAYERS and inner and inner[0] in LAYERS:
            assert inner[0] in LAYERS[layer] | {layer}, f"{name_of(path)} imports {imported}"
        if top == "ray":
            assert package == "pipeline", f"{name_of(path)} imports ray"
            assert path.stem in RAY_FILES, f"{name_of(path)} imports ray"
        if top in ("torch", "trl", "deepspeed", "accelerate", "peft"):
            assert name_of(path) in TORCH_FILES, f"{name_of(path)} imports {imported}"
        if top == "transformers":
            assert name_of(path) in TRANSFORMERS_FILES, f"{name_of(path)} imports {imported}"


@pytest.mark.parametrize("path", [p for p in MODULES if any(name_of(p).startswith(pure) for pure in PURE)], ids=name_of)
def test_pure_modules_touch_nothing_outside(path):
    tree = tree_of(path)
    banned = sorted(PURE_BANNED & {name.split(".")[0] for name in imports_of(tree)})
    allowed = {"random"} if "random.Random" in path.read_text(encoding="utf-8") else set()
    assert not set(banned) - allowed, f"{name_of(path)} imports {banned}"
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    global_random = {call for call in calls if call.startswith("random.") and call != "random.Random"}
    assert not global_random | (calls & {"open", "print", "input"})


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_sizes_and_docstrings(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_FILE_LINES, f"{name_of(path)} has {text.count(chr(10))} lines"
    tree = tree_of(path)
    assert ast.get_docstring(tree) or not text.strip(), f"{name_of(path)} has no docstring"
    limit = MAX_DRIVER_FUNCTION_LINES if name_of(path) in DRIVERS else MAX_FUNCTION_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= limit, f"{name_of(path)}: {node.name} has {length} lines"
            if not node.name.startswith("_"):
                in_function = any(
                    isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
                    and node in ast.walk(outer)
                    and node is not outer
                    for outer in ast.walk(tree)
                )
                assert in_function or ast.get_docstring(node), f"{name_of(path)}: {node.name} has no docstring"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_names_say_what_is_decided(path):
    assert path.stem not in {"utils", "helpers", "common", "manager", "misc"}
    if path.stem != "__init__":
        assert path.stem not in sys.stdlib_module_names, f"{name_of(path)} hides a standard module"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_one_broad_except(path):
    broad = [
        node.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]
    assert not broad, f"{name_of(path)}: lines {broad} catch everything; name what may go wrong"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_actors_never_block_on_ray(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.AsyncFunctionDef):
            calls = {ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
            assert not calls & {"ray.get", "ray.wait", "time.sleep"}, f"{name_of(path)}: {node.name} blocks its loop"


def test_files_are_opened_as_utf8():
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".read_text", ".write_text")):
                keywords = {keyword.arg for keyword in node.keywords}
                assert "encoding" in keywords, f"{name_of(path)}:{node.lineno} has no encoding"


def test_every_config_is_loaded_and_says_what_it_needs():
    from pipeline.load_settings import load_settings

    paths = sorted((ROOT / "configs").glob("*.yaml"))
    assert {path.stem for path in paths} >= {"smoke", "laptop", "one_gpu", "one_node", "paper"}
    for path in paths:
        load_settings(path)
        assert path.read_text(encoding="utf-8").startswith("# "), f"{path.name} does not say what it is for"


def test_yaml_of_worlds_is_utf8_and_parses():
    for path in sorted((ROOT / "configs" / "worlds").rglob("*.yaml")):
        assert yaml.safe_load(path.read_text(encoding="utf-8"))


def test_english_and_chinese_have_the_same_templates():
    english, chinese = (
        {
            path.relative_to(ROOT / "sim/prompts" / language).as_posix()
            for path in (ROOT / "sim/prompts" / language).rglob("*.*")
        }
        for language in ("en", "zh")
    )
    assert english == chinese


def test_top_level_holds_nothing_else():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    tops = {line.split("/")[0] for line in listed if line}
    allowed = {
        *PACKAGES,
        "configs",
        "docs",
        "slurm",
        "tests",
        "benchmarks",
        "README.md",
        "pyproject.toml",
        "Makefile",
        "LICENSE",
    }
    allowed |= {"constraints-cpu.txt", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"}
    assert {top for top in tops if not top.startswith(".")} <= allowed


def test_readme_tree_names_every_module():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w.-]+\.(?:py|yaml)\b", text))
    missing = [name_of(path) for path in MODULES if path.stem != "__init__" and path.name not in named]
    assert not missing, f"README's tree lacks {missing}"


def test_help_answers_without_heavy_imports():
    code = (
        "import sys; sys.argv = ['run.py', '--help']\n"
        "try:\n    import pipeline.run as run; run.main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'ray', 'torch', 'transformers', 'vllm', 'trl', 'pandas', 'datasets'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
