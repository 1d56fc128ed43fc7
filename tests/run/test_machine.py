import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder
from reached import reach
from tables import beside, rows
from validating_machine import ValidatingMachine as Machine

from asyncstate.model.dag import Dag
from asyncstate.model.plan import ContingentEdge, NodeKind
from asyncstate.model.result import Outcome
from asyncstate.run import outcomes as outcomes_module
from asyncstate.run.gate import Verdict
from asyncstate.run.machine import Step, Work
from asyncstate.run.options import shuffled

OK = Outcome(result=True, changed=False)
CHANGED = Outcome(result=True, changed=True)
FAILED = Outcome(result=False, changed=False)
WOULD = Outcome(result=None, changed=True)


SKIPPED = Outcome(result=True, changed=False, ran=False)
HELD_BACK = Outcome(result=False, changed=False, ran=False)
ENDS = {"ok": OK, "changed": CHANGED, "failed": FAILED, "would": WOULD, "skipped": SKIPPED, "held back": HELD_BACK}
STORIES = beside(__file__)


def described(plan, node):
    """The name of a node in a story."""
    what = plan.nodes[node]
    kinds = {NodeKind.CHECK: "check ", NodeKind.LISTENER: "listener "}
    return what.label if what.kind is NodeKind.SET else kinds.get(what.kind, "") + plan.chunks[what.chunk].id


def handed_out(plan, work):
    """Return the name of a work, and what a story says of it: its verdict and who failed, or its members."""
    if work is None:
        return "nothing", "nothing"
    if work.kind is NodeKind.GROUP:
        return "group", " ".join(["group of", *(plan.chunks[member].id for member in work.members)])
    name = described(plan, work.node)
    usual = Verdict.LISTEN if work.kind is NodeKind.LISTENER else Verdict.MET
    verdict = [] if work.verdict is usual else [work.verdict]
    failed = ["because of", *(plan.chunks[chunk].id for chunk in work.failed)] if work.failed else []
    return name, " ".join([name, *verdict, *failed])


@pytest.mark.parametrize("name", STORIES)
def test_a_run_step_by_step(name):
    story = STORIES[name]
    builder = PlanBuilder()
    for id_, requisites in story["states"].items():
        builder.chunk(id_, **requisites)
    for label, members in story.get("sets", {}).items():
        builder.set(label, *members)
    for members in story.get("groups", ()):
        builder.group(*members)
    for id_, *targets in story.get("listen", ()):
        builder.listen(id_, *targets)
    plan = builder.build()
    index = {chunk.id: chunk.index for chunk in plan.chunks}
    chosen = {key: {index[id_] for id_ in story.get(key, ())} for key in ("failhard", "exclusive")}
    lanes = {index[id_]: names for id_, names in story.get("lanes", {}).items()}
    machine = Machine(plan, lanes=lanes, limits=story.get("limits", {}), **chosen)
    running, freed = {}, []
    for step in story["steps"]:
        ((what, value),) = step.items()
        match what:
            case "take":
                work = machine.take()
                node, said = handed_out(plan, work)
                assert said == value
                if work is not None:
                    running[node] = work.node
            case "stop":
                machine.stop(value)
            case "never ends":
                machine.give_up({running[each]: ENDS[outcome] for each, outcome in value.items()})
            case "frees":
                assert sorted(described(plan, node) for node in freed) == value
            case "outcomes":
                nodes = {described(plan, node): node for node in range(len(plan.nodes))}
                found = {each: machine.outcomes.of(nodes[each]) for each in value}
                assert found == {each: ENDS.get(outcome) for each, outcome in value.items()}
            case "withheld" | "not started":
                nodes = machine.withheld if what == "withheld" else machine.not_started()
                assert [described(plan, node) for node in nodes] == value, step
            case "stopped" | "finished" | "stalled" | "ready":
                assert getattr(machine, what) == value, step
            case _:
                freed = machine.done(running[what], ENDS[value])


