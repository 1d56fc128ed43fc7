"""Write docs/compatibility.md: what is promised (features.yaml), what proves it (markers of the tests), and why.

``python docs/generate_compatibility.py`` writes the page; a test fails when it is not up to date. Nothing is run: a
test names its features by ``@pytest.mark.feature("F071")``, and that is read from its source.
"""
# ruff: noqa: INP001 - a script beside the pages it writes

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import yaml

from asyncstate.model.requisite import Requisite, RequisiteKind
from asyncstate.model.result import Outcome
from asyncstate.run.gate import NOT_RUN, Verdict, target_marks, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
DATA = ROOT / "docs" / "features.yaml"
TEMPLATE = "compatibility.md.j2"
KINDS = ("require", "watch", "onchanges", "onfail", "prereq")
RESULTS = (
    ("true, no changes", Outcome(result=True, changed=False)),
    ("true, changes", Outcome(result=True, changed=True)),
    ("false, no changes", Outcome(result=False, changed=False)),
    ("false, changes", Outcome(result=False, changed=True)),
    ("null, no changes", Outcome(result=None, changed=False)),
    ("null, changes", Outcome(result=None, changed=True)),
    ("true, changes, `skip_req`", Outcome(result=True, changed=True, skip_req=True)),
    ("held back by a requisite, true", Outcome(result=True, changed=False, ran=False)),
    ("held back by a requisite, false", Outcome(result=False, changed=False, ran=False)),
)
_WORDS = {
    Verdict.MET: "runs",
    Verdict.CHANGE: "runs, then `mod_watch`",
    Verdict.SKIP_WATCH: "runs, no `mod_watch`",
    Verdict.FAIL: "**fails**",
}


def load_features() -> dict[str, Any]:
    """Return the content of features.yaml."""
    data: dict[str, Any] = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return data


def rows_of(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every feature by ID, whatever section it stands in."""
    return {number: feature for section in data["features"].values() for number, feature in section.items()}


def marked_tests() -> dict[str, list[str]]:
    """Return the tests of the engine that name each ID: ``file::test``, in the order of files and lines."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT / "tests").as_posix()
        if name.startswith("extras/"):  # the page is about the engine
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        of_module = [number for node in tree.body for number in _module_marks(node)]
        for test in _tests(tree):
            for number in dict.fromkeys([*of_module, *(n for mark in test.decorator_list for n in _numbers(mark))]):
                found.setdefault(number, []).append(f"{name}::{test.name}")
    return found


def _tests(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield node


def _module_marks(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "pytestmark" for to in node.targets):
        marks = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else [node.value]
        for mark in marks:
            yield from _numbers(mark)


def _numbers(mark: ast.expr) -> Iterator[str]:
    """Yield the arguments of ``pytest.mark.feature(…)``; nothing for other marks."""
    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.feature":
        yield from (argument.value for argument in mark.args if isinstance(argument, ast.Constant))


def truth_table() -> list[tuple[str, list[str]]]:
    """Return what a state with one requisite does, for each result of its target: asked of the gate itself."""
    return [(words, [_cell(kind, outcome) for kind in KINDS]) for words, outcome in RESULTS]


def _cell(kind: str, outcome: Outcome) -> str:
    requisite = Requisite(RequisiteKind(kind), 0)
    decided = verdict([requisite], lambda _node, family: target_marks(family, outcome))
    return _WORDS.get(decided, "is skipped")


def page() -> str:
    """Return the text of docs/compatibility.md."""
    data, tests = load_features(), marked_tests()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DATA.parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown
    )
    environment.filters["tests"] = lambda number: "<br>".join(f"`{test}`" for test in tests.get(number, ()))
    environment.filters["cell"] = lambda text: str(text).replace("|", "\\|")
    return environment.get_template(TEMPLATE).render(
        sections=data["features"],
        rows=rows_of(data),
        better=data["better"],
        promised=data["promised"],
        tests=tests,
        kinds=KINDS,
        truth=truth_table(),
        not_run={verdict.value: text for verdict, text in NOT_RUN.items()},
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
