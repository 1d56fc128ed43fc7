"""A run as one HTML file that needs no network: its states, their times, and the order between them.

The file holds the run as data, and the scripts in `page/` that show it. No text of a run is ever parsed as markup or
run as a script: it is JSON, the scripts insert it as text, and the content security policy of the page allows only
what this module wrote to load and run.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.extras.picture.page_data import WORDS, PageData, add_plan
from asyncstate.model.encode import encoded, utf8
from asyncstate.model.forecast import forecast
from asyncstate.report.summary import cut_short, foretold_text
from asyncstate.report.terminal import clean, count, date_and_time, short_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.extras.picture.page_data import PageState
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import HostResult, RunReport

_SCRIPTS = ("states", "list", "chart", "timeline", "layout", "graph", "main")
_BASICS = 200
"""Number of failed states shown in a browser without scripts."""
_BASIC_TEXT = 5000
"""Number of characters of a comment shown there, and of a warning shown in any browser."""
_NOTES = 100


class About(msgspec.Struct, frozen=True):
    """Facts about a run that are not in its report. ``sls`` are the SLS names given to it; none means the top file."""

    host: str = ""
    command: str = ""
    sls: tuple[str, ...] = ()


def html_report(result: HostResult, profile: Any, plan: Plan | None = None, about: About | None = None) -> str:
    """Return the page. ``profile`` must have received every event of the run; ``plan`` is for display."""
    report = result.report
    timings = profile.finished
    data = Page(wall=max([profile.wall, *(timing.ended for timing in timings)]))
    numbers = data.add(result)
    data.place_bars(numbers, timings)
    for timing in profile.critical_path():
        if timing.tag in numbers:
            data.states[numbers[timing.tag]].critical = True
    if plan is not None:
        add_plan(data, plan, numbers)
    else:
        data.join(
            (numbers[timing.after], numbers[timing.tag], timing.because, timing.resources, False)
            for timing in timings
            if timing.tag in numbers and timing.after in numbers
        )
    notes = [str(issue) for issue in report.warnings] + list(report.notices)
    about = about or About()
    what = "dry run" if report.test else "run"
    return data.html(
        f"{what} on {about.host}" if about.host else what,
        ok=report.ok,
        facts=_facts(report, profile, data, about, plan),
        notes=notes,
    )


def _facts(
    report: RunReport,
    profile: Any,
    data: PageData,
    about: About,
    plan: Plan | None,
) -> Iterator[tuple[str, str]]:
    yield "Host", about.host
    yield "Date", date_and_time(profile.began_at, zone=True) if profile.began_at else ""
    yield "Command", about.command
    yield "SLS", data.sls(about.sls)
    if report.test:
        yield "Dry run", foretold_text(report, forecast(report, plan) if plan else None)
    if report.cancelled:
        yield "Ended", cut_short(report)
    if profile.wall:
        yield "Took", f"{short_time(profile.wall)}, with at most {count(report.concurrency, 'state')} at once"
    if report.shuffle is not None:
        yield "Order", f"shuffled: --shuffle {report.shuffle} repeats it"
    yield "Run", report.run_id


class Page(PageData):
    """The data of a page, and the page."""

    def html(self, what: str, *, ok: bool | None, facts: Iterable[tuple[str, str]], notes: Sequence[str] = ()) -> str:
        """Return the page for ``what``, without a result if ``ok`` is None. Facts without a text are left out."""
        verdict = "" if ok is None else "succeeded" if ok else "failed"
        policy = f"default-src 'none'; style-src {_hash(_style())}; script-src {_hash(_script())}; base-uri 'none'; "
        parts = {
            "title": escape(clean(f"asyncstate: {what} {verdict}".rstrip())),
            "heading": escape(clean(what)),
            "verdict": verdict,
            "policy": f"{policy}form-action 'none'",
            "style": _style(),
            "script": _script(),
            "facts": "".join(_fact(term, text) for term, text in facts if text),
            "notes": "".join(_notes(notes)),
            "counts": "".join(_counts(self.states)),
            "basics": "".join(_basics(self)),
            "data": _json(self),
        }
        return utf8(_PART.sub(lambda match: parts[match[1]], _resource("page.html")))


_PART = re.compile(r"\{\{(\w+)\}\}")


@cache
def _resource(name: str) -> str:
    return files("asyncstate.extras.picture").joinpath("page", name).read_text(encoding="utf-8")


def _style() -> str:
    return _resource("page.css")


@cache
def _script() -> str:
    return "\n".join(['"use strict";', *(_resource(f"{name}.js") for name in _SCRIPTS)])


@cache
def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_NOT_IN_A_SCRIPT = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})


def _json(data: PageData) -> str:
    """Return JSON that cannot end the script element around it."""
    for state in data.states:
        for name in ("function", "id", "name", "sls", "place", "comment", "held", "changes"):
            setattr(state, name, utf8(getattr(state, name)))
        state.warnings = tuple(map(utf8, state.warnings))
    data.joints = list(map(utf8, data.joints))
    data.reasons = [(utf8(text), family) for text, family in data.reasons]
    return encoded(data).decode().translate(_NOT_IN_A_SCRIPT)


def _fact(term: str, text: str) -> str:
    return f"<div><dt>{escape(term)}</dt><dd>{escape(clean(text))}</dd></div>"


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if not notes:
        return
    yield f'<details class="notes" open><summary>{count(len(notes), "warning")}</summary><ul>'
    yield from (f"<li>{escape(clean(text[:_BASIC_TEXT]))}</li>" for text in notes[:_NOTES])
    if len(notes) > _NOTES:
        yield f"<li>… and {len(notes) - _NOTES} more</li>"
    yield "</ul></details>"


def _counts(states: Sequence[PageState]) -> Iterator[str]:
    """Yield a button for each kind of state that occurs; without scripts it only shows the number."""
    numbers = dict.fromkeys(WORDS, 0)
    for state in states:
        numbers[state.kind] += 1
    for kind, number in numbers.items():
        if number:
            yield (
                f'<button class="count {kind}" type="button" data-kind="{kind}" aria-pressed="false" disabled>'
                f'<span class="sign" aria-hidden="true">{_SIGNS[kind]}</span>{WORDS[kind]} <b>{number}</b></button>'
            )


_SIGNS = dict(zip(WORDS, "✗⊘!…◐●·✓▷", strict=True))


def _basics(data: PageData) -> Iterator[str]:
    """Yield the failed states, for browsers without scripts."""
    failed = [state for state in data.states if state.kind == "failed"]
    planned = any(state.kind == "planned" for state in data.states)
    said = "" if planned else f"{count(len(failed), 'state')} failed. "
    yield f"<p>{said}With JavaScript, this page shows all states.</p>"
    for state in failed[:_BASICS]:
        host = f"{data.hosts[state.host]}: " if data.hosts else ""
        place = f" <small>{escape(state.place)}</small>" if state.place else ""
        comment = escape(state.comment[:_BASIC_TEXT])
        head = escape(f"{host}{state.function}: {state.id}")
        yield f"<article><h3>{head}{place}</h3><pre>{comment}</pre></article>"
    if len(failed) > _BASICS:
        yield f"<p>… and {len(failed) - _BASICS} more</p>"