def run_all(machine, results=None, width=1, rng=None):
    """Finish running work in any order the generator likes; return the order in which chunks started."""
    results = results or {}
    started, verdicts, active = [], {}, []
    while not machine.finished:
        while len(active) < width and (work := machine.take()) is not None:
            active.append(work)
            if work.kind is NodeKind.CHUNK:
                chunk = machine.plan.chunks[work.chunk].id
                started.append(chunk)
                verdicts[chunk] = work.verdict
        work = active.pop(rng.randrange(len(active)) if rng else 0)
        outcome = OK
        if work.kind is NodeKind.LISTENER:
            started.append(machine.plan.nodes[work.node].label)
        elif work.kind is NodeKind.CHECK:
            outcome = results.get(("check", machine.plan.chunks[work.chunk].id), OK)
        elif work.kind is NodeKind.CHUNK:
            if work.verdict is Verdict.FAIL:
                outcome = Outcome(result=False, changed=False, ran=False)
            elif not work.verdict.runs:
                outcome = Outcome(result=True, changed=False, ran=False)
            else:
                outcome = results.get(machine.plan.chunks[work.chunk].id, OK)
        machine.done(work.node, outcome)
    return started, verdicts


@st.composite
def plans(draw):
    """A random tree whose requisites point backwards in serial order, some of them at sets."""
    size = draw(st.integers(1, 25))
    builder = PlanBuilder()
    for number in range(size):
        targets = draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True)) if number else []
        kind = draw(st.sampled_from(["require", "watch", "onchanges", "onfail", "require_any", "onfail_all"]))
        builder.chunk(f"c{number}", **{kind: [f"c{target}" for target in targets]})
    if draw(st.booleans()):
        for _ in range(draw(st.integers(1, 4))):
            number = draw(st.integers(0, size - 1))
            builder.listen(f"c{number}", *(f"c{n}" for n in draw(st.sets(st.integers(0, size - 1), min_size=1))))
    if size > 1 and draw(st.booleans()):
        builder.chunk("asks", prereq=[f"c{draw(st.integers(0, size - 1))}"])
    if size > 3 and draw(st.booleans()):
        builder.set("group", "c0", "c1")
        builder.chunk("last", require=["group"])
    return builder.build()


outcomes = st.sampled_from([OK, CHANGED, FAILED, WOULD])


@given(plan=plans(), data=st.data())
def test_one_worker_follows_the_serial_order(plan, data):
    results = {chunk.id: data.draw(outcomes) for chunk in plan.chunks}
    started, _ = run_all(Machine(plan), results)
    by_rank = [node for node in plan.dag.topological_order(plan.rank.__getitem__) if node < len(plan.chunks)]
    assert started[: len(plan.chunks)] == [plan.chunks[node].id for node in by_rank]


@given(plan=plans(), data=st.data(), width=st.integers(2, 8), seed=st.integers(0, 2**32), shuffle=st.booleans())
def test_any_width_and_timing_gives_the_serial_verdicts(plan, data, width, seed, shuffle):
    results = {chunk.id: data.draw(outcomes) for chunk in plan.chunks}
    results |= {("check", chunk.id): data.draw(outcomes) for chunk in plan.chunks}
    in_order, serial = run_all(Machine(plan), results)
    machine = Machine(plan, priority=shuffled(plan, seed) if shuffle else None)
    started, verdicts = run_all(machine, results, width, random.Random(seed))
    chunks = len(plan.chunks)
    assert verdicts == serial
    assert sorted(started[:chunks]) == sorted(chunk.id for chunk in plan.chunks)
    assert sorted(started[chunks:]) == sorted(in_order[chunks:])
    if not shuffle:
        assert started[chunks:] == in_order[chunks:], "listeners keep their order"
    assert machine.not_started() == []


