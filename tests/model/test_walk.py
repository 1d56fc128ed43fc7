"""Predecessors and successors of a state are the same on every surface, and those of a plain search."""

from __future__ import annotations

import time

import pytest
from drawn_plans import ACROSS, SORTS, plans
from hypothesis import HealthCheck, Phase, assume, given, settings
from reached import reach
from trees import FakeStates, chunk_of, plan

from asyncstate.analyse.explain import explanation
from asyncstate.analyse.impact import effects, impact
from asyncstate.analyse.lint import _are_siblings, lint
from asyncstate.analyse.needs import needs
from asyncstate.analyse.waits import waits
from asyncstate.cli.show import _order_lines
from asyncstate.model.dag import FOOTPRINT, Dag
from asyncstate.model.event import ChunkFinished, ChunkStarted
from asyncstate.model.forecast import forecast
from asyncstate.model.plan import EDGE_SOURCES, Node, NodeKind, Plan
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import RunReport
from asyncstate.model.walk import JOINTS, STATES, Reason, Walk, stands_for
from asyncstate.report.blockers import held_back
from asyncstate.report.profile import Profile
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN
from asyncstate.report.traces import waits_in
from asyncstate.run.dispatch import Fetch
from asyncstate.run.prefetcher import nodes_needed
from asyncstate.run.resumed import _followed

REQUISITES = frozenset(kind.value for kind in RequisiteKind)
FAILING = frozenset(("require", "require_any", "watch", "watch_any", "prereq", "prerequired"))
DRAWN = settings(max_examples=40, phases=(Phase.explicit, Phase.generate))


def ways(plan, node, through):
    """Every way from a state over joints to a node, as (the state, why the node waits for it), one by one."""
    for before in plan.dag.predecessors(node):
        kind, sources = plan.nodes[before].kind, plan.dag.sources(before, node)
        if kind in STATES - through:
            yield before, {(source, *plan.dag.resources(before, node)) for source in sources}
        elif kind in through:
            in_group = sources == (FOOTPRINT,) and kind is not NodeKind.SET
            for state, inner in ways(plan, before, through):
                hidden = in_group or (kind is NodeKind.SET and {one for one, *_ in inner} == {"group"})
                own = {(source, *plan.dag.resources(before, node)) for source in sources}
                yield state, {("group",)} if hidden else own


def plain_before(plan, node, through=JOINTS):
    found = {}
    for state, why in ways(plan, node, through):
        if state != node:
            found.setdefault(state, set()).update(why)
    return found


def told(reasons):
    """What a walk found, as `plain_before` has it; which resource belongs to which edge is not known any more."""
    return {node: (set(reason.sources), set(reason.resources)) for node, reason in reasons.items()}


def merged(found):
    return {
        node: ({one for one, *_ in why}, {each for _, *resources in why for each in resources})
        for node, why in found.items()
    }


def calls_of(plan, chunk):
    return {number for number, node in enumerate(plan.nodes) if node.chunk == chunk and node.kind in STATES}


def states_before(plan, chunk, through=JOINTS):
    """The nodes that the call of a state or its check waits for, with the sources."""
    own, found = calls_of(plan, chunk), {}
    for call in own:
        for node, (sources, _) in merged(plain_before(plan, call, through)).items():
            if node not in own:
                found.setdefault(node, set()).update(sources)
    return found


def meant(plan, node):
    """The states that a requisite on a node names."""
    return {each for member in plan.nodes[node].members for each in meant(plan, member)} or {node}


def name(plan, node):
    if plan.nodes[node].kind is NodeKind.REMOTE:
        return plan.nodes[node].label
    tag = describe_tag(plan.chunks[plan.nodes[node].chunk].tag)
    return f"the check of {tag}" if plan.nodes[node].kind is NodeKind.CHECK else tag


