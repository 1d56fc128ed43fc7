import copy

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import high_data
from trees import bare_graph, declared, ids, plan, sets_of, wired

from asyncstate.compile.findings import Findings
from asyncstate.compile.graph.aggregate import aggregate
from asyncstate.compile.graph.assemble import Listening, PlanBuilder
from asyncstate.compile.graph.order import SerialOrder
from asyncstate.compile.graph.requisite_graph import GROUP_MEMBER, KINDS, SET_MEMBER
from asyncstate.compile.graph.restrict import restrict
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import GROUP, SET
from asyncstate.model.plan import BrokenListener, ContingentEdge, Contradiction, Node, NodeKind, Plan, plan_digest
from asyncstate.model.requisite import RemoteRequisite, Requisite


@st.composite
def ordered(draw):
    """A graph, its serial order and the orders of its states; with groups, or with a few IDs only, or with neither."""
    with sets_of(2):
        graph, order, serial = wired(draw(high_data()))
    which = draw(st.sampled_from(("all", "few", "groups")))
    if which == "few":
        few = draw(st.lists(st.sampled_from([draft.id for draft in graph.drafts]), min_size=1, max_size=2))
        serial = restrict(graph, serial, few, "")
    if which == "groups":
        serial, _ = aggregate(graph, order, serial, None, option=True, has_mod_aggregate="test".__ne__)
    return graph, order, serial


def numbered(graph, serial):
    """The nodes in the order of their numbers in the plan: chunks, the others of the serial order, sets that are left."""
    chunks = [node for node in serial if graph.kind[node] is NodeKind.CHUNK]
    sets = [
        node for node, members in graph.members.items() if graph.kind[node] is NodeKind.SET and {*members} & {*serial}
    ]
    return [*chunks, *(node for node in serial if node not in chunks), *sets]


@given(ordered())
def test_a_plan_has_the_nodes_that_are_left_with_new_numbers(parts):
    graph, order, serial = parts
    before = copy.deepcopy(graph)
    builder = PlanBuilder(graph, serial, order)
    nodes = numbered(before, serial)
    number = {node: place for place, node in enumerate(nodes)}
    assert builder.number == [number.get(node, -1) for node in range(len(before.chunk))]
    assert builder.rank == [serial.index(node) if node in serial else 0 for node in nodes]
    assert builder.in_serial_order() == [number[node] for node in serial]
    assert builder.nodes == [
        Node(
            before.kind[node],
            number[before.chunk[node]] if before.chunk[node] >= 0 else -1,
            tuple(number[member] for member in before.members.get(node, ()) if member in number),
            before.label.get(node, ""),
        )
        for node in nodes
    ]
    drafts = [before.drafts[node] for node in nodes if before.kind[node] is NodeKind.CHUNK]
    assert [chunk.tag for chunk in builder.chunks] == [draft.tag for draft in drafts]
    assert [chunk.order for chunk in builder.chunks] == [order.own[node] for node in nodes[: len(drafts)]]


@given(ordered())
def test_a_plan_has_the_edges_and_requisites_between_the_nodes_that_are_left(parts):
    graph, order, serial = parts
    before = copy.deepcopy(graph)
    builder = PlanBuilder(graph, serial, order)
    number = builder.number
    source = {SET_MEMBER: SET, GROUP_MEMBER: GROUP} | {place: kind.value for place, kind in enumerate(KINDS)}
    assert {(edge.before, edge.after, edge.source) for edge in builder.dag.edges()} == {
        (number[node], number[other], source[kind])
        for node in range(len(before.chunk))
        for other, kind in before.edges_from(node)
        if number[node] >= 0 and number[other] >= 0
    }
    made = finished(builder)
    assert len(made.requisites) == len(builder.chunks)
    for draft in range(len(before.drafts)):
        expected = [Requisite(KINDS[kind], number[node]) for kind, node in before.requisites_of(draft)]
        named = list(dict.fromkeys(each.node for each in expected))
        expected.sort(key=lambda each: named.index(each.node))
        if number[draft] >= 0:
            assert made.requisites[number[draft]] == tuple(each for each in expected if each.node >= 0)
    assert not graph.after, "it is not held twice"


def finished(builder, listening=None, **more):
    """The plan of a builder, with nothing but what the builder has."""
    nothing = {"rows": {}, "saltenv": "base", "unknown": {}, "refused": {}, "remote": (), "contradictions": ()}
    return builder.finish(listening=listening or Listening(), findings=Findings(), **{**nothing, **more})


def test_a_chunk_is_what_was_declared_and_where():
    tree = {"s": "include: [t]\n", "t": "\n\na:\n  cmd.run:\n    - name: echo\n    - order: 7\n    - cwd: /\n"}
    [chunk] = plan(tree).chunks
    expected = LowChunk(0, "cmd", "run", "a", "echo", "t", "base", 7, {"cwd": "/"}, ("s",), "/memory/base/t.sls")
    assert chunk == replace(expected, declared=chunk.declared)
    assert chunk.line == 4


