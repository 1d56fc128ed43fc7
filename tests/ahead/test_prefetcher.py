"""Fetching ahead: what may start when, and that a run has the same rows with it, whatever becomes of the fetches."""

import asyncio
import threading

import pytest
from fake_dispatch import usual_fakes
from fake_host import row, run_engine
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.ahead.prefetcher import Fetch, Fetched, Prefetcher, PrefetchQueue, nodes_needed
from asyncstate.model.event import ChunkFinished, ChunkStarted, PrefetchEnded, PrefetchStarted
from asyncstate.model.plan import NodeKind
from asyncstate.model.result import Outcome
from asyncstate.run.engine import Engine, RunOptions
from asyncstate.run.machine import Machine

KINDS = ["require", "watch", "onchanges", "onfail", "prereq", "require_any", "onfail_any"]
DONE, CHANGED, FAILED = Outcome(True, False), Outcome(True, True), Outcome(False, False)


class Fetcher:
    """Fetches by a function; ``fetched`` are the chunks of the fetches, ``most`` is how many ran at once."""

    def __init__(self, function):
        self.function = function or brings
        self.fetched, self.active, self.most, self.forgotten = [], 0, 0, 0

    def announce_to(self, announced):
        self.announced = announced

    async def fetch(self, fetches):
        self.fetched += [each.chunk for each in fetches]
        self.active += 1
        self.most = max(self.most, self.active)
        try:
            return await self.function(fetches)
        finally:
            self.active -= 1

    async def forget(self):
        self.forgotten += 1


def fakes(function=None, fetches=()):
    fake = usual_fakes()
    fake.fetches, fake.fetcher = fetches, Fetcher(function)
    return fake


async def brings(fetches):
    await asyncio.sleep(2)
    return Fetched("fetched")


def run(plan, dispatch, act=None, *, places=2, **options):
    """Run a plan on a virtual clock; return its report and its events."""
    events = []
    chosen = RunOptions(run_id="r", **options)

    def ahead(machine, announcer, log_fields):
        fetcher, fetches = dispatch.fetcher, dispatch.fetches
        return Prefetcher(machine, fetcher, fetches, places=places, announcer=announcer, log_fields=log_fields)

    report, _ = run_engine(lambda clock: Engine(plan, dispatch, chosen, [events.append], clock=clock, ahead=ahead), act)
    return report, events


def plain(report):
    """The rows without their times."""
    return {
        tag: {key: value for key, value in made.items() if key not in {"start_time", "duration"}}
        for tag, made in report.rows.items()
    }


def story(events):
    """What began and ended, in order."""
    words = {PrefetchStarted: "fetch", PrefetchEnded: "fetched", ChunkStarted: "start", ChunkFinished: "end"}
    return [f"{words[type(event)]} {event.tag.split('_|-')[1]}" for event in events if type(event) in words]


def test_a_fetch_runs_beside_an_earlier_state_at_one_slot():
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 5}).chunk("user", require=["slow"]).build()
    _, events = run(plan, fakes(fetches=[Fetch(1, "x.fetch", what="it")]))
    assert story(events) == ["start slow", "fetch user", "fetched user", "end slow", "start user", "end user"]


def test_a_state_does_not_wait_for_its_fetch_here_and_none_starts_after_it():
    plan = PlanBuilder().chunk("first").chunk("slow", "test.wait", args={"seconds": 1}).chunk("later").build()
    fetches = [Fetch(0, "x.fetch"), Fetch(2, "x.fetch")]
    fake = fakes(fetches=fetches)
    _, events = run(plan, fake)
    assert fake.fetcher.fetched == [2]
    assert story(events)[2:] == ["start slow", "fetch later", "end slow", "start later", "end later", "fetched later"]
    assert [event.result for event in events if isinstance(event, PrefetchEnded)] == ["cancelled"]


def test_no_more_run_at_once_than_there_are_places():
    builder = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 60})
    for number in range(9):
        builder.chunk(f"c{number}", require=["slow"])
    fake = fakes(fetches=[Fetch(number + 1, "x.fetch") for number in range(9)])
    run(builder.build(), fake, places=3)
    assert fake.fetcher.most == 3
    assert fake.fetcher.fetched == list(range(1, 10))