def test_every_kind_of_node_and_edge_is_drawn():
    nodes, sources, contingent = set(), set(), set()

    def look(plan):
        nodes.update((node.kind, node.transaction) for node in plan.nodes)
        sources.update(edge.source for edge in plan.dag.edges())
        contingent.update(edge.proof for edge in plan.contingent)

    for sort in SORTS:
        settings(DRAWN, max_examples=20, suppress_health_check=[HealthCheck.filter_too_much])(
            given(plans([sort]))(look)
        )()
    expected = {(kind, False) for kind in NodeKind} | {(NodeKind.GROUP, True)}
    assert nodes == (expected if ACROSS else expected - {(NodeKind.REMOTE, False)})
    assert sources == EDGE_SOURCES if ACROSS else sources < EDGE_SOURCES
    assert contingent


def traced(plan, node):
    """How a trace names a state."""
    what = plan.nodes[node]
    is_remote = what.kind is NodeKind.REMOTE
    return what.label if is_remote else plan.chunks[what.chunk].tag, what.kind is NodeKind.CHECK


@DRAWN
@given(plans())
def test_a_walk_finds_what_a_plain_search_finds_in_both_directions(plan):
    for through in (JOINTS, JOINTS - {NodeKind.STAGE}, frozenset({NodeKind.SET})):
        walk = Walk(plan, through)
        nodes = [number for number, node in enumerate(plan.nodes) if node.kind in STATES]
        before = {node: told(walk.before(node)) for node in nodes}
        assert before == {node: merged(plain_before(plan, node, through)) for node in nodes}
        assert {node: told(walk.after(node)) for node in nodes} == {
            node: {other: before[other][node] for other in nodes if node in before[other]} for node in nodes
        }


@DRAWN
@given(plans())
def test_step_by_step_the_walk_has_the_whole_order(plan):
    nodes = [number for number, node in enumerate(plan.nodes) if node.kind in STATES]
    steps, walk = Dag(len(plan.nodes)), Walk(plan)
    for node in nodes:
        for other in walk.before(node):
            steps.add(other, node, "step")
    for node in nodes:
        whole = {each for each in reach(plan.dag, [node], forward=False) if plan.nodes[each].kind in STATES}
        assert reach(steps, [node], forward=False) == whole


@DRAWN
@given(plans())
def test_explain_and_impact_name_what_stands_before_and_behind(plan):
    before = {chunk.index: states_before(plan, chunk.index) for chunk in plan.chunks}
    unless = [(edge.before, edge.after) for edge in plan.contingent]
    for chunk in plan.chunks:
        own = calls_of(plan, chunk.index)
        more = {each for node, after in unless if after in own for each in stands_for(plan, [node])} - own
        facts = explanation(plan, chunk.index)
        names = {text for texts in facts["requisites"].values() for text in texts}
        names |= {text.partition(" — ")[0] for texts in facts["waits_for"].values() for text in texts}
        assert names == {name(plan, node) for node in {*before[chunk.index], *more}}
        for source, texts in facts["waits_for"].items():
            said = {text.partition(" — ")[0] for text in texts}
            there = {node for node, why in before[chunk.index].items() if source in why and not why & REQUISITES}
            there |= more - before[chunk.index].keys() if source == FOOTPRINT else set()
            assert said == {name(plan, node) for node in there}
        behind = {
            other
            for other, nodes in before.items()
            if own & nodes.keys()
            or any(own & set(stands_for(plan, [n])) for n, a in unless if a in calls_of(plan, other))
        } - {chunk.index}
        assert facts["waited_for_by"] == [name(plan, other) for other in sorted(behind)]
        affected = {effect.chunk for effect in effects(plan, chunk.index)}
        assert [each["tag"] for each in impact(plan, chunk.index)["ordered_after"]] == [
            plan.chunks[other].tag for other in sorted(behind - affected)
        ]


