"""Imports only go down; plugins see no more of the package than they may."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN_MAY_IMPORT = (
    "asyncstate.__version__",
    "asyncstate.dunders",
    "asyncstate.errors",
    "asyncstate.filesystem",
    "asyncstate.interfaces",
    "asyncstate.process",
    "asyncstate.redact.urls",
    "asyncstate.remains",
)


def test_imports_only_go_down(checkout):
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "imports only go down KEPT" in done.stdout


def test_every_package_has_a_layer(checkout):
    contract = (checkout / "pyproject.toml").read_text().partition("[[tool.importlinter.contracts]]")[2]
    parts = {
        path.stem
        for path in (checkout / "asyncstate").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    outside = {"__init__", "__main__", "_checkout", "_version"}
    assert {part for part in parts - outside if f"asyncstate.{part}" not in contract} == set()


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "asyncstate":
            yield from (f"asyncstate.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


@pytest.mark.parametrize("tree", ["states", "modules"])
def test_plugins_import_nothing_else_of_ours(checkout, tree):
    allowed = (*PLUGIN_MAY_IMPORT, "asyncstate.states", "asyncstate.modules")
    found = {
        f"{path.relative_to(checkout)}: {name}"
        for path in (checkout / tree).rglob("*.py")
        for name in imports_of(path)
        if name.partition(".")[0] in {"asyncstate", "states", "modules"}
        and not any(name == each or name.startswith(f"{each}.") for each in allowed)
    }
    assert found == set()


def test_one_place_starts_programs(checkout):
    """Whatever starts a program by other means leaves it behind when its call is cut off."""
    starts = {"Popen", "check_call", "check_output", "getoutput", "getstatusoutput", "fork", "forkpty", "system"}
    found = {
        f"{path.relative_to(checkout)}:{node.lineno}"
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if path.parent != checkout / "asyncstate" / "process"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"subprocess", "os", "asyncio", "anyio", "pty"}
        and (
            node.func.attr in starts
            or node.func.attr.startswith(("create_subprocess", "spawn", "posix_spawn", "exec", "popen"))
            or f"{node.func.value.id}.{node.func.attr}"
            in {"subprocess.run", "subprocess.call", "anyio.run_process", "anyio.open_process"}
        )
    }
    assert found == set()


def test_the_scheduler_has_no_input_or_output(checkout):
    machine = checkout / "asyncstate" / "run" / "machine.py"
    tree = ast.parse(machine.read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Await, ast.AsyncFunctionDef))]
    assert not {"time", "asyncio", "anyio", "logging", "structlog", "os"} & set(imports_of(machine))


def test_no_file_is_too_long(checkout):
    lengths = {
        str(path.relative_to(checkout)): len(path.read_text().splitlines())
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
    }
    assert {path: length for path, length in lengths.items() if length > 800} == {}


def test_what_is_temporary_is_noted(checkout):
    """A temporary file that `asyncstate.remains` does not know of stays for ever when the run that made it is killed."""
    found = {
        str(path.relative_to(checkout))
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if "load/salt" not in str(path) and path.name != "remains.py"
        if re.search(r"\btempfile\.(?!gettempdir\b)", path.read_text())
    }
    assert found == set()
