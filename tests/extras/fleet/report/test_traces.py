"""Spans of a run across hosts."""

from __future__ import annotations

from imaginary_run import Script, spans, tag
from opentelemetry.trace import StatusCode

from asyncstate import extend
from asyncstate.extras.fleet.controller.event_stream import FleetEnd, HostEnd
from asyncstate.extras.fleet.protocol import HostPlan, State
from asyncstate.extras.fleet.report.traces import FleetTrace
from asyncstate.model.event import ChunkReady

__all__ = ["spans"]


def test_a_run_across_hosts_is_one_trace(spans):
    trace = FleetTrace(spans.tracer, "asyncstate fleet apply", extend.offered("traces").spans)
    states = (State("test", "nop", "a", "a", "s", "/srv/s.sls", 3),)
    for host in ("web1", "web2"):
        trace.planned(host, HostPlan(run="r", host=host, nonce="n", states=states))
        trace.begun(host, 1)
        script = Script(lambda event, host=host: trace.event(host, event))
        script.begin()
        if host == "web2":
            script.add(ChunkReady, 0.5, tag=tag("b"), after=f"web1: {tag('a')}", because=("require",))
        name = "a" if host == "web1" else "b"
        script.start(name, 0.5)
        script.finish(name, 1.0)
        if host == "web1":
            script.end(1.5)
        trace.ended(host, HostEnd(0) if host == "web1" else HostEnd(2, "is lost"))
    trace.close(FleetEnd("r1", {"web1": HostEnd(0), "web2": HostEnd(2, "is lost")}))
    found = spans()
    run = found["asyncstate fleet apply"]
    assert {found[host].parent.span_id for host in ("web1", "web2")} == {run.context.span_id}
    assert found["test.nop: a"].attributes["code.line.number"] == 3
    assert found["test.nop: b"].links[0].context.span_id == found["test.nop: a"].context.span_id
    assert run.attributes["asyncstate.run_id"] == "r1"
    assert (run.status.description, run.events[0].attributes["asyncstate.host"]) == ("1 of 2 hosts failed", "web2")
    assert found["web2"].status.status_code is StatusCode.ERROR


def test_a_run_across_hosts_that_an_error_ended_has_its_spans(spans):
    trace = FleetTrace(spans.tracer, "asyncstate fleet apply", extend.offered("traces").spans)
    trace.begun("web1", 1)
    Script(lambda event: trace.event("web1", event)).begin()
    trace.failed("the board is gone")
    found = spans()
    assert found["asyncstate fleet apply"].status.description == "the board is gone"
    assert found["web1"].status.description == "its end is not known"