@DRAWN
@given(plans())
def test_a_recorded_run_a_trace_and_the_lowstate_tell_of_the_same(plan):
    profile = Profile()
    for chunk in plan.chunks:
        common = {"run_id": "r", "seq": 0, "time": 0.0, "tag": chunk.tag}
        profile.on_event(ChunkStarted(**common, function="", id="", name="", sls=""))
        profile.on_event(ChunkFinished(**common, row={"result": True, "changes": {}, "comment": ""}, why="met"))
    lines = list(_order_lines(plan, PLAIN))
    awaited = waits_in(plan)
    for chunk in plan.chunks:
        before = merged(plain_before(plan, chunk.index))
        facts = waits(plan, chunk.index, profile)
        assert {each["tag"]: (set(each["because"]), set(each["resources"])) for each in facts["waited_for"]} == {
            plan.chunks[node].tag: why for node, why in before.items() if node < len(plan.chunks)
        }
        for call in calls_of(plan, chunk.index):
            linked = merged(plain_before(plan, call, JOINTS - {NodeKind.STAGE}))
            assert {other: set(because) for other, because in awaited[traced(plan, call)].items()} == {
                traced(plan, node): sources for node, (sources, _) in linked.items()
            }
        numbers = {
            str(node + 1)
            for node in plain_before(plan, chunk.index, JOINTS | {NodeKind.CHECK})
            if node < len(plan.chunks)
        }
        assert set(lines[chunk.index].partition("  after ")[2].split(", ")) - {""} == numbers


@DRAWN
@given(plans())
def test_what_a_requisite_names_counts_for_failures_forecasts_resumed_runs_and_fetches(plan):
    good = {"result": True, "changes": {}, "comment": ""}
    targets = [
        {
            kind: {t for each in of if each.kind.value in kinds for t in meant(plan, each.node)}
            for kind, kinds in KINDS.items()
        }
        for of in plan.requisites
    ]
    tags = [chunk.tag for chunk in plan.chunks]
    for failed in plan.chunks:
        rows = {tag: {**good, "result": False, "__state_ran__": False} for tag in tags} | {
            tags[failed.index]: {**good, "result": False}
        }
        blamed = held_back(RunReport(rows=rows), plan)
        others = {
            tags[i]
            for i in range(len(tags))
            if calls_of(plan, failed.index) & targets[i]["failing"] and i != failed.index
        }
        assert {tag for tag, text in blamed.items() if "which failed" in text} == others
        rows = {tag: {**good} for tag in tags} | {tags[failed.index]: {**good, "result": None}}
        said = forecast(RunReport(rows=rows, test=True), plan)
        listening = {n.chunk for n in plan.listeners if failed.index in {plan.nodes[m].chunk for m in n.members}}
        assert {tags.index(tag) for tag in said} == {failed.index} | listening
    followed = {t for of in targets for t in of["followed"]} | {m for n in plan.listeners for m in n.members}
    assert _followed(plan) == {t for t in followed if t < len(tags) and plan.chunks[t].state != "test"}
    for chunk in plan.chunks:
        here = {node for node in targets[chunk.index]["deciding"] if plan.nodes[node].kind is not NodeKind.REMOTE}
        assert nodes_needed(plan, Fetch(chunk.index, "x.fetch")) == here - {chunk.index}


def every(*families):
    return {f"{family}{form}" for family in families for form in ("", "_any", "_all")}


KINDS = {
    "failing": FAILING,
    "followed": every("watch", "onchanges", "listen"),
    "deciding": every("onchanges", "onfail", "prereq"),
}


@settings(DRAWN, suppress_health_check=[HealthCheck.filter_too_much])
@given(plans())
def test_lint_names_every_needed_order_that_only_footprints_keep(plan):
    findings = {(each.chunk, each.message) for each in lint(plan)}
    contradicting = {(each.first, each.second) for each in plan.contradictions}
    secured = Dag(len(plan.nodes))
    kept = []
    for edge in plan.dag.edges():
        if edge.source != FOOTPRINT:
            secured.add(edge.before, edge.after, edge.source)
        elif edge.after < len(plan.chunks):
            touched = plan.dag.resources(edge.before, edge.after)
            kept += [
                (one, edge.after)
                for one in meant_by_footprint(plan, edge.before)
                if one < len(plan.chunks)
                and needs(plan.chunks[edge.after], plan.chunks[one], touched, plan.chunks, mask=0)
            ]
    # Of states that contradict each other, and of those of one names, lint advises no order.
    assume(not contradicting)
    assume(not any(_are_siblings(plan.chunks[one], plan.chunks[other]) for one, other in kept))
    for one, other in kept:
        said = f"it comes after {name(plan, one)} only because "
        if any(chunk == other and said in message for chunk, message in findings):
            secured.add(one, other, "named")
    for chunk, message in findings:
        place = message.partition("only its place in the file puts it after ")[2]
        for other in plan.chunks if place else ():
            if name(plan, other.index) == place:
                secured.add(other.index, chunk, "named")
    for one, other in kept:
        assert one in reach(secured, [other], forward=False)


