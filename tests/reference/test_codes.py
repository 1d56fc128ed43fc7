"""Every mistake of a tree that is reported has a code, and every code has a page whose example has that mistake."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import asyncstate
from asyncstate.analyse.tree_findings import tree_findings
from asyncstate.config import Settings
from asyncstate.errors import CompileError
from asyncstate.lsp.actions import actions
from asyncstate.lsp.diagnostics import Diagnostic
from asyncstate.lsp.outline import Place
from asyncstate.model.rules import CODES, RULES
from asyncstate.reference.codes import code_lines, codes, codes_page, files_of
from asyncstate.reference.values import with_wrong_values
from asyncstate.runtime import StateRuntime

PACKAGE = Path(asyncstate.__file__).parent
TESTS = Path(__file__).parent.parent
RAISING = ("compile", "sources", "planner.py", "fleet/join", "fleet/ssh/roster.py")
"""Where the mistakes of trees are found."""


def modules(*places):
    for place in places:
        path = PACKAGE / place
        for file in [path] if path.suffix else sorted(path.rglob("*.py")):
            yield file, ast.parse(file.read_text(encoding="utf-8"))


def in_the_code():
    return {
        node.value
        for _, tree in modules("compile", "sources", "planner.py", "fleet", "analyse", "model")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[EW]\d{3}", node.value)
    }


def tree_of(example, folder):
    """Write an example; return what a runtime and a compilation of it take."""
    files = files_of(example)
    (folder / "salt").mkdir(parents=True)
    (folder / "pillar").mkdir()
    for path, text in files.items():
        file = folder / (path if path.startswith("pillar/") else f"salt/{path}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    roots = {"file_roots": {"base": [str(folder / "salt")]}, "pillar_roots": {"base": [str(folder / "pillar")]}}
    return roots, None if "top.sls" in files else ["a"]


def found(entry, example, folder):
    """Return the code of each mistake, warning and finding of an example, and what keeps it from compiling."""
    issues, problem = issues_of(entry, example, folder)
    return [issue.code for issue in issues], problem


def issues_of(entry, example, folder):
    roots, sls = tree_of(example, folder)
    kept = {"cachedir": str(folder / "cache"), "state_dir": str(folder / "state")}
    settings = Settings(id="example", **roots, **kept, **entry.options)
    try:
        with StateRuntime(settings).open_sync() as runtime:
            pillar = runtime.planner.watch_pillar()
            plan = runtime.compile_sync(sls, exclude=list(entry.exclude), ids=list(entry.ids))
            plan = with_wrong_values(plan, runtime)
            findings = tree_findings(plan, settings, pillar.unused(), read=lambda path: Path(path).read_text())
    except CompileError as error:
        return list(error.issues), "does not compile"
    return [*plan.warnings, *findings], ""


def test_every_code_that_is_given_has_a_page_and_no_page_is_left_over():
    assert in_the_code() == set(codes())


def test_every_rule_has_a_code():
    assert set(CODES.values()) == RULES.keys() - {"tree"}


def test_every_mistake_that_is_reported_has_a_code():
    without = [
        str(file.relative_to(PACKAGE))
        for file, tree in modules(*RAISING)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Issue"
        and not any(keyword.arg == "code" for keyword in node.keywords)
        and file.name != "findings.py"
    ]
    assert without == []


@pytest.mark.parametrize("code", [code for code, entry in codes().items() if entry.wrong])
def test_the_example_of_a_code_has_its_mistake(code, tmp_path):
    given, _ = found(codes()[code], codes()[code].wrong, tmp_path)
    assert code in given


@pytest.mark.parametrize("code", [code for code, entry in codes().items() if entry.right])
def test_the_example_without_the_mistake_compiles(code, tmp_path):
    given, problem = found(codes()[code], codes()[code].right, tmp_path)
    assert not problem, given
    assert code not in given


SUGGESTED = frozenset("E102 E103 E305 E217 E401 E402 E404 E406 E407 E507".split())
"""The codes whose examples have a mistake with a name beside it that was probably meant."""


@pytest.mark.parametrize("code", [code for code, entry in codes().items() if entry.wrong])
def test_a_suggested_name_ends_the_mistake(code, tmp_path):
    """As an editor applies it: the name that "did you mean" says takes the place of the wrong word."""
    entry = codes()[code]
    issues, _ = issues_of(entry, entry.wrong, tmp_path / "wrong")
    suggesting = {each.message: each for each in issues if each.code == code and "did you mean '" in each.hint}
    assert bool(suggesting) == (code in SUGGESTED)
    for number, issue in enumerate(suggesting.values()):
        files = {str(tmp_path / "wrong" / folder / path): text for folder, path, text in parts(entry.wrong)}
        place = Place(max(issue.line - 1, 0), 0, 0)
        told = [Diagnostic(place, "error", issue.rule, f"{issue.message.strip()}\n{issue.hint}", (), code)]
        file = issue.file or str(tmp_path / "wrong" / "salt" / "top.sls")
        [action] = actions(file, files[file], told, [], range(10_000))
        lines = files[file].split("\n")
        (line, start), (_, end) = action.start, action.end
        lines[line] = lines[line][:start] + action.text + lines[line][end:]
        files[file] = "\n".join(lines)
        mended = {
            str(Path(path).relative_to(tmp_path / "wrong")).removeprefix("salt/"): text for path, text in files.items()
        }
        given, _ = found(entry, mended, tmp_path / f"mended{number}")
        assert code not in given


def parts(example):
    """Yield the root, the path and the text of each file of an example."""
    for path, text in files_of(example).items():
        yield ("", path, text) if path.startswith("pillar/") else ("salt", path, text)


@pytest.mark.parametrize("code", [code for code, entry in codes().items() if not entry.wrong])
def test_a_code_without_an_example_has_a_test(code):
    named = re.compile(rf"\b{code}\b")
    naming = [file for file in TESTS.rglob("test_*.py") if named.search(file.read_text(encoding="utf-8"))]
    assert naming


@pytest.mark.parametrize("code", codes())
def test_a_page_says_what_is_meant_and_what_to_do(code):
    entry = codes()[code]
    assert entry.title[0].isupper()
    assert not entry.title.endswith(".")
    assert entry.means.strip().endswith(".")
    assert entry.mend.strip().endswith((".", "`"))
    page = "\n".join(code_lines(code, entry))
    assert page.startswith(f"{code}: {entry.title}\n")
    assert f"## {code}: {entry.title}\n" in codes_page()
