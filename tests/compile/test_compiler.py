import copy
import gc
import subprocess
import sys

import pytest
from hypothesis import given
from strategies import high_data
from trees import FakeStates, compiler, ids, messages, mistakes, plan, warnings

from asyncstate.errors import CompileError, CycleError

TOP = {
    "top": "base:\n  '*': [one, {dev: two}, one]\n  'nobody': [three]\n",
    "one": "a: test.nop\n",
    "three": "c: test.nop\n",
}


def test_a_highstate_is_what_top_says():
    client = compiler(TOP, envs={"dev": {"two": "b: test.nop\n"}})
    assert client.top_matches() == {"base": ["one", "one"], "dev": ["two"]}
    assert client.top().sections == {"base": {"*": ["one", {"dev": "two"}, "one"], "nobody": ["three"]}}
    assert ids(client.plan()) == ["a", "b"]
    assert list(client.highdata().data) == ["a", "b"]


@pytest.mark.parametrize(
    ("tree", "comment"),
    [
        ({"one": "a: test.nop\n"}, "No Top file or master_tops data matches found. Please see master log for details."),
        (
            {"top": "base:\n  'x': [one]\n"},
            "No Top file or master_tops data matches found. Please see master log for details.",
        ),
        ({"top": "base:\n  '*': [one]\n", "one": "# empty\n"}, "No states found for this minion"),
        ({"top": "base: [one]\n"}, "Unable to render top file: Unable to render top file. No targets found."),
    ],
)
def test_a_highstate_with_nothing_to_do_is_one_failed_row(tree, comment):
    compiled = plan(tree, sls=None)
    assert compiled.chunks == ()
    assert compiled.rows == {
        "no_|-states_|-states_|-None": {
            "result": False,
            "comment": comment,
            "name": "No States",
            "changes": {},
            "__run_num__": 0,
        }
    }


def test_a_top_file_that_does_not_render_is_a_mistake():
    [issue] = mistakes({"top": "base:\n  '*': [one\n", "one": "a: test.nop\n"}, sls=None)
    assert issue.file.endswith("top.sls")
    assert issue.message.startswith("Unable to render top file")


def test_a_plan_of_an_empty_sls_is_empty():
    assert plan("").rows == {}


def test_high_data_of_an_sls_is_verified_that_of_a_highstate_is_not():
    tree = {"top": "base:\n  '*': [s]\n", "s": "a: {test: [{x: 1}]}\n"}
    assert list(compiler(tree).highdata().data) == ["a"]
    with pytest.raises(CompileError, match="No function declared"):
        compiler(tree).highdata(["s"])


def test_mistakes_of_rendering_and_of_structure_come_together_without_false_ones():
    tree = {
        "s": "include: [broken]\nextend: {from_broken: {test: [{x: 1}]}}\na: {test: [{x: 1}]}\nb: nodot\n",
        "broken": "{{ oops }}\n",
    }
    found = messages(tree)
    assert [message.split(":")[0] for message in found] == [
        "ID b in SLS s is not a dictionary",
        "Rendering SLS 'base",
        "No function declared in state 'a' in SLS 's'",
    ]


def test_a_cycle_is_a_cycle_error():
    with pytest.raises(CycleError):
        plan("a: {test.nop: [{require: [a]}]}\n")
    with pytest.raises(CompileError) as caught:
        plan("a: {test.nop: [{require: [b]}]}\n")
    assert not isinstance(caught.value, CycleError)


def test_plan_high_leaves_what_it_is_given_alone():
    high = {
        "a": {"test": ["nop", {"require_in": [{"test": "b"}]}, {"watch": ["b2"]}], "__sls__": "s", "__env__": "base"},
        "b": {"test": ["nop"], "__sls__": "s", "__env__": "base"},
        "b2": {"cmd": ["run", {"watch": ["c"]}], "__sls__": "s", "__env__": "base"},
        "c": {"test": ["nop"], "__sls__": "s", "__env__": "base"},
        "__extend__": [{"c": {"test": [{"x": 1}], "__sls__": "s", "__env__": "base"}}],
        "__exclude__": ["gone"],
    }
    before = copy.deepcopy(high)
    compiled = compiler({}).plan_high(high)
    assert high == before
    assert ids(compiled) == ["c", "b2", "a", "b"]


def test_high_data_without_marks_compiles_too():
    assert ids(compiler({}).plan_high({"a": {"test": ["nop"]}, "b": {"test": ["nop", {"require_in": ["a"]}]}})) == [
        "b",
        "a",
    ]


