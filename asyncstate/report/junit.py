"""A run as JUnit XML, the format CI servers read: a test case for each state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from asyncstate.model.chunk import parse_tag
from asyncstate.model.result import STATE_RAN, seconds_of
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.errors import Issue
    from asyncstate.model.result import HostResult, Row

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Iterable[HostResult]) -> str:
    """Return the document, a suite for each host.

    A handled failure passes; a state that was not run, or not started, counts as skipped. A state that a failed
    requisite held back was not run either. A host that failed without a report is an error.
    """
    suites = "\n".join(map(_suite, results))
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n{suites}\n</testsuites>\n'


def problems_xml(problems: Sequence[Issue]) -> str:
    """Return the document of a run that did not begin: an error for each mistake in its tree, or any other reason."""
    cases = "\n".join(map(_problem_case, problems))
    counts = f'tests="{len(problems)}" failures="0" errors="{len(problems)}" skipped="0" time="0"'
    suite = f'<testsuite name="asyncstate" {counts}>\n{cases}\n</testsuite>'
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n{suite}\n</testsuites>\n'


def _problem_case(problem: Issue) -> str:
    title = _attribute(_first_line(problem.message))
    place = _place(problem.file, problem.line)
    error = f"<error message={title}>{_text(str(problem))}</error>"
    return f'<testcase classname="run" name={title} time="0"{place}>{error}</testcase>'


def _place(file: str, line: int) -> str:
    return (f" file={_attribute(file)}" if file else "") + (f' line="{line}"' if file and line else "")


def _suite(result: HostResult) -> str:
    report = result.report
    cases = [line for tag, row in report.rows.items() for line in _case(tag, row, result)]
    cases += [line for tag in report.not_started for line in _not_started(tag)]
    cases += _problem(result.problem) if result.problem else []
    skipped = sum(_was_skipped(row) for row in report.rows.values()) + len(report.not_started)
    failures = sum(not _was_skipped(report.rows[tag]) for tag in report.failed)
    errors = int(bool(result.problem))
    counts = f'tests="{len(report.rows) + len(report.not_started) + errors}" failures="{failures}" errors="{errors}" '
    times = f'skipped="{skipped}" time="{report.wall_ms / 1000:.3f}"'
    body = "\n".join(cases)
    return f"<testsuite name={_attribute(result.host or 'asyncstate')} {counts}{times}>\n{body}\n</testsuite>"


def _was_skipped(row: Row) -> bool:
    return row.get(STATE_RAN) is False


def _case(tag: str, row: Row, result: HostResult) -> Iterator[str]:
    try:
        function = "{0.state}.{0.fun}".format(parse_tag(tag))
    except ValueError:
        function = ""
    sls = row.get("__sls__") or "single"
    head = f"<testcase classname={_attribute(f'{sls}.{function}')} "
    head += f'name={_attribute(describe_tag(tag))} time="{seconds_of(row):.3f}"'
    place = result.place(tag)
    head += _place(*place)
    comment = str(row["comment"])
    if _was_skipped(row):
        why = f"held back: {result.held[tag]}" if tag in result.held else comment
        yield f"{head}><skipped message={_attribute(_first_line(why))}/></testcase>"
    elif row["result"] is False and tag not in result.report.handled:
        details = _text("\n".join([comment, *_details(row, place)]))
        failure = f"<failure message={_attribute(_first_line(comment))}>{details}</failure>"
        yield f"{head}>{failure}{_outputs(row)}</testcase>"
    else:
        yield f"{head}><system-out>{_text(comment)}</system-out></testcase>"


def _details(row: Row, place: tuple[str, int]) -> Iterator[str]:
    """Yield the details below the comment of a failure: the exit code of its command, and its place."""
    if "retcode" in row["changes"]:
        yield f"retcode: {row['changes']['retcode']}"
    file, line = place
    if file:
        yield f"at {file}:{line}" if line else f"at {file}"


def _outputs(row: Row) -> str:
    """Return the output of a failed command, as elements of a test case."""
    streams = (("system-out", "stdout"), ("system-err", "stderr"))
    written = ((name, row["changes"].get(stream)) for name, stream in streams)
    return "".join(f"<{name}>{_text(str(text))}</{name}>" for name, text in written if text)


def _not_started(tag: str) -> Iterator[str]:
    yield f'<testcase classname="not started" name={_attribute(describe_tag(tag))} time="0">'
    yield '<skipped message="not started: the run ended before"/></testcase>'


def _problem(text: str) -> Iterator[str]:
    yield '<testcase classname="run" name="the host takes part" time="0">'
    yield f"<error message={_attribute(_first_line(text))}>{_text(text)}</error></testcase>"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", clean(text)))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", clean(text)))
