"""Makes one trace of a run across hosts: a span for the run, with one for each host and its states below."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

from asyncstate.extras.fleet.controller.event_stream import Observer
from asyncstate.report.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import SpanContext, Tracer

    from asyncstate.extras.fleet.controller.event_stream import FleetEnd, HostEnd
    from asyncstate.extras.fleet.protocol import HostPlan
    from asyncstate.model.event import AnyEvent


class FleetTrace(Observer):
    """The spans of a run. The run's span has the times of this machine, a host's spans that host's.

    ``spans`` makes the observer of a host's events: that of `asyncstate.extend.Extra.traces`.
    """

    def __init__(self, tracer: Tracer, command: str, spans: Callable[..., Any], parent: Context | None = None) -> None:
        self._tracer = tracer
        self._run = tracer.start_span(command, parent, start_time=time.time_ns())
        self._below = trace.set_span_in_context(self._run, parent)
        self._spans = spans
        self._hosts: dict[str, Any] = {}
        self._plans: dict[str, HostPlan] = {}
        self._states: dict[str, SpanContext] = {}

    def planned(self, host: str, plan: HostPlan) -> None:
        """Keep the files and lines of a host's states."""
        self._plans[host] = plan

    def begun(self, host: str, attempt: int) -> None:  # noqa: ARG002 - the observer's interface
        """Start the spans of a host, again for a new attempt."""
        if host in self._hosts:
            self._hosts[host].close()
        made = self._hosts[host] = self._spans(self._tracer, host, host, self._below, self._states)
        plan = self._plans.get(host)
        if plan is not None:
            made.places = plan.places()

    def event(self, host: str, event: AnyEvent) -> None:
        """Take an event of a host."""
        self._hosts[host].on_event(event)

    def ended(self, host: str, end: HostEnd) -> None:
        """End the open spans of a host, and note the reason for a missing report."""
        if host in self._hosts:
            self._hosts[host].close()
        if end.why:
            given = {"asyncstate.host": host, "exception.type": "HostFailed", "exception.message": clean(end.why)}
            self._run.add_event("exception", given, time.time_ns())

    def failed(self, why: str) -> None:
        """End the run with the operator's error: its end on the hosts is unknown."""
        for host in self._hosts.values():
            host.close()
        self._run.set_status(Status(StatusCode.ERROR, clean(why)))
        self._run.end(time.time_ns())

    def close(self, end: FleetEnd) -> None:
        """End the run."""
        for host in self._hosts.values():
            host.close()
        failed = sum(bool(each.exit_code) for each in end.hosts.values())
        given: dict[str, str | int] = {
            "run_id": end.run,
            "exit_code": end.exit_code,
            "hosts": len(end.hosts),
            "hosts_failed": failed,
        }
        self._run.set_attributes({f"asyncstate.{name}": value for name, value in given.items()})
        if end.exit_code:
            why = end.cancelled or f"{failed} of {len(end.hosts)} hosts failed"
            self._run.set_status(Status(StatusCode.ERROR, clean(why)))
        self._run.end(time.time_ns())