def test_one_file_may_only_declare_states():
    client = compiler(
        {"s": "a: test.nop\n", "t": "include: [s]\nexclude: [x]\nextend: {a: {test: [{x: 1}]}}\nb: test.nop\n"}
    )
    one, other = (client._file_client.sls_file(name, "base") for name in ("s", "t"))
    assert ids(client.plan_file(one)) == ["a"]
    with pytest.raises(CompileError) as caught:
        client.plan_file(other)
    assert [issue.message for issue in caught.value.issues][:3] == [
        f"The '{word}' declaration found on '{other.path}' is invalid when rendering single templates"
        for word in ("include", "exclude", "extend")
    ]
    assert {issue.code for issue in caught.value.issues[:3]} == {"E118"}


def test_only_ids_keeps_what_they_depend_on():
    tree = """
a: {test.nop: [{require: [b]}]}
b: {test.nop: [{require: [c]}, {prereq: [d]}]}
c: test.nop
d: {test.nop: [{require: [e]}]}
e: test.nop
f: {test.nop: [{require: [a]}, {listen: [c]}]}
g: {test.nop: [{listen: [c]}]}
"""
    compiled = plan(tree, only_ids=["a"])
    assert sorted(ids(compiled)) == ["a", "b", "c", "d", "e"]
    assert compiled.listeners == ()
    assert ids(plan(tree, only_ids=["g", "c"])) == ["c", "g"]
    assert len(plan(tree, only_ids=["g", "c"]).listeners) == 1


def test_only_ids_that_are_not_there():
    with pytest.raises(CompileError, match="No matches for ID 'zz' found in SLS 's' within saltenv 'base'"):
        plan("a: test.nop\n", only_ids=["zz"])
    with pytest.raises(CompileError) as caught:
        plan("website: test.nop\n", only_ids=["websit"])
    assert [issue.hint for issue in caught.value.issues] == ["did you mean 'website'?"]


def test_optional_functions_are_asked_for_once():
    states = FakeStates("test.mod_watch")
    tree = "".join(f"a{i}: {{test.nop: [{{watch: [z]}}]}}\n" for i in range(5)) + "z: test.nop\n"
    plan(tree, states=states, state_aggregate=True)
    assert sorted(states.asked) == ["test.mod_aggregate", "test.mod_watch"]


def test_the_collector_is_left_as_it_was():
    assert gc.isenabled()
    plan("a: test.nop\n")
    assert gc.isenabled()
    gc.disable()
    try:
        plan("a: test.nop\n")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_warnings_of_the_top_file_come_first():
    tree = {"top": "include: 5\nbase:\n  '*': [one]\n", "one": "a: test.nop.x\n"}
    found = [issue.message for issue in plan(tree, sls=None).warnings]
    assert found[0] == "The include of a top file is not formed as a list and is ignored"
    assert len(found) == 2
    assert warnings({"s": "a: test.nop\n"}) == []


@given(high_data(listen=True))
def test_compiling_is_pure(high):
    first = compiler({}).plan_high(copy.deepcopy(high))
    second = compiler({}).plan_high(high)
    assert first.digest == second.digest
    assert first.chunks == second.chunks
    assert first.nodes == second.nodes
    assert list(first.dag.edges()) == list(second.dag.edges())
    assert (first.requisites, first.rank, first.listeners) == (second.requisites, second.rank, second.listeners)


@given(high_data())
def test_serial_order_and_ranks_agree_with_the_graph(high):
    compiled = compiler({}).plan_high(high)
    assert [chunk.index for chunk in compiled.chunks] == list(range(len(compiled.chunks)))
    ranks = list(compiled.rank[: len(compiled.chunks)])
    assert ranks == sorted(ranks)
    for edge in compiled.dag.edges():
        if max(edge.before, edge.after) < len(compiled.chunks):
            assert edge.before < edge.after


def test_the_digest_is_the_same_for_any_hash_seed():
    program = (
        "from trees import plan\n"
        "many = ''.join(f'm{i}: test.nop\\n' for i in range(12))\n"
        "print(plan(many + \"a: {pkg.x: [{require: [{test: 'm*'}]}, {b: {1: 2, x: [3]}}]}\\n\""
        ' "c: {test.nop: [{order: 1}, {prereq: [a]}]}\\n", state_aggregate=True).digest)\n'
    )
    environ = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    digests = {
        subprocess.run(
            [sys.executable, "-c", program], env={**environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "7")
    }
    assert len(digests) == 1
