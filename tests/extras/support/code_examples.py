"""The examples of the pages of codes: written as trees, and compiled."""

from __future__ import annotations

from pathlib import Path

from asyncstate.config import Settings
from asyncstate.errors import CompileError
from asyncstate.extras.analyse.tree_findings import tree_findings
from asyncstate.extras.manual.codes import files_of
from asyncstate.extras.manual.values import judge_values
from asyncstate.runtime import StateRuntime


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
            judge_values(runtime)
            pillar = runtime.planner.watch_pillar()
            plan = runtime.compile_sync(sls, exclude=list(entry.exclude), ids=list(entry.ids))
            findings = tree_findings(plan, settings, pillar.unused(), read=lambda path: Path(path).read_text())
    except CompileError as error:
        return list(error.issues), "does not compile"
    return [*plan.warnings, *findings], ""


def parts(example):
    """Yield the root, the path and the text of each file of an example."""
    for path, text in files_of(example).items():
        yield ("", path, text) if path.startswith("pillar/") else ("salt", path, text)
