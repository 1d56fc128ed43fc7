"""The progress of a run across hosts, as people see it, from its event stream."""

import io

import pytest

from asyncstate.extras.fleet.controller.event_stream import HostEnd
from asyncstate.extras.fleet.protocol import Go, HostPlan, RemoteState, State, Wait
from asyncstate.extras.fleet.report.progress import LiveFleetProgress, PlainFleetProgress, Tally
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunStarted


def state(name):
    return State("test", "nop", name, name, "app")


def tag(name):
    return f"test_|-{name}_|-{name}_|-nop"


PLANS = {
    "db1": HostPlan(
        nonce="1", host="db1", states=(state("data"), state("more")), nodes=2, edges=(0, 1), sources=("require",)
    ),
    "web1": HostPlan(nonce="2", host="web1", states=(state("site"),), nodes=1),
    "web2": HostPlan(nonce="3", host="web2", states=(state("site"),), nodes=1),
}
GOES = {
    "db1": Go(nonce="1", digest=""),
    **{
        host: Go(
            nonce="",
            digest="",
            remote=(RemoteState("db1", 0, state("data")), RemoteState("db1", 1, state("more"))),
            waits=(Wait(0, "require", (0, 1)),),
        )
        for host in ("web1", "web2")
    },
}


def started(name):
    return ChunkStarted(run_id="r", seq=1, time=0.0, tag=tag(name), function="test.nop", id=name, name=name, sls="app")


def finished(name, result=True, check=False, ran=True):
    row = {"result": result, "changes": {"x": 1} if ran else {}, "comment": "", "__state_ran__": ran}
    return ChunkFinished(run_id="r", seq=2, time=1.0, tag=tag(name), row=row, why="met", check=check)


def begin(tally, *hosts, dry=False):
    for host, plan in PLANS.items():
        tally.planned(host, plan)
    tally.joined(PLANS, GOES)
    for host in hosts or PLANS:
        tally.begun(host, 1)
        chunks = len(PLANS[host].states)
        run = RunStarted(run_id="r", seq=0, time=0.0, wall=0.0, digest="", chunks=chunks, concurrency=1, test=dry)
        tally.event(host, run)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_host_waits_for_the_first_state_of_others_that_has_not_ended():
    tally = Tally()
    begin(tally)
    tally.event("db1", started("data"))
    assert tally.waits_for("web1") == ("db1", "test: data")
    assert tally.waits_for("db1") is None
    tally.event("db1", finished("data", check=True))
    assert tally.waits_for("web1") == ("db1", "test: data")
    tally.event("db1", finished("data"))
    assert tally.waits_for("web1") == ("db1", "test: more")
    tally.event("db1", finished("more"))
    assert tally.waits_for("web1") is None
    assert tally.words() == "0/3 hosts done; 2/4 states"


def test_counts_of_hosts_and_states():
    tally = Tally()
    tally.planned("db1", PLANS["db1"])
    assert tally.words() == "waiting for the plans of hosts: 1 so far"
    begin(tally)
    tally.event("db1", started("data"))
    tally.event("db1", finished("data", result=False))
    tally.ended("db1", HostEnd(2))
    tally.lost("web1", 15.0)
    assert tally.words() == "1/3 hosts done, 1 failed, 1 lost, 2 waiting; 1/4 states"
    tally.event("web1", started("site"))
    assert tally.words() == "1/3 hosts done, 1 failed, 1 waiting; 1/4 states"


def test_a_host_that_begins_anew_counts_anew():
    tally = Tally()
    begin(tally)
    tally.event("db1", finished("data"))
    tally.begun("db1", 2)
    assert tally.words().endswith("0/4 states")
    tally.event("db1", finished("data"))
    assert tally.words().endswith("1/4 states")


def test_plain_lines_say_who_waits_once_who_failed_and_who_is_done():
    stream, clock = io.StringIO(), Clock()
    progress = PlainFleetProgress(stream, clock)
    begin(progress)
    progress.event("db1", started("data"))
    for clock.now in (0.0, 0.5, 1.5, 3.0):
        progress.tick()
    progress.event("db1", finished("data", result=False))
    progress.event("db1", finished("more", result=False, ran=False))
    progress.event("web2", finished("site", result=False, ran=False))
    progress.ended("db1", HostEnd(2))
    progress.event("web1", finished("site"))
    progress.ended("web1", HostEnd(0))
    progress.ended("web2", HostEnd(2, "the connection is gone"))
    progress.begun("web1", 2)
    progress.ended("web1", HostEnd(143))
    progress.close()
    assert stream.getvalue().splitlines() == [
        "[0/3] 4 states on 3 hosts",
        "[0/3] web1, web2 wait for db1: test: data",
        "[0/3] db1: failed test.nop: data",
        "[0/3] db1: held back test.nop: more: requires test: data, which failed",
        "[0/3] web2: held back test.nop: site: requires test: data on db1, which failed (and 1 more)",
        "[1/3] db1: failed (2 states, 1 failed, 1 held back)",
        "[2/3] web1: done (1 state, 1 changed)",
        "[3/3] web1: not finished (0 states)",
    ]


def test_in_a_dry_run_states_would_change():
    stream = io.StringIO()
    progress = PlainFleetProgress(stream)
    begin(progress, "db1", dry=True)
    progress.event("db1", finished("data", result=None))
    progress.event("db1", finished("more"))
    progress.ended("db1", HostEnd(0))
    assert stream.getvalue().splitlines()[-1] == "[1/3] db1: done (2 states, 1 would change)"


@pytest.mark.parametrize("lost", [False, True])
def test_the_live_display_shows_hosts_at_work_and_those_that_wait(lost):
    from rich.console import Console

    display = LiveFleetProgress(io.StringIO())
    begin(display)
    display.event("db1", started("data"))
    if lost:
        display.lost("web1", 15.0)
    console = Console(file=io.StringIO(), width=100)
    console.print(display._picture())
    text = console.file.getvalue()
    assert "db1 [0/2] test.nop: data" in text
    assert ("web1 is lost" in text) == lost
    assert ("web2 waits for db1: test: data" if lost else "web1, web2 wait for db1: test: data") in text


def test_the_display_is_removed_at_the_end(monkeypatch):
    monkeypatch.setattr("asyncstate.report.progress._QUIET", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    display = LiveFleetProgress(stream)
    begin(display)
    display.tick()
    display.close()
    assert "0/3 hosts done" in stream.getvalue()
