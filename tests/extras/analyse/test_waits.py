"""explain with a recorded run, and apply --explain: what states waited for, on a virtual clock."""

from __future__ import annotations

import asyncio

import pytest
from fake_host import FakeHost, local_engine, row, run_virtual
from trees import FakeStates, chunk_of, plan

from asyncstate.extras.analyse.explain import explain_lines, explanation
from asyncstate.extras.analyse.profile import Profile, recorded
from asyncstate.extras.analyse.reasons import run_lines
from asyncstate.extras.analyse.waits import wait_lines, waits
from asyncstate.model.event import encode_event
from asyncstate.run.engine import RunOptions

FUNCTIONS = ("t.wait", "t.change", "t.fail", "t.held", "t.mod_watch", "t.mod_aggregate")


@pytest.fixture
def host():
    fake = FakeHost()

    async def wait(name, seconds=0):
        await asyncio.sleep(seconds)
        return row(name)

    async def change(name):
        return row(name, changes={"x": 1})

    async def fail(name):
        return row(name, result=False)

    async def held(name):
        return row(name, comment="unless condition is true", skip_watch=True)

    async def mod_watch(name, **kwargs):
        return row(name, changes={"x": 1})

    async def mod_aggregate(low, chunks, running):
        await asyncio.sleep(5)
        for each in chunks:
            each["__agg__"] = True
        return low

    for function in (wait, change, fail, held, mod_watch, mod_aggregate):
        fake.state(f"t.{function.__name__}", function)
    return fake


@pytest.fixture
def play(host):
    """Run a tree on a virtual clock; return its plan and what was recorded of the run."""

    def play(tree, *, concurrency=8, **opts):
        compiled = plan(tree, states=FakeStates(*FUNCTIONS), **opts)
        events = []

        async def main():
            clock = asyncio.get_running_loop().time
            options = RunOptions(run_id="r", concurrency=concurrency)
            return await local_engine(compiled, host, options, [events.append], sleep=asyncio.sleep, clock=clock).run()

        run_virtual(main())
        return compiled, recorded([encode_event(event) + b"\n" for event in events])

    return play


def told(played, id_):
    compiled, profile = played
    return waits(compiled, chunk_of(compiled, id_).index, profile)


def said(played, id_):
    compiled, profile = played
    return list(wait_lines(compiled, chunk_of(compiled, id_).index, profile))[1:]


BOTH = """
slow: {t.wait: [{seconds: 3}]}
quick: {t.wait: [{seconds: 1}]}
after: {t.change: [{require: [slow, quick]}]}
"""


@pytest.mark.feature("F161")
def test_the_last_thing_waited_for_is_named_with_its_edge(play):
    played = play(BOTH)
    facts = told(played, "after")
    assert (facts["ready"], facts["started"], facts["ended"], facts["waited_for_a_place"]) == (3, 3, 3, 0)
    assert (facts["after"], facts["because"], facts["verdict"]) == ("t_|-slow_|-slow_|-wait", ["require"], "met")
    assert [(each["tag"], each["ended"]) for each in facts["waited_for"]] == [
        ("t_|-slow_|-slow_|-wait", 3),
        ("t_|-quick_|-quick_|-wait", 1),
    ]
    assert said(played, "after") == [
        "    Waited 3.0 s, last for t.wait: slow (require), ran 0 ms.",
        "    - t.wait: slow ended at 3.0 s (require) — the last, which released it",
        "    - t.wait: quick ended at 1.0 s (require)",
    ]
    assert said(played, "slow") == ["    Waited for nothing, ran 3.0 s."]


def test_waiting_for_a_place_is_told_from_waiting_for_states(play):
    played = play(BOTH, concurrency=1)
    assert said(played, "quick") == ["    Waited for nothing, waited 3.0 s for a slot, ran 1.0 s."]
    assert said(played, "after")[0] == "    Waited 4.0 s, last for t.wait: quick (require), ran 0 ms."


@pytest.mark.feature("F161")
@pytest.mark.parametrize(
    ("tree", "because", "words"),
    [
        ("a: {t.wait: [{order: 1}]}\nb: t.wait\n", ["stage"], "explicit order"),
        ("a: {t.wait: [{footprint: {writes: [x]}}]}\nb: {t.wait: [{footprint: {writes: [x]}}]}\n", ["footprint"],
         "both touch x"),
        ("a: t.wait\nb: {t.wait: [{watch: [a]}, {onchanges_any: [a]}]}\n", ["watch", "onchanges_any"],
         "watch, onchanges_any"),
    ],
)  # fmt: skip
def test_every_kind_of_edge_says_what_it_is(play, tree, because, words):
    played = play(tree, implicit_order="footprint")
    assert sorted(told(played, "b")["because"]) == sorted(because)
    assert told(played, "b")["resources"] == (["x"] if because == ["footprint"] else [])
    assert all(word in said(played, "b")[0] for word in words.split(", "))


