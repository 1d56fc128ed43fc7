"""OpenTelemetry spans from the events of runs: one for the run, one for each state, one for each phase before it.

Times come from the events, by the clock of their host.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

from asyncstate.model.event import (
    RENDER,
    ChunkFinished,
    ChunkReady,
    ChunkRetried,
    ChunkStarted,
    PrefetchEnded,
    PrefetchStarted,
    RunFinished,
    RunStarted,
)
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import STATE_RAN, changes_something
from asyncstate.model.walk import JOINTS, Walk
from asyncstate.report.summary import describe_tag, failure_text
from asyncstate.report.terminal import clean, count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext, Tracer

    from asyncstate.errors import Issue
    from asyncstate.model.event import AnyEvent, Phase
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row

_LONGEST = 2000
"""Limit of characters of a comment: an attribute is no place for the output of a program."""

_MOST_LINKS = 100
"""Limit of links of a span; collectors take 128."""


AnyNode = tuple[str, bool]
"""The tag of a state, and whether its check for `prereq` is meant."""


Waits = dict[AnyNode, dict[AnyNode, tuple[str, ...]]]
"""The states that each state waits for, and why: the sources of edges. States of other hosts are ``host: tag``."""


def waits_in(plan: Plan) -> Waits:
    """Return the states that each state waits for, directly or through the nodes of sets and groups.

    Stages of explicit order are left out: they would link most pairs of states.
    """
    walk = Walk(plan, JOINTS - {NodeKind.STAGE})
    calls = [number for number, node in enumerate(plan.nodes) if node.kind in {NodeKind.CHUNK, NodeKind.CHECK}]
    return {
        _state_of(plan, call): {_state_of(plan, other): why.sources for other, why in walk.before(call).items()}
        for call in calls
    }


def _state_of(plan: Plan, number: int) -> AnyNode:
    node = plan.nodes[number]
    name = node.label if node.kind is NodeKind.REMOTE else plan.chunks[node.chunk].tag
    return name, node.kind is NodeKind.CHECK


class RunTrace:
    """The spans of a run on one host, below ``parent``. ``command`` names the span of the run.

    ``places`` are file and line of states, by tag, and ``waits`` the states that each waits for; both may be set until
    the first state begins. A state has links to the states it waited for: without ``waits`` only to the one that ended
    last. In a run across hosts, which share ``others``, that may be a state of another host.
    """

    def __init__(
        self,
        tracer: Tracer,
        command: str,
        host: str,
        parent: Context | None = None,
        others: dict[str, SpanContext] | None = None,
    ) -> None:
        self.places: Mapping[str, tuple[str, int]] = {}
        self.waits: Waits = {}
        self._tracer = tracer
        self._command = command
        self._host = host
        self._parent = parent
        self._wall = self._last = 0.0
        self._is_test = False
        self._run: Span | None = None
        self._below: Context | None = None
        self._open: dict[AnyNode, Span] = {}
        self._fetches: dict[tuple[str, str], Span] = {}
        self._known: dict[AnyNode, SpanContext] = {}
        self._others = {} if others is None else others
        self._waited: dict[AnyNode, tuple[str, tuple[str, ...]]] = {}
        self._retries: dict[str, int] = {}

    def on_event(self, event: AnyEvent) -> None:
        """Begin or end the span of an event."""
        self._last = event.time
        match event:
            case RunStarted():
                self._begin(event)
            case ChunkReady():
                if event.after:
                    self._waited[event.tag, event.check] = (event.after, event.because)
            case ChunkStarted():
                self._started(event)
            case ChunkRetried():
                self._retried(event)
            case ChunkFinished():
                self._finished(event)
            case PrefetchStarted():
                self._fetches[event.tag, event.what] = self._span("fetch ahead", event.time, {"what": event.what})
            case PrefetchEnded():
                span = self._fetches.pop((event.tag, event.what), None)
                if span is not None:
                    span.set_attributes(_named({"result": event.result, "text": event.text}))
                    span.end(self._at(event.time))
            case RunFinished():
                self._end(event)

    def close(self) -> None:
        """End the open spans: nothing more is known of them."""
        spans = (*self._open.values(), *self._fetches.values(), *([self._run] if self._run is not None else ()))
        for span in spans:
            span.set_status(Status(StatusCode.ERROR, "its end is not known"))
            span.end(self._at(self._last))
        self._open, self._fetches, self._run = {}, {}, None

    def _at(self, seconds: float) -> int:
        return round((self._wall + seconds) * 1e9)

    def _span(self, name: str, seconds: float, given: Mapping[str, Any]) -> Span:
        return self._tracer.start_span(
            name, self._below, attributes=self._attributes(given), start_time=self._at(seconds)
        )

    def _attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {**({"host.name": self._host} if self._host else {}), **_named(given)}

    def _begin(self, event: RunStarted) -> None:
        self._wall, self._is_test = event.wall - event.time, event.test
        given = {
            "run_id": event.run_id,
            "test": event.test,
            "states": event.chunks,
            "concurrency": event.concurrency,
        }
        self._run = self._begun(event.phases, event.wall, given)

    def refused(self, phases: Sequence[Phase], began: float, issues: Sequence[Issue], exit_code: int) -> None:
        """Make the span of a run that could not begin: ``began`` is the time of day, ``issues`` are the reasons."""
        run = self._begun(phases, began, {"exit_code": exit_code})
        ended = time.time_ns()
        messages = [_sound(clean(f"{issue.message}\n{issue.hint}".strip())[:_LONGEST]) for issue in issues]
        for issue, message in zip(issues, messages, strict=True):
            given = {"exception.type": "RunRefused", "exception.message": message}
            if issue.file:
                given["code.file.path"] = _sound(issue.file)
            run.add_event("exception", given | ({"code.line.number": issue.line} if issue.line else {}), ended)
        run.set_status(Status(StatusCode.ERROR, next(iter(messages), "").partition("\n")[0]))
        run.end(ended)

    def _begun(self, phases: Sequence[Phase], wall: float, given: Mapping[str, Any]) -> Span:
        """Begin the span of the run, and make the spans of the phases before it."""
        first = min([phase.wall for phase in phases] or [wall])
        run = self._tracer.start_span(
            self._command, self._parent, attributes=self._attributes(given), start_time=round(first * 1e9)
        )
        self._below = within = trace.set_span_in_context(run, self._parent)
        for phase in phases:
            if phase.what != RENDER:
                within = self._below
            span = self._tracer.start_span(
                f"{phase.what} {phase.name}".rstrip(),
                within,
                attributes=self._attributes({"sls": phase.name} if phase.name else {}),
                start_time=round(phase.wall * 1e9),
            )
            if phase.what != RENDER:
                within = trace.set_span_in_context(span, self._below)
            span.end(round((phase.wall + phase.seconds) * 1e9))
        return run

    def _started(self, event: ChunkStarted) -> None:
        file, line = self.places.get(event.tag, ("", 0))
        given = {
            "tag": event.tag,
            "id": event.id,
            "name": event.name,
            "sls": event.sls,
            "function": event.function,
            "check": event.check,
        }
        name = f"{'check ' if event.check else ''}{describe_tag(event.tag)}"
        span = self._span(name, event.time, given)
        if file:
            span.set_attribute("code.file.path", _sound(file))
        if line:
            span.set_attribute("code.line.number", line)
        self._open[event.tag, event.check] = span

    def _retried(self, event: ChunkRetried) -> None:
        self._retries[event.tag] = event.attempt
        span = self._open.get((event.tag, False))
        if span is not None:
            given = {"attempt": event.attempt, "comment": clean(event.comment)[:_LONGEST]}
            span.add_event("retry", _named(given), self._at(event.time))

    def _finished(self, event: ChunkFinished) -> None:
        span = self._open.pop((event.tag, event.check), None)
        if span is None:
            return
        row = event.row
        ran = row.get(STATE_RAN, True) is not False
        given = {
            "result": str(row["result"]).lower(),
            "changed": changes_something(row, test=self._is_test),
            "ran": ran,
            "why": event.why,
            "retries": self._retries.pop(event.tag, 0),
        }
        span.set_attributes(_named(given))
        self._link(span, event.tag, check=event.check)
        if row["result"] is False and ran:
            _failed(span, row, self._at(event.time))
        context = self._known[event.tag, event.check] = span.get_span_context()
        if not event.check:
            self._others[f"{self._host}: {event.tag}"] = context
        span.end(self._at(event.time))

    def _link(self, span: Span, tag: str, *, check: bool) -> None:
        """Link a state to the states it waited for, first to the one that ended last."""
        after, because = self._waited.pop((tag, check), ("", ()))
        why = dict(self.waits.get((tag, check), {}))
        last = (after, (after, False) not in why and (after, True) in why)
        linked = {node: self._known.get(node) or self._others.get(node[0]) for node in (last, *why)}
        why[last] = because or why.get(last, ())
        for node, context in [*linked.items()][:_MOST_LINKS]:
            if context is not None:
                given = {"because": why.get(node, ()), "last": node == last}
                span.add_link(context, _named(given))

    def _end(self, event: RunFinished) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        given = {
            "exit_code": event.exit_code,
            "succeeded": event.succeeded,
            "changed": event.changed,
            "failed": event.failed,
            "not_started": len(event.not_started),
        }
        run.set_attributes(_named(given))
        if event.cancelled:
            run.set_status(Status(StatusCode.ERROR, _sound(clean(event.cancelled))))
        elif event.exit_code:
            run.set_status(Status(StatusCode.ERROR, f"{count(event.failed, 'state')} failed"))
        self.close()
        run.end(self._at(event.time))


def _failed(span: Span, row: Row, at: int) -> None:
    comment = _sound(clean(failure_text(row))[:_LONGEST])
    span.add_event("exception", {"exception.type": "StateFailed", "exception.message": comment}, at)
    span.set_status(Status(StatusCode.ERROR, comment.strip().partition("\n")[0]))


def _named(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with the prefix of this program and encodable text."""
    return {f"asyncstate.{name}": _sound(value) for name, value in given.items()}


def _sound(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, tuple):
        return tuple(map(_sound, value))
    return str(value).encode("utf-8", "backslashreplace").decode()
