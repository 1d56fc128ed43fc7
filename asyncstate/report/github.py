"""Annotations of GitHub Actions: lines of a job's log that GitHub shows at a place in a file.

The format is that of GitHub's "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import os
import re
import secrets
from typing import TYPE_CHECKING

from asyncstate.model.result import STATE_RAN, template_place
from asyncstate.report.summary import describe_tag, failure_text
from asyncstate.report.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asyncstate.errors import Issue
    from asyncstate.model.result import HostResult

_COMMAND = re.compile(r"(?:^|(?<=\r))[^\S\n]*:(?=:)|##(?=\[)", re.MULTILINE)
"""The first characters of a command: ``::error::`` at the beginning of a line, or ``##[error]`` anywhere."""


def annotation(level: str, text: str, file: str = "", line: int = 0, title: str = "") -> str:
    """Return one annotation. ``level`` is error, warning or notice; without a ``file`` it applies to the whole job."""
    given = {"file": _in_workspace(file), "line": str(line) if file and line else "", "title": title}
    properties = ",".join(f"{name}={_property(value)}" for name, value in given.items() if value)
    return f"::{level}{' ' if properties else ''}{properties}::{_escaped(text)}"


def failure_annotations(results: Iterable[HostResult]) -> Iterator[str]:
    """Yield an error for each state that failed, for a run that was cut short, and for a host that did not take part.

    Its place is the state, or the line of a template that does not render. States held back by a failed requisite have
    none.
    """
    for result in results:
        report, host = result.report, f"{result.host}: " if result.host else ""
        for tag in report.failed:
            row = report.rows[tag]
            if row.get(STATE_RAN, True):
                title = f"{host}{describe_tag(tag)}"
                place = template_place(row) or result.place(tag)
                yield annotation("error", failure_text(row), *place, title=title)
        if result.problem:
            yield annotation("error", f"{host}{result.problem}")
        elif report.cancelled:
            yield annotation("error", f"{host}The run was cut short: {report.cancelled}")


def issue_annotations(level: str, issues: Iterable[Issue]) -> Iterator[str]:
    """Yield an annotation for each mistake in a tree."""
    for issue in issues:
        text = "\n".join(filter(None, [issue.message.rstrip("\n"), issue.hint]))
        yield annotation(level, text, issue.file, issue.line, issue.code)


def without_commands(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines with GitHub's commands turned off in between: the output of a state may contain ``::``."""
    word = secrets.token_hex(16)
    yield f"::stop-commands::{word}"
    yield from lines
    yield f"::{word}::"


def harmless(text: str) -> str:
    """Return text without commands for GitHub: a space breaks the beginning of each."""
    return _COMMAND.sub(r"\g<0> ", text)


def _in_workspace(file: str) -> str:
    workspace = os.environ.get("GITHUB_WORKSPACE", "").rstrip("/")
    return file.removeprefix(f"{workspace}/") if workspace else file


def _escaped(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