def test_a_whole_sls_is_waited_for_by_its_last_state(play):
    many = "".join(f"m{number}: {{t.wait: [{{seconds: {number}}}]}}\n" for number in range(12))
    played = play({"s": "include: [m]\nb: {t.wait: [{require: [sls: m]}]}\n", "m": many})
    facts = told(played, "b")
    assert (facts["after"], facts["because"]) == ("t_|-m11_|-m11_|-wait", ["require"])
    assert len(facts["waited_for"]) == 12


def test_members_of_a_group_waited_for_what_released_the_group(play):
    members = "b: {t.change: [{aggregate: true}, {require: [a]}]}\nc: {t.change: [{aggregate: true}]}\n"
    played = play("a: {t.wait: [{seconds: 2}]}\n" + members)
    facts = told(played, "b")
    assert (facts["after"], facts["because"], facts["ready"]) == ("t_|-a_|-a_|-wait", ["group"], 7)
    assert said(played, "b")[0].startswith("    Waited 7.0 s, last for t.wait: a (aggregation)")


@pytest.mark.feature("F161")
@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ("a: t.wait\nx: {t.wait: [{onchanges: [a]}]}\n", "It did not run: no state that its onchanges names had changes."),
        ("a: t.wait\nx: {t.wait: [{onfail: [a]}]}\n", "It did not run: no state that its onfail names had failed."),
        ("a: t.fail\nx: {t.wait: [{require: [a]}]}\n", "It was held back: it requires t: a, which failed."),
        ("a: t.change\nx: {t.wait: [{watch: [a]}]}\n",
         "It ran. A state it watches had changes, so its mod_watch was called unless it made changes itself."),
        ("x: {t.wait: [{prereq: [a]}]}\na: t.wait\n", "It did not run: the state that its prereq names would change nothing."),
        ("x: t.held\n", "It did not run: unless condition is true"),
    ],
)  # fmt: skip
def test_why_it_ran_or_not(play, tree, words):
    assert said(play(tree), "x")[1] == f"    {words}"


def test_a_prereq_waits_for_the_check(play):
    played = play("x: {t.wait: [{prereq: [a]}]}\na: t.change\n")
    assert said(played, "x")[0].startswith("    Waited 0 ms, last for the check of t.change: a (prereq)")
    assert told(played, "a")["because"] == ["prerequired"]


def test_a_state_that_was_not_started_says_so(play):
    played = play("a: {t.fail: [{failhard: true}]}\nx: {t.wait: [{require: [a]}]}\n")
    assert told(played, "x") is None
    assert said(played, "x") == ["    It was not started."]


def test_explain_adds_the_run_to_what_the_plan_says(play):
    compiled, profile = play(BOTH)
    index = chunk_of(compiled, "after").index
    assert explanation(compiled, index, profile)["run"]["ready"] == 3
    assert "run" not in explanation(compiled, index)
    plain = list(explain_lines(compiled, index))
    assert list(explain_lines(compiled, index, profile=profile))[: len(plain) + 1] == [*plain, "  In the recorded run"]


@pytest.mark.feature("F161")
def test_all_states_of_a_run_in_the_order_they_started(play):
    _, profile = play("w: {t.wait: [{seconds: 1}]}\nc: {t.change: [{require: [w]}]}\nl: {t.wait: [{listen: [c]}]}\n")
    assert list(run_lines(profile)) == [
        "Why each state ran when it did",
        "  t.wait: w",
        "      Waited for nothing, ran 1.0 s.",
        "  t.wait: l",
        "      Waited for nothing, ran 0 ms.",
        "  t.change: c",
        "      Waited 1.0 s, last for t.wait: w (require), ran 0 ms.",
        "  t.mod_watch: listener_l (l)",
        "      Waited 1.0 s for the end of all other states, ran 0 ms.",
        "      Its mod_watch was called after all other states: a state it listens to had changes.",
    ]
    assert list(run_lines(Profile())) == []


def test_what_is_no_recording_is_refused_with_its_line():
    with pytest.raises(ValueError, match="line 2 is not an event of a run"):
        recorded([b"\n", b"{}\n"])


def test_what_was_held_back_names_its_requisite_and_took_no_time(play):
    _, profile = play("a: t.fail\nx: {t.wait: [{require: [a]}]}\n")
    assert list(run_lines(profile, held={"t_|-x_|-x_|-wait": "requires t: a, which failed"}))[-2:] == [
        "      Waited 0 ms, last for t.fail: a (require).",
        "      It was held back: it requires t: a, which failed.",
    ]