def meant_by_footprint(plan, node):
    """The states that touched the resource of a footprint: those that a set joins, however deep."""
    if plan.nodes[node].kind is not NodeKind.SET:
        return {node}
    return {each for before in plan.dag.predecessors(node) for each in meant_by_footprint(plan, before)}


def test_a_stage_is_told_by_its_states():
    made = plan("a: test.nop\nb: test.nop\nearly: {test.nop: [{order: 1}]}\n")
    early, first = chunk_of(made, "early").index, chunk_of(made, "a").index
    assert explanation(made, early)["waited_for_by"] == ["test.nop: a", "test.nop: b"]
    assert explanation(made, first)["waits_for"] == {"stage": ["test.nop: early"]}
    assert [(each["tag"], each["sources"]) for each in impact(made, early)["ordered_after"]] == [
        (chunk_of(made, name).tag, ["stage"]) for name in ("a", "b")
    ]


def test_a_state_that_is_pulled_forward_says_for_whom_also_through_others_and_whole_files():
    tree = {
        "s": "include: [m]\nz: test.nop\nearly: {test.nop: [{order: 1}, {require: [{sls: m}, {test: y}]}]}\n",
        "m": "x: test.nop\n",
        "n": "b: test.nop\ny: {test.nop: [{require: [b, c]}]}\nc: test.nop\n",
    }
    made = plan(tree, sls=["n", "s"])
    pulled = {chunk.id: explanation(made, chunk.index)["before_its_order"] for chunk in made.chunks}
    early = ["test.nop: early"]
    assert pulled == {"x": early, "b": early, "c": ["test.nop: y"], "y": early, "early": [], "z": []}


def test_a_footprint_of_a_group_is_no_reason_for_what_stands_before_the_group():
    dag = Dag(4)
    nodes = [Node(NodeKind.CHUNK, 0), Node(NodeKind.CHUNK, 1), Node(NodeKind.GROUP, members=(1,)), Node(NodeKind.SET)]
    dag.add(0, 2, "group")
    dag.add(2, 3, FOOTPRINT, ("path:/x",))
    dag.add(3, 1, FOOTPRINT, ("path:/x",))
    walk = Walk(Plan((), tuple(nodes), (), (), dag))
    assert walk.before(1) == {0: Reason(("group",))}
    assert walk.after(0) == {1: Reason(("group",))}


def test_a_wait_that_ends_early_says_so_unless_another_holds_in_any_case():
    def touches(low):
        return {"writes": low.get("w", []), "makes": low.get("m", []), "leaves": low.get("l", [])}

    made = plan(
        "a: {t.x: [{w: ['path:/d']}, {l: ['path:/d']}]}\n"
        "b: {t.x: [{w: ['path:/d/b']}]}\nc: {t.x: [{m: ['path:/d']}, {w: ['path:/d/c']}]}\n",
        states=FakeStates(footprints={"t": touches}),
        implicit_order="footprint",
    )
    (after,) = impact(made, chunk_of(made, "b").index)["ordered_after"]
    assert (after["tag"], after["unless"]) == (chunk_of(made, "c").tag, [chunk_of(made, "a").tag])


@pytest.mark.no_cover
@pytest.mark.parametrize("states", [20_000])
def test_the_cost_of_a_walk_grows_with_the_plan(states):
    """A chain of as many sets as states, each looked through: neither recursion nor a search for each pair."""
    nodes = [Node(NodeKind.CHUNK, number) for number in range(states)] + [Node(NodeKind.SET) for _ in range(states)]
    dag = Dag(len(nodes))
    for number in range(states):
        dag.add(number, states + number, "set")
        if number:
            dag.add(states + number - 1, states + number, "set")
    last = dag.add_node()
    dag.add(2 * states - 1, last, "require")
    walk = Walk(Plan((), (*nodes, Node(NodeKind.CHUNK, 0)), (), (), dag))
    before = time.process_time()
    assert len(walk.before(last)) == states
    assert walk.after(0) == {last: Reason(("require",))}
    assert time.process_time() - before < 4
