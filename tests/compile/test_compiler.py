import copy
import gc
import subprocess
import sys

import pytest
from hypothesis import given
from messages import said
from strategies import high_data
from trees import FakeStates, compiler, ids, mistakes, plan

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


def test_a_highstate_with_nothing_to_do_is_one_failed_row():
    compiled = plan({"one": "a: test.nop\n"}, sls=None)
    assert compiled.chunks == ()
    [(tag, row)] = compiled.rows.items()
    nothing = {"result": False, "name": "No States", "changes": {}, "__run_num__": 0}
    assert (tag, row) == ("no_|-states_|-states_|-None", {**nothing, "comment": row["comment"]})


def test_mistakes_of_rendering_and_of_structure_come_together_without_false_ones():
    tree = {
        "s": "include: [broken]\nextend: {from_broken: {test: [{x: 1}]}}\na: {test: [{x: 1}]}\nb: nodot\n",
        "broken": "{{ oops }}\n",
    }
    assert [issue.code for issue in mistakes(tree)] == ["E202", "E104", "E206"]


def test_high_data_of_an_sls_is_verified_that_of_a_highstate_is_not():
    tree = {"top": "base:\n  '*': [s]\n", "s": "a: {test: [{x: 1}]}\n"}
    assert list(compiler(tree).highdata().data) == ["a"]
    with pytest.raises(CompileError) as caught:
        compiler(tree).highdata(["s"])
    assert [issue.code for issue in caught.value.issues] == ["E206"]


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
        said("lone-file", word=word, path=other.path) for word in ("include", "exclude", "extend")
    ]
    assert {issue.code for issue in caught.value.issues[:3]} == {"E118"}


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
