"""The times of a run, made from its events."""

from __future__ import annotations

import json

import pytest
from msgspec import structs

from asyncstate.extras.analyse.profile import Profile, profile_lines
from asyncstate.model.event import ChunkFinished, Phase, PrefetchEnded, PrefetchStarted
from tests.cli.test_apply import FIRST, SECOND, run, tree  # noqa: F401 - fixtures
from tests.cli.test_runs import machine  # noqa: F401 - a fixture
from tests.report.test_events import Script, tag


@pytest.mark.feature("F158")
def test_critical_path_follows_what_each_state_waited_for():
    script = Script(concurrency=2).start("a", 0.0).start("x", 0.0).finish("x", 0.5)
    script.finish("a", 1.0).ready("b", 1.0, after="a").start("b", 1.2).finish("b", 3.0).end(3.0)
    profile = Profile()
    script.play(profile)
    assert [timing.tag for timing in profile.critical_path()] == [tag("a"), tag("b")]
    assert [timing.tag for timing in profile.slowest(2)] == [tag("b"), tag("a")]
    assert profile.critical_path()[1].waited == pytest.approx(0.2)
    lines = list(profile_lines(profile))
    assert "Critical path: 2.8 s of 3.0 s wall time" in lines
    taken = "     1.8 s  60 %  test.nop: b  (waited 200 ms for a slot)  (12 ms in the state itself)"
    assert taken in lines, "what else the slot was taken for, as loading a module, is told from the state"
    assert lines[-1].startswith("2 slots, 55 % used. The critical path sets the time")


def test_what_was_fetched_ahead_is_told():
    script = Script().start("a", 0.0)
    for number, result in enumerate(["fetched", "nothing", "failed", "fetched"]):
        about = {"tag": tag("b"), "what": f"u{number}"}
        script.add(PrefetchStarted, number, **about).add(PrefetchEnded, number + 0.5, result=result, **about)
    script.finish("a", 5.0).end(5.0)
    profile = Profile()
    script.play(profile)
    assert "Fetched ahead: 2 downloads, 1.0 s beside the states." in list(profile_lines(profile))


def test_waiting_for_slots_is_named():
    script = Script(concurrency=1)
    for number in range(4):
        script.start(f"s{number}", number).finish(f"s{number}", number + 1.0)
    profile = Profile()
    script.end(4.0).play(profile)
    assert list(profile_lines(profile))[-1] == (
        "1 slot, 100 % used. States on the critical path waited 3.0 s for a slot: try a larger --concurrency."
    )


def test_waiting_while_slots_are_free_asks_for_no_more():
    script = Script(concurrency=2)
    for number in range(8):
        script.ready(f"s{number}", 0.0).start(f"s{number}", number).finish(f"s{number}", number + 0.1)
    profile = Profile()
    script.end(8.0).play(profile)
    assert list(profile_lines(profile))[-1].startswith("2 slots, 5 % used. Most slots were free, so more concurrency")


def test_a_state_that_had_a_slot_of_its_own_asks_for_no_more():
    script = Script(concurrency=8)
    script.ready("a", 0.0).start("a", 0.4).finish("a", 1.0)
    profile = Profile()
    script.end(1.0).play(profile)
    assert "--concurrency" not in list(profile_lines(profile))[-1]


def test_a_listener_follows_the_last_state():
    profile = Profile()
    script = Script().start("a", 0.0).finish("a", 1.0).start("l", 1.5).finish("l", 2.0, why="listen").end(2.0)
    script.play(profile)
    path = profile.critical_path()
    assert [timing.tag for timing in path] == [tag("a"), tag("l")]
    assert path[1].waited == 0.0


def test_a_profile_of_nothing_is_empty():
    assert list(profile_lines(Profile())) == []


def profile_of(phases, process_start=0.0):
    script = Script()
    script.events[0] = structs.replace(script.events[0], phases=phases)
    profile = Profile(process_start)
    script.start("a", 0.0).finish("a", 1.0).end(1.0).play(profile)
    return list(profile_lines(profile))


def test_a_profile_begins_with_the_start_of_its_process():
    phases = (Phase("grains", "", 100.25, 0.5), Phase("compile", "", 101.0, 0.5))
    lines = ["Before the run: 1.2 s", "    250 ms  start", "    500 ms  grains", "    500 ms  compile"]
    assert profile_of(phases, 100.0)[:4] == lines
    for unknown in (0.0, 200.0):  # no such system; another process replays the run
        assert profile_of(phases, unknown)[:2] == ["Before the run: 1.0 s", "    500 ms  grains"]


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (("grains", "", 0.3), "grains: 23 % of the whole time. Look for slow grains of your own."),
        (("pillar", "", 3.0), "pillar: 75 % of the whole time. Look for slow pillar files and external pillars."),
        (("pillar", "", 0.2), None),
        (("compile", "", 3.0), None),
    ],
)
def test_a_profile_says_which_phase_takes_much(phase, said):
    what, name, seconds = phase
    last = profile_of((Phase(what, name, 0.0, seconds),))[-1]
    assert last == said if said else "whole time" not in last


def test_a_profile_says_which_file_takes_much_to_render():
    rendered = (Phase("render", "web", 0.0, 0.6), Phase("render", "db", 0.0, 0.1))
    lines = profile_of((Phase("compile", "", 0.0, 1.0), *rendered))
    assert lines[-1] == "web: 30 % of the whole time. Look for slow calls in its template."
    assert "whole time" not in lines[-2]


def test_a_profile_names_the_work_before_the_run_and_the_functions():
    spent = [("grains", "", 0.02), ("pillar", "", 0.1), ("render", "top", 0.04), ("compile", "", 1.5)]
    spent += [("render", f"web.part{number}", number / 10) for number in range(5)]
    phases = tuple(Phase(what, name, 0.0, seconds) for what, name, seconds in spent)
    script = Script()
    script.events[0] = structs.replace(script.events[0], phases=phases)
    script.start("a", 0.0).finish("a", 1.0).start("b", 1.0).finish("b", 3.0)
    script.add(ChunkFinished, 4.0, tag="file_|-c_|-/c_|-managed", row={"result": True, "changes": {}}, why="met")
    profile = Profile()
    script.end(4.0).play(profile)
    lines = list(profile_lines(profile))
    assert lines[: lines.index("Slowest states")] == [
        "Before the run: 1.6 s",
        "     20 ms  grains",
        "    100 ms  pillar; 40 ms to render 1 file: top 40 ms",
        "     1.5 s  compile; 1.0 s to render 5 files: web.part4 400 ms, web.part3 300 ms, web.part2 200 ms",
        "",
        "Functions",
        "     3.0 s  test.nop, 2 states",
        "      0 ms  file.managed, 1 state",
        "",
    ]


@pytest.mark.feature("F158")
def test_a_run_shows_its_times(run):  # noqa: F811
    done = run("apply", "bad", "--profile")
    assert "Slowest states" in done.stdout
    assert "Critical path:" in done.stdout
    done = run("apply", "good", "--profile", "--out", "json")
    assert list(json.loads(done.stdout)) == [FIRST, SECOND]
    assert "Critical path:" in done.stderr
    assert run("apply", "good", "--profile", "--mock", "-q").stdout == ""


def test_a_replay_shows_times_and_reasons_that_nobody_asked_for_then(machine):  # noqa: F811
    text = machine.call("replay", machine.apply(), "--profile", "--explain", code=2)
    assert "Slowest states" in text
    assert "Why each state ran when it did" in text