def test_a_state_without_a_file_has_no_line():
    graph = bare_graph(1)
    order = SerialOrder(graph)
    [chunk] = PlanBuilder(graph, order.sort(), order).chunks
    assert (chunk.file, chunk.declared) == ("", 0)


def ordered_by_hand(states):
    graph, order, serial = wired(declared(states))
    return graph, serial, order


def test_a_node_of_another_step_is_added_with_its_rank_or_none():
    builder = PlanBuilder(*ordered_by_hand({"a": [], "b": []}))
    stage, group = Node(NodeKind.STAGE, label="x"), Node(NodeKind.GROUP, -1, (0, 1))
    assert (builder.add_node(stage), builder.add_node(group, 1)) == (2, 3)
    assert builder.nodes[2:] == [stage, group]
    assert builder.rank == [0, 1, 0, 1]
    assert builder.dag.size == 4
    assert builder.in_serial_order() == [0, 1, 3]


def test_listeners_stand_behind_all_others_in_their_order():
    tree = """
a: {test.nop: [{listen: [x, y]}, {order: 1}]}
b: {test.nop: [{prereq: [x]}, {listen: [a]}]}
x: test.nop
y: test.nop
"""
    compiled = plan(tree)
    number = {chunk.id: chunk.index for chunk in compiled.chunks}
    assert compiled.listeners == tuple(
        Node(NodeKind.LISTENER, number[id_], (number[target],), f"test_|-listener_{id_}_|-{id_}_|-mod_watch")
        for id_, target in (("a", "x"), ("a", "y"), ("b", "a"))
    )
    ranks = dict(zip(compiled.nodes, compiled.rank, strict=True))
    others = [ranks[node] for node in compiled.nodes if node.kind is not NodeKind.LISTENER]
    behind = [ranks[node] for node in compiled.listeners]
    assert behind == sorted({*behind})
    assert behind[0] > max(others)
    assert compiled.dag.size == len(compiled.nodes)


def test_listeners_that_are_left_have_the_targets_that_are_left():
    tree = """
a: {test.nop: [{listen: [{test: t}, {test: gone}]}, {require: [t1]}]}
b: {test.nop: [{listen: [{test: t1}]}, {listen_in: [{test: missing}]}]}
c: {test.nop: [{listen: [{test: t2}]}]}
t1: {test.nop: [{name: t}, {listen_in: [{test: missing}]}]}
t2: {test.nop: [{name: t}]}
"""
    compiled = plan(tree, only_ids=["a", "c"])
    assert ids(compiled) == ["t1", "a", "c"]
    assert [(node.chunk, node.members) for node in compiled.listeners] == [(1, (0,))]
    assert [broken.targets for broken in compiled.broken_listeners] == [(0,), ()]


def test_a_finished_plan_has_all_that_was_found():
    builder = PlanBuilder(*ordered_by_hand({"a": [], "b": [], "c": []}))
    builder.contingent.append(ContingentEdge(0, 2, 1, ("path:/x",)))
    builder.entries[1] = ("/etc/hosts",)
    findings = Findings()
    findings.warn("W109", "odd")
    row = {"result": False}
    found = {
        "rows": {"tag": row},
        "saltenv": "dev",
        "unknown": {0: "it runs a command"},
        "remote": (RemoteRequisite(0, "require", "db1", "id", "x"),),
        "contradictions": (Contradiction("E430", 0, 1, "message", "hint"),),
    }
    made = builder.finish(
        listening=Listening([(1, (2,))], [((0,), "broken", row)]), findings=findings, refused={1: "alone"}, **found
    )
    nodes = (*(Node(NodeKind.CHUNK, index) for index in range(3)), made.nodes[-1])
    assert made == Plan(
        chunks=builder.chunks,
        nodes=nodes,
        requisites=((), (), ()),
        rank=(0, 1, 2, 3),
        dag=builder.dag,
        contingent=tuple(builder.contingent),
        broken_listeners=(BrokenListener((0,), "broken", row),),
        entries={1: ("/etc/hosts",)},
        not_aggregated={1: "alone"},
        warnings=tuple(findings.warnings),
        digest=plan_digest(builder.chunks, nodes, builder.dag, builder.contingent),
        **found,
    )
    assert made.digest != plan_digest(builder.chunks, nodes, builder.dag)


def test_a_plan_of_no_state():
    made = finished(PlanBuilder(*ordered_by_hand({})))
    assert (made.chunks, made.nodes, made.rank, made.listeners) == ((), (), (), ())
