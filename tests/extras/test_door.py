"""The engine imports no extra, and an extra uses few names of the engine."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys

import pytest

from asyncstate import extend

LEDGER = {
    "fleet": 75,
    "editor": 31,
    "proof": 30,
    "dropin": 41,
    "borrow": 25,
    "completion": 16,
    "namespace": 102,
    "contradictions": 33,
    "analyse": 97,
    "manual": 89,
    "picture": 40,
    "traces": 36,
    "renderers": 11,
    "other_machine": 9,
}
"""How many names of the engine each extra imports: the price of the seam. A number may only fall."""


def imported(path):
    """Yield the names of asyncstate that a file imports, also for types only."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "asyncstate":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "asyncstate")


@pytest.mark.parametrize("name", LEDGER)
def test_an_extra_uses_no_more_names_of_the_engine(checkout, name):
    folder = checkout / "asyncstate" / "extras" / name
    used = {each for path in folder.rglob("*.py") for each in imported(path)}
    of_engine = {each for each in used if not each.startswith("asyncstate.extras")}
    assert len(of_engine) <= LEDGER[name], sorted(of_engine)
    assert not {each for each in used - of_engine if not each.startswith(f"asyncstate.extras.{name}")}


def test_every_extra_has_a_line_in_the_ledger(checkout):
    assert {path.parent.name for path in (checkout / "asyncstate" / "extras").glob("*/extra.py")} == LEDGER.keys()


def test_the_door_says_what_each_part_of_an_extra_is():
    parts = {part for extra in extend.extras() for part in extra.parts}
    assert parts <= set(re.findall(r"``(\w+)``", str(extend.Extra.__doc__)))


def test_the_engine_names_no_extra(checkout):
    """Not even where an import is made by name: `asyncstate.extend` finds what is installed."""
    found = [
        str(path.relative_to(checkout))
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if "extras" not in path.relative_to(checkout).parts
        and re.search(r"asyncstate\.extras\.\w", path.read_text(encoding="utf-8"))
    ]
    assert found == []


_NAMED = """
import sys
from asyncstate.cli import main
main(sys.argv[1:])
print("extras:", *sorted(name for name in sys.modules if name.endswith(".extra")))
"""


@pytest.mark.parametrize("words", [("show", "lowstate", "a"), ("runs", "list")], ids=" ".join)
def test_a_part_of_a_command_asks_no_extra_for_its_name(tmp_path, words):
    (tmp_path / "a.sls").write_text("a: test.nop\n")
    environment = os.environ | {"ASYNCSTATE_STATE_DIR": str(tmp_path), "ASYNCSTATE_CACHEDIR": str(tmp_path)}
    command = [sys.executable, "-c", _NAMED, *words, *(["--file-root", str(tmp_path)] if "show" in words else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "extras:"