@pytest.mark.parametrize(
    ("kind", "target", "fetched"),
    [
        ("require", "fail", False),
        ("watch", "fail", False),
        ("require", "nop", True),
        ("onchanges", "nop", False),
        ("onchanges", "change", True),
        ("onfail", "nop", False),
        ("onfail", "fail", True),
    ],
)
def test_nothing_is_fetched_for_a_state_that_is_known_not_to_run(kind, target, fetched):
    builder = PlanBuilder().chunk("target", f"test.{target}").chunk("slow", "test.wait", args={"seconds": 5})
    requisites = {"require": ["slow"]}
    requisites[kind] = [*requisites.get(kind, ()), "target"]
    plan = builder.chunk("user", **requisites).build()
    fake = fakes(fetches=[Fetch(2, "x.fetch")])
    run(plan, fake)
    assert fake.fetcher.fetched == ([2] if fetched else [])


def test_a_fetch_ends_when_its_state_turns_out_not_to_run():
    builder = PlanBuilder().chunk("wait", "test.wait", args={"seconds": 1}).chunk("fail", "test.fail", require=["wait"])
    plan = builder.chunk("slow", "test.wait", args={"seconds": 9}).chunk("user", require=["fail", "slow"]).build()
    _, events = run(plan, fakes(fetches=[Fetch(3, "x.fetch")]))
    ended = next(event for event in events if isinstance(event, PrefetchEnded))
    assert ended.result == "cancelled"
    assert ended.time == pytest.approx(1, abs=0.01)


def test_a_fetch_that_is_too_early_starts_again_when_its_topic_is_announced():
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 5}).chunk("user", require=["slow"]).build()
    came = [Fetched("later", "waits for lists", "lists"), Fetched("fetched")]

    async def fetch(_):
        return came.pop(0)

    fake = fakes(fetch, [Fetch(1, "x.fetch")])

    @fake.state("test.wait")
    async def wait(name, seconds):
        await asyncio.sleep(seconds / 2)
        assert len(came) == 1
        thread = threading.Thread(target=fake.fetcher.announced, args=("lists",))
        thread.start()
        thread.join()
        fake.fetcher.announced("others")
        await asyncio.sleep(seconds / 2)
        return row(name)

    _, events = run(plan, fake)
    assert [event.result for event in events if isinstance(event, PrefetchEnded)] == ["later", "fetched"]


def with_transactions(plan):
    """Return the plan with its groups as transactions."""
    nodes = tuple(
        type(node)(node.kind, node.chunk, node.members, node.label, transaction=node.kind is NodeKind.GROUP)
        for node in plan.nodes
    )
    return type(plan)(plan.chunks, nodes, plan.requisites, plan.rank, plan.dag)


@pytest.mark.parametrize(("together", "fetched"), [(True, []), (False, [1])])
def test_what_goes_together_is_not_fetched_once_the_first_member_does_the_work_of_all(together, fetched):
    builder = PlanBuilder().chunk("first", "test.wait", args={"seconds": 5}).chunk("second")
    fake = fakes(fetches=[Fetch(number, "x.fetch", together=together) for number in (0, 1)])
    run(with_transactions(builder.group("first", "second").build()), fake, concurrency=1)
    assert fake.fetcher.fetched == fetched


def test_fetches_that_were_too_early_do_not_start_again_once_their_transaction_has_begun():
    builder = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 5})
    builder.chunk("first", "test.wait", args={"seconds": 5}, require=["slow"]).chunk("second")

    async def too_early(_):
        return Fetched("later", "waits for lists", "lists")

    fake = fakes(too_early, [Fetch(number, "x.fetch", together=True) for number in (1, 2)])

    @fake.state("test.wait")
    async def wait(name, seconds):
        await asyncio.sleep(seconds)
        if name == "first":
            fake.fetcher.announced("lists")
            await asyncio.sleep(seconds)
        return row(name)

    run(with_transactions(builder.group("first", "second").build()), fake, concurrency=1)
    assert fake.fetcher.fetched == [1, 2]


def test_fetches_of_one_transaction_go_together_and_those_of_one_function_after_each_other():
    builder = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 60})
    for name in ("a", "b", "c", "d"):
        builder.chunk(name, require=["slow"])
    plan = with_transactions(builder.group("a", "b").build())
    calls = []

    async def fetch(fetches):
        calls.append([each.chunk for each in fetches])
        return await brings(fetches)

    fake = fakes(fetch, [Fetch(number, "x.fetch", together=True) for number in (1, 2, 3, 4)])
    run(plan, fake, places=4)
    assert calls == [[1, 2], [3], [4]]
    assert fake.fetcher.most == 1


