"""Every answer names the same states before and after a state."""

from __future__ import annotations

from drawn_plans import plans
from hypothesis import HealthCheck, assume, given, settings
from reached import reach
from trees import FakeStates, chunk_of, plan
from walks import DRAWN, REQUISITES, calls_of, merged, name, plain_before, states_before

from asyncstate.extras.analyse.explain import explanation
from asyncstate.extras.analyse.impact import effects, impact
from asyncstate.extras.analyse.lint import _are_siblings, lint
from asyncstate.extras.analyse.needs import needs
from asyncstate.extras.analyse.profile import Profile
from asyncstate.extras.analyse.waits import waits
from asyncstate.model.dag import FOOTPRINT, Dag
from asyncstate.model.event import ChunkFinished, ChunkStarted
from asyncstate.model.plan import NodeKind
from asyncstate.model.walk import stands_for


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
def test_a_recorded_run_tells_of_all_that_stands_before(plan):
    profile = Profile()
    for chunk in plan.chunks:
        common = {"run_id": "r", "seq": 0, "time": 0.0, "tag": chunk.tag}
        profile.on_event(ChunkStarted(**common, function="", id="", name="", sls=""))
        profile.on_event(ChunkFinished(**common, row={"result": True, "changes": {}, "comment": ""}, why="met"))
    for chunk in plan.chunks:
        before = merged(plain_before(plan, chunk.index))
        facts = waits(plan, chunk.index, profile)
        assert {each["tag"]: (set(each["because"]), set(each["resources"])) for each in facts["waited_for"]} == {
            plan.chunks[node].tag: why for node, why in before.items() if node < len(plan.chunks)
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
