"""Output of a run across hosts for programs, by the options that a run of one machine has."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from fleet_events import tag
from msgspec.structs import replace

from asyncstate import extend
from asyncstate.cli.console import Console
from asyncstate.config import Settings
from asyncstate.errors import ConfigError
from asyncstate.extras.fleet.commands.run_display import RunDisplay
from asyncstate.extras.fleet.controller.event_stream import FleetEnd, HostEnd
from asyncstate.extras.fleet.protocol import HostPlan, State
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished, RunStarted

PLAN = HostPlan(run="r", host="", nonce="n", states=(State("test", "nop", "a", "a", "s", "/srv/s.sls", 2),))
SAME = {"result": True, "comment": "as it was", "name": "a", "changes": {}}
NEW = {**SAME, "changes": {"new": 1}}
BAD = {**SAME, "result": False, "comment": "broke"}
GONE = {"gone": HostEnd(2, "did not answer")}


@pytest.fixture
def show(capfd):
    """Show a run in which the one state of each host ended with a row; returns exit code, standard output and error."""

    def call(rows, without=(), *, console=None, **options):
        console = console or Console()
        if options.get("quiet_ok"):
            console.hold()
        shown = RunDisplay(console, Settings(), **{"progress": "auto", **options})
        for host, row in rows.items():
            common = {"run_id": host, "tag": tag("a")}
            shown.planned(host, PLAN)
            shown.begun(host, 1)
            shown.event(host, ChunkStarted(seq=0, time=0.0, function="test.nop", id="a", name="a", sls="s", **common))
            shown.event(host, ChunkFinished(seq=1, time=1.0, row=row, why="met", **common))
            counts = {"succeeded": 1, "changed": 0, "failed": 0}
            shown.event(host, RunFinished(run_id=host, seq=2, time=1.0, exit_code=0, **counts))
        ends = {**{host: HostEnd(0 if row["result"] else 2) for host, row in rows.items()}, **dict(without)}
        for host, end in ends.items():
            shown.ended(host, end)
        return (shown.end(FleetEnd("r1", ends)), *capfd.readouterr())

    return call


def test_traces_that_no_extra_sends_are_refused_if_the_settings_want_them(monkeypatch):
    monkeypatch.setattr(extend, "extras", lambda: iter(()))
    with pytest.raises(ConfigError, match="traces: on needs an extra"):
        RunDisplay(Console(), Settings(traces="on"), traced=True)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.invalid")
    RunDisplay(Console(), Settings(), traced=True)


def test_nothing_is_said_where_nothing_happened_and_all_where_something_did(show):
    _, text, errors = show({"web1": SAME, "web2": SAME})
    assert "2 hosts, 0 failed" in text
    assert "web1: done (1 state)" in errors
    assert show({"web1": SAME, "web2": SAME}, quiet_ok=True) == (0, "", "")
    assert "2 hosts, 0 failed" in show({"web1": SAME, "web2": NEW}, quiet_ok=True)[1]
    code, text, errors = show({"web1": SAME}, GONE, quiet_ok=True)
    assert (code, "1 failed: gone" in text, errors) == (2, True, "gone: did not answer\n")


def test_a_detailed_exit_code_tells_a_change_on_any_host_but_not_over_a_failure(show):
    codes = [
        show(rows, without, detailed_exitcode=True)[0]
        for rows, without in (({"a": SAME}, ()), ({"a": SAME, "b": NEW}, ()), ({"a": NEW}, GONE), ({"a": BAD}, ()))
    ]
    assert codes == [0, 3, 2, 2]
    assert show({"a": NEW})[0] == 0


def test_github_is_told_of_each_failure_with_its_host_and_place(show):
    console = Console()
    console.out = "github"
    _, text, _ = show({"web1": BAD, "web2": SAME}, GONE, console=console)
    first, *lines = text.splitlines()
    end = lines.index(f"::{first.removeprefix('::stop-commands::')}::")
    assert lines[end + 1 :] == [
        "::error file=/srv/s.sls,line=2,title=web1%3A test.nop%3A a::broke",
        "::error::gone: did not answer",
    ]


def test_each_host_tells_of_a_dry_run_as_of_one(capfd):
    shown = RunDisplay(Console(), Settings(state_output="brief"))
    shown.begun("web1", 1)
    common = {"run_id": "web1", "seq": 0, "time": 1.0}
    shown.event("web1", RunStarted(wall=0.0, digest="", chunks=1, concurrency=1, test=True, **common))
    shown.event("web1", ChunkFinished(tag=tag("a"), row={**SAME, "result": None}, why="met", **common))
    shown.event("web1", RunFinished(exit_code=0, succeeded=1, changed=0, failed=0, **common))
    shown.end(FleetEnd("r1", {"web1": HostEnd(0)}))
    lines = capfd.readouterr().out.splitlines()
    assert lines[1].startswith("to change  ")
    assert lines[3].endswith(": 1 would change")
    assert lines[4] == "Dry run: 1 state would change; nothing was changed."
    assert lines[-1] == "Run r1: 1 host, 0 failed"


def test_what_was_held_back_on_a_host_names_its_requisite(capfd, tmp_path):
    states = (State("test", "nop", "a", "a", "s"), State("test", "nop", "b", "b", "s"))
    plan = HostPlan(run="r", host="", nonce="n", states=states, nodes=2, edges=(0, 1), sources=("require",))
    console = Console()
    console.junit = str(tmp_path / "junit.xml")
    shown = RunDisplay(console, Settings(state_output="brief"))
    shown.planned("web1", plan)
    shown.begun("web1", 1)
    for name, row in (("a", BAD), ("b", {**BAD, "__state_ran__": False})):
        common = {"run_id": "web1", "tag": tag(name), "seq": 0, "time": 1.0}
        shown.event("web1", ChunkFinished(row=row, why="met", **common))
    shown.end(FleetEnd("r1", {"web1": HostEnd(2)}))
    assert "b  requires test: a, which failed" in capfd.readouterr().out
    assert "held back: requires test: a, which failed" in (tmp_path / "junit.xml").read_text()


def test_a_host_that_refused_has_no_report_and_one_that_was_cut_short_says_why_and_what_is_left(capfd):
    states = tuple(State("test", "nop", each, each, "s") for each in ("a", "b"))
    shown = RunDisplay(Console(), Settings())
    for host in ("web1", "web2"):
        shown.planned(host, replace(PLAN, states=states))
        shown.begun(host, 1)
    common = {"run_id": "web1", "tag": tag("a")}
    shown.event("web1", ChunkStarted(seq=0, time=0.0, function="test.nop", id="a", name="a", sls="s", **common))
    shown.event("web1", ChunkFinished(seq=1, time=1.0, row=SAME, why="met", **common))
    ends = {"web1": HostEnd(2, "no space is left"), "web2": HostEnd(2, "the host takes part in run r0 now")}
    for host, end in ends.items():
        shown.ended(host, end)
    assert shown.end(FleetEnd("r1", ends)) == 2
    text, errors = capfd.readouterr()
    assert "Cut short after 1.0 s: no space is left." in text
    assert "Not started: 1 state" in text
    assert "web2:" not in text.replace("failed: web1, web2", "")
    assert "web2: the host takes part in run r0 now" in errors
    assert "2 hosts, 2 failed: web1, web2" in text


@pytest.mark.parametrize("words", ["no\nweb1: done", "no\r\nweb1: done", "no\x0bweb1: done", "no\u2028web1: done"])
def test_no_host_speaks_for_another(show, words):
    _, text, errors = show({}, {"web2": HostEnd(2, words)})
    assert not re.search("^web1", text + errors, re.MULTILINE)
    assert "web2: no\n    web1: done\n" in errors


def test_a_junit_file_and_metrics_have_all_hosts(show, tmp_path):
    console = Console()
    console.out, console.junit = "json", str(tmp_path / "junit.xml")
    show({"web1": BAD, "web2": SAME}, GONE, console=console)
    suites = ET.parse(tmp_path / "junit.xml").getroot()
    counts = {each.get("name"): (each.get("failures"), each.get("errors")) for each in suites}
    assert counts == {"web1": ("1", "0"), "web2": ("0", "0"), "gone": ("0", "1")}
    assert (suites[0][0].get("file"), suites[0][0].get("line")) == ("/srv/s.sls", "2")
    assert {each.host: each.ok for each in console.results} == {"web1": False, "web2": True, "gone": False}