def test_a_cancelled_run_cancels_its_fetches_and_reports_it():
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 60}).chunk("user", require=["slow"]).build()
    ends = []

    async def fetch(_):
        try:
            await asyncio.sleep(100)
        finally:
            ends.append("ended")

    fake = fakes(fetch, [Fetch(1, "x.fetch")])
    report, events = run(plan, fake, (3, "cancel", "enough"))
    assert ends == ["ended"]
    assert fake.fetcher.forgotten == 1
    assert report.cancelled == "enough"
    assert [event.result for event in events if isinstance(event, PrefetchEnded)] == ["cancelled"]


def test_a_fetch_waits_only_for_what_it_reads_and_what_its_state_requires_of_others():
    builder = PlanBuilder().chunk("repo", "file.managed").chunk("other", "file.managed").chunk("dep", "pkg.installed")
    builder.chunk("key", "cmd.run").chunk("app", "pkg.installed", require=["dep", "key"])
    plan = builder.build()
    plan.dag.add(0, 4, "footprint", ("path:/etc/apt/sources.list.d/x.list",))
    plan.dag.add(1, 4, "footprint", ("path:/etc/motd", "formula:app"))
    assert nodes_needed(plan, Fetch(4, "pkg.prefetch", reads=("path:/etc/apt/**",))) == {0, 3}
    assert nodes_needed(plan, Fetch(4, "pkg.prefetch", reads=("path:/etc/apt/sources.list.d/x.list#1",))) == {0, 3}
    assert nodes_needed(plan, Fetch(4, "cp.prefetch")) == set()


def test_a_fetch_waits_for_the_members_of_a_set():
    builder = PlanBuilder().chunk("a").chunk("b", "cmd.run").set("sls", "a", "b").chunk("c", require=["sls"])
    assert nodes_needed(builder.build(), Fetch(2, "x.fetch", reads=("y",))) == {1}


def test_what_is_announced_while_a_fetch_finds_it_missing_starts_it_again():
    plan = PlanBuilder().chunk("slow").chunk("user", require=["slow"]).build()
    queue = PrefetchQueue(Machine(plan), [Fetch(1, "x.fetch")])
    assert queue.take() == [0]
    queue.announced("lists")
    queue.done([0], "lists")
    assert queue.take() == [0]
    queue.done([0], "lists")
    assert queue.take() == []
    queue.announced("lists")
    assert queue.take() == [0]


@given(data=st.data(), width=st.integers(1, 4), places=st.integers(1, 3))
def test_rows_are_the_same_with_and_without(data, width, places):
    builder = PlanBuilder()
    size = data.draw(st.integers(2, 10))
    for number in range(size):
        targets = data.draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else []
        kind = data.draw(st.sampled_from([kind for kind in KINDS if kind != "prereq"]))
        function = data.draw(st.sampled_from(["nop", "change", "fail", "wait"]))
        arguments = {"seconds": data.draw(st.integers(1, 3))} if function == "wait" else {}
        if data.draw(st.integers(0, 9)) == 0:
            arguments = {**arguments, "failhard": True} if function != "wait" else arguments
        builder.chunk(f"c{number}", f"test.{function}", args=arguments, **{kind: [f"c{each}" for each in targets]})
    plan = builder.build()
    chunks = data.draw(st.lists(st.integers(0, size - 1), unique=True, min_size=1))
    fetches = [
        Fetch(chunk, data.draw(st.sampled_from(["x.one", "x.two"])), together=data.draw(st.booleans()))
        for chunk in chunks
    ]
    answers = data.draw(st.lists(st.sampled_from(["fetched", "nothing", "failed", "later"]), min_size=1))

    async def fetch(wanted):
        await asyncio.sleep(len(wanted))
        for each in wanted:
            assert not fake_machine_excludes(plan, each.chunk, fake)
        answer = answers[wanted[0].chunk % len(answers)]
        return Fetched(answer, "", "lists" if answer == "later" else "")

    def fake_machine_excludes(plan, chunk, fake):
        failed = {tag for tag, made in fake.rows.items() if made["result"] is False}
        return (
            any(
                requisite.kind in {"require", "watch"} and plan.chunks[requisite.node].tag in failed
                for requisite in plan.requisites[chunk]
            )
            and plan.chunks[chunk].tag not in fake.rows
        )

    without, _ = run(plan, fakes(), concurrency=width)
    fake = fakes(fetch, fetches)
    beside, events = run(plan, fake, places=places, concurrency=width)
    if width == 1 or not any(chunk.args.get("failhard") for chunk in plan.chunks):
        assert plain(beside) == plain(without)
    assert fake.fetcher.most <= places
    assert fake.fetcher.active == 0
    said = [type(event) for event in events if isinstance(event, (PrefetchStarted, PrefetchEnded))]
    assert said.count(PrefetchStarted) == said.count(PrefetchEnded)