@given(plan=plans(), data=st.data(), width=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_listeners_come_alone_when_all_else_has_ended_and_none_after_a_stop(plan, data, width, seed):
    results = [data.draw(st.sampled_from([OK, CHANGED])) for _ in plan.nodes]
    machine, rng, active, ended, called = Machine(plan), random.Random(seed), [], set(), []
    stop_after = data.draw(st.none() | st.integers(0, 40))
    for step in range(len(plan.nodes) * 2):
        if step == stop_after:
            machine.stop("SIGINT")
        while len(active) < width and (work := machine.take()) is not None:
            assert stop_after is None or step < stop_after
            if work.kind is NodeKind.LISTENER:
                assert not active
                assert {chunk.index for chunk in plan.chunks} <= ended
                assert any(results[target].changed for target in plan.nodes[work.node].members)
                called.append(plan.nodes[work.node].label)
            active.append(work)
        if active:
            work = active.pop(rng.randrange(len(active)))
            ended.add(work.node)
            machine.done(work.node, results[work.node])
    assert machine.finished
    assert len(called) == len(set(called))
    labels = [plan.nodes[node].label for node in machine.not_started() if node >= len(plan.chunks)]
    assert not set(labels) & set(called)
    if machine.stopped:
        changed = {node for node in ended if results[node].changed}
        due = {node.label for node in plan.listeners if changed & set(node.members)} - set(called)
        assert set(labels) <= due
        assert set(labels) == due or any(node.kind is NodeKind.CHECK for node in plan.nodes)
    else:
        assert not labels


def test_a_listener_waits_for_lanes_and_is_in_them():
    plan = PlanBuilder().chunk("a").chunk("b").listen("a", "b").listen("b", "b").build()
    machine = Machine(plan, lanes={0: ["narrow"], 1: ["narrow"]})
    for outcome in (OK, CHANGED, OK, OK):
        machine.done(machine.take().node, outcome)
    assert machine.finished
    assert not machine._taken["narrow"]


def test_a_listener_whose_check_was_held_back_is_not_called():
    builder = PlanBuilder().chunk("bad").chunk("conf").chunk("asks", prereq=["deploy"])
    plan = builder.chunk("deploy", require=["bad"]).listen("deploy", "conf").build()
    started, _ = run_all(Machine(plan), {"bad": FAILED, "conf": CHANGED})
    assert started[-1] == "deploy"
    started, _ = run_all(Machine(plan), {"conf": CHANGED})
    assert started[-1] == "test_|-listener_deploy_|-deploy_|-mod_watch"


@pytest.mark.feature("F134")
@given(plan=plans(), data=st.data(), width=st.integers(1, 8), seed=st.integers())
def test_nothing_runs_beside_what_is_exclusive_its_check_and_its_group_neither(plan, data, width, seed):
    exclusive = data.draw(st.sets(st.integers(0, len(plan.chunks) - 1), max_size=5))
    machine, rng, active, taken = Machine(plan, exclusive=exclusive), random.Random(seed), [], 0
    while not machine.finished:
        while len(active) < width and (work := machine.take()) is not None:
            active.append(work)
            taken += 1
            alone = [each for each in active if each.chunk in exclusive]
            assert not alone or len(active) == 1
        machine.done(active.pop(rng.randrange(len(active))).node, OK)
    assert taken >= len(plan.chunks)


@pytest.mark.feature("F137")
@given(plan=plans(), width=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_no_edge_is_ever_violated(plan, width, seed):
    machine, rng, ended, active = Machine(plan), random.Random(seed), set(), []
    while not machine.finished:
        while len(active) < width and (work := machine.take()) is not None:
            needed = reach(plan.dag, plan.dag.predecessors(work.node), forward=False)
            assert {node for node in needed if plan.nodes[node].kind is NodeKind.CHUNK} <= ended
            active.append(work)
        work = active.pop(rng.randrange(len(active)))
        machine.done(work.node, OK)
        ended.add(work.node)


@pytest.mark.feature("F096", "F137")
@given(plan=plans(), data=st.data(), width=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_what_a_call_that_never_ends_holds_up_is_never_called_and_all_else_is(plan, data, width, seed):
    chunks = range(len(plan.chunks))
    drawn = st.sets(st.sampled_from(chunks), max_size=4)
    endless = data.draw(st.sets(st.sampled_from(range(len(plan.nodes))), max_size=4))
    exclusive = data.draw(drawn)
    lanes = {chunk: ["one"] for chunk in data.draw(drawn)}
    results = [data.draw(outcomes) for _ in plan.nodes]
    machine, rng = Machine(plan, exclusive=exclusive, lanes=lanes), random.Random(seed)
    active, left, called = [], {}, set()

    def of(nodes):
        return {plan.nodes[node].chunk for node in nodes}

    while True:
        while len(active) < width and (work := machine.take()) is not None:
            if work.verdict.runs:
                needed = reach(plan.dag, plan.dag.predecessors(work.node), forward=False)
                assert not needed & left.keys()
                assert not left or work.chunk not in exclusive
                assert not exclusive & of(left)
                assert work.kind is not NodeKind.LISTENER or not left
                assert work.chunk not in lanes or not lanes.keys() & of(left)
                called.add(work.node)
            if work.verdict.runs and work.node in endless:
                left[work.node] = FAILED
            else:
                active.append(work)
        if active:
            work = active.pop(rng.randrange(len(active)))
            skipped = Outcome(result=work.verdict is not Verdict.FAIL, changed=False, ran=False)
            machine.done(work.node, results[work.node] if work.verdict.runs else skipped)
            continue
        machine.give_up(left)
        if machine.finished:
            break
    stuck = {*(exclusive if left else ()), *(lanes if lanes.keys() & of(left) else ())}
    stuck = {node for node, what in enumerate(plan.nodes) if what.chunk in stuck}
    held = chunks if exclusive & of(left) else reach(plan.dag, {*left, *stuck}, forward=True)
    assert set(machine.not_started()) & set(chunks) <= set(held)
    assert {*machine.withheld} & {*chunks} == {*machine.not_started()} & {*chunks}
    assert set(left) <= called


def test_a_call_that_ends_after_it_was_given_up_gives_back_its_lane_and_starts_nothing():
    builder = (
        PlanBuilder().chunk("hangs").chunk("after", onfail=["hangs"]).remote("other").chunk("far", require=["other"])
    )
    plan = builder.build()
    machine = Machine(plan, lanes={0: ["one"], 2: ["one"]})
    machine.take()
    machine.give_up({0: FAILED})
    (other,) = machine.awaited
    machine.done(0, OK)
    assert (machine.take(), machine.finished) == (None, False)
    machine.arrive(other, OK)
    assert machine.take().chunk == 2
    assert machine.outcomes.of(0) == FAILED


def test_what_waits_for_a_given_up_call_by_a_contingent_edge_is_never_called():
    plan = PlanBuilder().chunk("hangs").chunk("later").chunk("proof").build()
    machine = Machine(msgspec.structs.replace(plan, contingent=(ContingentEdge(0, 1, 2),)))
    assert [machine.take().chunk for _ in range(2)] == [0, 2]
    machine.give_up({0: FAILED})
    assert (machine.take(), machine.withheld) == (None, [1])


def test_a_proof_names_what_it_made_ready():
    plan = PlanBuilder().chunk("before").chunk("later").chunk("proof").build()
    machine = Machine(msgspec.structs.replace(plan, contingent=(ContingentEdge(0, 1, 2),)))
    assert [machine.take().chunk for _ in range(2)] == [0, 2]
    assert machine.done(2, OK) == [1]


def test_a_check_behind_a_given_up_call_is_judged_by_its_own_requisites():
    builder = PlanBuilder().chunk("hangs").chunk("inner").chunk("middle", prereq=["inner"], onfail=["hangs"])
    plan = builder.chunk("outer", prereq=["middle"]).build()
    inner, middle = (node for node, what in enumerate(plan.nodes) if what.kind is NodeKind.CHECK)
    apart = Dag(plan.dag.size)
    for edge in plan.dag.edges():
        if (edge.before, edge.after) != (inner, middle):
            apart.add(*edge)
    machine = Machine(msgspec.structs.replace(plan, dag=apart))
    assert [machine.take().node for _ in range(2)] == [0, inner]
    machine.done(inner, OK)
    machine.give_up({0: FAILED})
    assert middle in machine.withheld
    work = machine.take()
    assert (work.node, work.verdict) == (2, Verdict.PRE)


def test_what_a_set_frees_beside_a_state_of_another_host_becomes_ready():
    plan = PlanBuilder().chunk("a").set("of a", "a").remote("other").chunk("last", require=["of a"]).build()
    whole, other = (node for node, what in enumerate(plan.nodes) if what.kind in {NodeKind.SET, NodeKind.REMOTE})
    plan.dag.add(whole, other, "stage")
    machine = Machine(plan)
    assert machine.done(machine.take().node, OK) == [1]
    assert machine.awaited == {other}


def check_verdicts(plan):
    machine = Machine(plan)
    found = {}
    while (work := machine.take()) is not None:
        if work.kind is NodeKind.CHECK:
            found[plan.chunks[work.chunk].id] = work.verdict
        machine.done(work.node, OK)
    return found


def test_check_looks_only_at_the_prereqs_it_waits_for():
    plan = PlanBuilder().chunk("inner").chunk("middle", prereq=["inner"]).chunk("outer", prereq=["middle"]).build()
    assert check_verdicts(plan) == {"inner": Verdict.MET, "middle": Verdict.PRE}
    unlinked = Dag(plan.dag.size)
    for edge in plan.dag.edges():
        if any(plan.nodes[node].kind is not NodeKind.CHECK for node in (edge.before, edge.after)):
            unlinked.add(*edge)
    plan = msgspec.structs.replace(plan, dag=unlinked)
    assert check_verdicts(plan) == {"inner": Verdict.MET, "middle": Verdict.MET}


@pytest.mark.feature("F134", "F136")
@given(plan=plans(), data=st.data(), width=st.integers(1, 8), seed=st.integers())
def test_no_lane_is_ever_overfull_and_everything_runs(plan, data, width, seed):
    choice = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
    lanes = {chunk.index: data.draw(choice) for chunk in plan.chunks}
    limits = {"a": 2, "b": 3}
    machine = Machine(plan, lanes=lanes, limits=limits)
    rng, active, started = random.Random(seed), [], []
    while not machine.finished:
        while len(active) < width and (work := machine.take()) is not None:
            active.append(work)
            if work.kind is NodeKind.CHUNK:
                started.append(work.node)
            for lane in "abc":
                assert sum(lane in lanes.get(each.chunk, ()) for each in active) <= limits.get(lane, 1)
        machine.done(active.pop(rng.randrange(len(active))).node, OK)
    assert sorted(plan.nodes[node].chunk for node in started) == list(range(len(plan.chunks)))


SETS = {
    "one changed": ([CHANGED, OK], {"require": "met", "watch": "change", "onchanges": "met", "onfail": "onfail"}),
    "last changed": ([OK, CHANGED], {"require": "met", "watch": "change", "onchanges": "met", "onfail": "onfail"}),
    "none changed": ([OK, OK], {"require": "met", "watch": "met", "onchanges": "onchanges", "onfail": "onfail"}),
    "one failed": ([FAILED, OK], {"require": "fail", "watch": "fail", "onchanges": "onchanges", "onfail": "met"}),
}


@pytest.mark.parametrize("case", SETS)
def test_a_set_says_what_its_members_say_to_each_kind_of_requisite(case):
    outcomes, expected = SETS[case]
    builder = PlanBuilder().chunk("a").chunk("b").chunk("x").chunk("y").set("calm", "x", "y").set("both", "a", "b")
    for kind in expected:
        builder.chunk(kind, **{kind: ["both"]}).chunk(f"calm {kind}", **{kind: ["calm"]})
    _, verdicts = run_all(Machine(builder.build()), dict(zip("ab", outcomes, strict=True)))
    assert {kind: verdicts[kind] for kind in expected} == expected
    assert {kind: verdicts[f"calm {kind}"] for kind in expected} == SETS["none changed"][1]


def test_each_member_of_a_set_is_looked_at_once_for_each_kind(monkeypatch):
    looked = []
    monkeypatch.setattr(outcomes_module, "target_marks", lambda family, outcome: looked.append(family) or 2)
    builder = PlanBuilder()
    for number in range(10):
        builder.chunk(f"m{number}")
    builder.set("all", *(f"m{number}" for number in range(10)))
    for number in range(30):
        builder.chunk(f"w{number}", **{("require", "watch")[number % 2]: ["all"]})
    run_all(Machine(builder.build()))
    assert sorted(looked) == ["require"] * 10 + ["watch"] * 10


@pytest.mark.parametrize(("foreseen", "named"), [(FAILED, (2,)), (WOULD, ())])
def test_of_a_prereq_target_a_failure_is_named_that_its_check_foresaw(foreseen, named):
    builder = (
        PlanBuilder().chunk("other").chunk("prep", prereq=["deploy"]).chunk("deploy").chunk("late", require=["deploy"])
    )
    machine = Machine(builder.build())
    while (work := machine.take()) is not None:
        if work.chunk == 3:
            assert (work.verdict, work.failed) == (Verdict.FAIL, named)
        check = work.kind is NodeKind.CHECK
        machine.done(work.node, foreseen if check else FAILED if work.chunk == 2 else OK)
    assert machine.finished


def test_a_check_blames_only_what_it_waited_for():
    builder = PlanBuilder().chunk("bad").chunk("inner").chunk("middle", require=["bad"], prereq=["inner"])
    plan = builder.chunk("outer", prereq=["middle"]).build()
    checks = {what.chunk: node for node, what in enumerate(plan.nodes) if what.kind is NodeKind.CHECK}
    apart = Dag(plan.dag.size)
    for edge in plan.dag.edges():
        if (edge.before, edge.after) != (checks[1], checks[2]):
            apart.add(*edge)
    machine = Machine(msgspec.structs.replace(plan, dag=apart))
    work = machine.take()
    while work.node != checks[2]:
        machine.done(work.node, FAILED)
        work = machine.take()
    assert machine.outcomes.of(checks[1]) == FAILED
    assert (work.verdict, work.failed) == (Verdict.FAIL, (0,))


def test_a_check_does_not_mind_what_it_does_not_wait_for():
    plan = PlanBuilder().chunk("prep", prereq=["deploy"]).chunk("late").chunk("deploy", require=["late"]).build()
    unlinked = Dag(plan.dag.size)
    for edge in plan.dag.edges():
        if plan.nodes[edge.after].kind is not NodeKind.CHECK:
            unlinked.add(*edge)
    machine = Machine(msgspec.structs.replace(plan, dag=unlinked))
    assert machine.take().chunk == 1
    check = machine.take()
    assert (check.kind, check.chunk, check.verdict) == (NodeKind.CHECK, 2, Verdict.MET)


def test_a_check_that_failed_stops_nothing_by_itself():
    plan = PlanBuilder().chunk("prep", prereq=["deploy"]).chunk("deploy").build()
    machine = Machine(plan, failhard={1})
    machine.done(machine.take().node, FAILED)
    assert not machine.stopped
    machine.fail_hard(2)
    assert machine.stopped == "failhard", "unless what held it back holds back its chunk"


def of_another_host():
    plan = PlanBuilder().remote("db1: up").chunk("here").chunk("waits", require=["db1: up"]).build()
    (node,) = (number for number, what in enumerate(plan.nodes) if what.kind is NodeKind.REMOTE)
    return Machine(plan), node


def test_a_state_of_another_host_is_awaited_in_no_place_and_ends_once():
    machine, node = of_another_host()
    assert machine.awaited == {node}
    assert machine.take().chunk == 0
    assert machine.has_started(0)
    assert not machine.has_started(1)
    machine.done(0, OK)
    assert machine.take() is None
    assert not machine.finished
    assert not machine.stalled
    assert machine.arrive(node, CHANGED) == [1]
    assert machine.awaited == set()
    assert machine.arrive(node, FAILED) == []
    assert machine.outcomes.of(node) == CHANGED
    assert [step for step, each in machine.history() if each == node] == [Step.TAKEN, Step.ENDED]
    assert machine.take() == Work(1, NodeKind.CHUNK, 1)


def test_a_listener_comes_after_what_a_state_of_another_host_holds_up():
    plan = PlanBuilder().remote("db1: up").chunk("here").chunk("waits", require=["db1: up"]).listen("here", "here")
    machine = Machine(plan.build())
    (node,) = machine.awaited
    assert machine.take().chunk == 0
    machine.done(0, CHANGED)
    assert machine.take() is None
    machine.arrive(node, OK)
    assert machine.take().chunk == 1
    machine.done(1, OK)
    assert machine.take().kind is NodeKind.LISTENER


def test_a_failure_on_another_host_is_blamed_apart_from_those_of_this_one():
    machine, node = of_another_host()
    machine.arrive(node, FAILED)
    machine.take()
    assert machine.take() == Work(1, NodeKind.CHUNK, 1, Verdict.FAIL, elsewhere=(node,))


def test_a_failure_on_another_host_that_its_check_did_not_foresee_is_not_blamed():
    machine, node = of_another_host()
    machine.arrive(node, msgspec.structs.replace(FAILED, unforeseen=True))
    machine.take()
    assert machine.take() == Work(1, NodeKind.CHUNK, 1, Verdict.FAIL)


@rows(
    ("failhard", "members"),
    [
        (set(), (1, 2, 3)), ({0}, (1, 2, 3)), ({1}, (1,)), ({2}, (1, 2)), ({3}, (1, 2, 3)), ({2, 3}, (1, 2)),
    ],
)  # fmt: skip
def test_a_transaction_does_no_work_behind_a_member_that_may_stop_the_run(failhard, members):
    plan = PlanBuilder().chunk("before").chunk("a").chunk("b").chunk("c").group("a", "b", "c").build()
    *others, group = plan.nodes
    nodes = (*others, msgspec.structs.replace(group, transaction=True))
    machine = Machine(msgspec.structs.replace(plan, nodes=nodes), failhard=failhard)
    works = [machine.take(), machine.take()]
    assert [work.members for work in works if work.kind is NodeKind.GROUP] == [members]


def test_a_member_of_a_transaction_keeps_its_lanes():
    plan = PlanBuilder().chunk("other").chunk("a").chunk("b").group("a", "b").build()
    *others, group = plan.nodes
    nodes = (*others, msgspec.structs.replace(group, transaction=True))
    machine = Machine(msgspec.structs.replace(plan, nodes=nodes), lanes={0: ["one"], 1: ["one"]})
    assert [machine.take().node for _ in range(2)] == [0, 3]
    machine.done(3, OK)
    assert machine.take().chunk == 2
    assert machine.take() is None


def test_a_member_that_needs_a_state_of_another_host_is_left_out_of_its_group():
    builder = PlanBuilder().chunk("a").chunk("b", require=["other"]).chunk("c").remote("other").group("a", "b", "c")
    plan = builder.build()
    (other,) = (number for number, node in enumerate(plan.nodes) if node.kind is NodeKind.REMOTE)
    machine = Machine(msgspec.structs.replace(plan, elsewhere={other: plan.chunks[0]}))
    machine.arrive(other, OK)
    assert machine.take() == Work(len(plan.nodes) - 1, NodeKind.GROUP, -1, members=(0, 2))
