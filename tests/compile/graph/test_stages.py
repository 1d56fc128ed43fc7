import copy
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from reached import reach
from strategies import high_data
from tables import rows
from trees import WATCHING, compiler, edges, plan, wired

from asyncstate.compile.graph.order import LAST
from asyncstate.compile.graph.stages import Stages, add_stages, effective_stages
from asyncstate.compile.high.highstate import FIRST_AUTO_ORDER
from asyncstate.compile.low.lowstate import UNSET
from asyncstate.model.dag import FILE_ORDER, STAGE, Dag
from asyncstate.model.plan import NodeKind


def stage_labels(compiled):
    return [node.label for node in compiled.nodes if node.kind is NodeKind.STAGE]


def stages_of(orders, after, automatic=(), sets=()):
    """The stages of nodes with these orders, in serial order; ``sets`` are nodes behind them."""
    graph = SimpleNamespace(
        drafts=[SimpleNamespace(order=each, automatic=number in automatic) for number, each in enumerate(orders)],
        chunk=[*range(len(orders)), *sets],
        after=after,
        kind=[*[NodeKind.CHUNK] * len(orders), *[NodeKind.SET] * len(sets)],
    )
    return effective_stages(graph, range(len(orders)), cap=200)


@rows(
    ("order", "stage"),
    [(1, 1), (0, 0), (2.5, 2.5), (-1, 200 + LAST - 1), ("first", 0), ("last", 200 + LAST)],
)
def test_an_explicit_order_is_a_stage(order, stage):
    found = stages_of([order, UNSET], [[], []], automatic={1})
    assert found == Stages([stage, 200], 200, 200 + LAST)


@rows(("automatic", "common"), [(10_003, FIRST_AUTO_ORDER), (UNSET, 200)])
def test_states_without_an_explicit_order_share_a_stage(automatic, common):
    assert stages_of([1, automatic, automatic], [[], [], []], automatic={1, 2}).of == [1, common, common]


def test_the_members_of_a_set_are_in_the_stage_of_its_first_dependent():
    assert stages_of([UNSET, 7, 5], [[3], [], [], [1, 2]], automatic={0}, sets=[3]).of == [5, 7, 5, 5]
    assert stages_of([UNSET, 7], [[2], [], []], automatic={0}, sets=[2]).of == [200, 7, float("inf")]


def barriers_of(sequence):
    """The graph of states that have these stages, in serial order, with the barriers between them."""
    dag, count = Dag(len(sequence)), len(sequence)
    builder = SimpleNamespace(dag=dag, number=range(count), add_node=lambda _node: dag.add_node())
    add_stages(builder, range(count), Stages([float(stage) for stage in sequence], 3.0, 5.0))
    return dag


@given(st.lists(st.integers(0, 5), max_size=30))
def test_every_state_waits_for_earlier_states_of_smaller_stages_in_any_sequence(sequence):
    dag, count = barriers_of(sequence), len(sequence)
    for later in range(count):
        before = reach(dag, [later], forward=False)
        assert {each for each in range(later) if sequence[each] < sequence[later]} <= before
        assert before <= {*range(later + 1), *range(count, dag.size)}
    assert {edge.source for edge in dag.edges()} <= {STAGE}
    assert len(list(dag.edges())) <= 2 * count + 2 * (dag.size - count)


@rows(("sequence", "barriers"), [([1, 2, 3, 2], 2), ([1, 2, 3, 2, 3, 2], 3), ([1, 2, 1, 2, 1, 2], 3), ([3, 2, 1], 0)])
def test_a_barrier_serves_all_later_states_that_it_suffices_for(sequence, barriers):
    assert barriers_of(sequence).size == len(sequence) + barriers


def test_edges_stay_linear():
    tree = "".join(f"a{i}: {{test.nop: [{{order: {i % 20 + 1}}}]}}\n" for i in range(200))
    compiled = plan(tree)
    assert len(stage_labels(compiled)) == 19
    assert len(edges(compiled, "stage")) < 2 * 200 + 20


@given(high_data(max_size=9))
def test_every_state_waits_for_the_earlier_ones_of_smaller_stages(high):
    graph, order, serial = wired(copy.deepcopy(high), watching={name.partition(".")[0] for name in WATCHING})
    stages = effective_stages(graph, serial, order.cap)
    compiled = compiler({}).plan_high(high)
    assert len(compiled.dag.topological_order(lambda node: node)) == len(compiled.nodes)
    if stages is None:
        assert stage_labels(compiled) == []
        return
    chunks = [node for node in serial if graph.kind[node] is NodeKind.CHUNK]
    assert [graph.drafts[graph.chunk[node]].tag for node in chunks] == [chunk.tag for chunk in compiled.chunks]
    for later, node in enumerate(chunks):
        reached = reach(compiled.dag, [later], forward=False)
        for earlier in range(later):
            if stages.of[chunks[earlier]] < stages.of[node]:
                assert earlier in reached


@given(high_data(max_size=9, explicit=False, names=False), st.data())
def test_in_the_order_of_the_file_each_state_waits_for_the_one_before_it_unless_that_is_parallel(high, data):
    plain = compiler({}).plan_high(copy.deepcopy(high))
    beside = {chunk.id for chunk in plain.chunks if data.draw(st.booleans())}
    for id_, declared in high.items():
        for function in declared.values() if id_ in beside and isinstance(declared, dict) else ():
            if isinstance(function, list):
                function.append({"parallel": True})
    compiled = compiler({}, implicit_order="file").plan_high(high)
    assert [chunk.tag for chunk in compiled.chunks] == [chunk.tag for chunk in plain.chunks], "the serial order is kept"
    serial = [chunk.index for chunk in compiled.chunks if chunk.args.get("parallel") is not True]
    for later in range(len(compiled.chunks)):
        before = reach(compiled.dag, [later], forward=False)
        assert {each for each in serial if each < later} <= before
    assert {chunk.id for chunk in compiled.chunks if chunk.args.get("parallel") is True} <= beside
    by_file = {(edge.before, edge.after) for edge in compiled.dag.edges() if edge.source == FILE_ORDER}
    assert not {before for before, _ in by_file if before < len(compiled.chunks)} - set(serial)
