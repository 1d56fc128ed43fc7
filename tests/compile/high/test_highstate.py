import json

import pytest
from record_answers import recorded
from trees import compiler, messages, mistakes, plan

from asyncstate.errors import CompileError, RenderError


def high(tree, sls=("s",), **options):
    return compiler(tree, **options).highdata(list(sls)).data


@pytest.mark.parametrize(("files", "data"), recorded("high").items())
def test_high_data_is_salts(files, data):
    tree = {name.removesuffix(".sls"): text for name, text in json.loads(files).items()}
    assert high(tree) == data
    assert list(high(tree)) == list(data)


def test_extend_and_exclude_stand_beside_the_ids():
    data = high("extend: {a: {test.nop: [{x: 1}]}}\nexclude: [b]\na: test.nop\n")
    assert data["__exclude__"] == ["b"]
    assert data["__extend__"] == [{"a": {"test": [{"x": 1}, "nop"], "__sls__": "s", "__env__": "base"}}]


def test_the_same_extension_given_twice_counts_once():
    extend = "extend: {a: {test: [{x: 1}]}}\n"
    tree = {"s": f"include: [t]\n{extend}a: test.nop\n", "t": extend}
    assert [next(iter(item)) for item in high(tree)["__extend__"]] == ["a", "a"]
    doubled = high(tree)["__extend__"]
    assert doubled[0]["a"]["__sls__"] == "s"
    assert doubled[1]["a"]["__sls__"] == "t"


def test_a_chain_of_a_thousand_includes_is_no_recursion():
    tree = {f"n{i}": f"include: [n{i + 1}]\ni{i}: test.nop\n" for i in range(1500)}
    tree["n1500"] = "last: test.nop\n"
    assert len(plan(tree, sls=["n0"]).chunks) == 1501


def test_xenv_looks_in_the_environments_that_are_asked_for():
    tree = {"s": "include: [{_xenv: t}]\n"}
    client = compiler(tree, envs={"dev": {"t": "b: test.nop\n"}})
    high_data = client._build({"base": ["s"], "dev": []}, ())
    assert list(high_data.data) == ["b"]
    assert messages({"s": "include: [{_xenv: gone}]\n"})[0].startswith("Unknown include: Specified SLS _xenv: gone")


def test_an_include_that_several_environments_have_is_ambiguous():
    tree = {"s": "a: test.nop\n"}
    envs = {"dev": {"t": "b: test.nop\n"}, "live": {"t": "b: test.nop\n"}, "own": {"u": "include: [{_xenv: t}]\n"}}
    high_data = compiler(tree, envs=envs)._build({"own": ["u"], "dev": [], "live": []}, ())
    assert [issue.code for issue in high_data.findings.errors] == ["E110"]


def test_a_renderer_that_raises_is_a_mistake_of_that_sls():
    client = compiler({"s": "a: test.nop\n"})

    def render(file, extra):
        raise ZeroDivisionError("by nothing")

    client._render = render
    with pytest.raises(CompileError, match="ZeroDivisionError: by nothing"):
        client.plan(["s"])


def test_the_first_of_two_ids_in_one_file_counts_if_asked_for():
    text = "a:\n  test.nop: []\n{% for n in [1] %}\na:\n  test.fail_without_changes: []\n{% endfor %}\nb: test.nop\n"
    assert "found conflicting ID 'a'" in messages(text)[0]
    compiled = plan(text, duplicate_ids="first")
    assert [(chunk.id, chunk.fun, chunk.line) for chunk in compiled.chunks] == [("a", "nop", 2), ("b", "nop", 7)]
    assert [(issue.code, issue.line) for issue in compiled.warnings] == [("W101", 4)]
    assert "found conflicting ID 'x'" in messages("a: {test.nop: [{x: {x: 1, x: 2}}]}\n", duplicate_ids="first")[0]
    assert "found conflicting ID 'include'" in messages("include: []\ninclude: []\n", duplicate_ids="first")[0]


def test_the_sls_to_include_is_named_for_the_first_errors_only():
    wanting = "".join(f"w{number}: {{test.nop: [{{require: [{{test: a{number}}}]}}]}}\n" for number in range(30))
    declaring = "".join(f"a{number}: test.nop\n" for number in range(30))
    found = mistakes({"s": wanting, "t": declaring, "top": declaring})
    hints = [issue.hint for issue in found]
    assert sum("is not included" in hint for hint in hints) == 10
    assert len(hints) == 30


def test_an_sls_that_cannot_be_read_hides_no_error():
    tree = compiler({"s": "w: {test.nop: [{require: [{test: a}]}]}\n", "t": "a: test.nop\n"})
    path = tree._file_client.sls_file("t", "base").path
    read = tree._file_client.read

    def refuse(wanted):
        if wanted == path:
            raise RenderError("Cannot read it")
        return read(wanted)

    tree._file_client.read = refuse
    with pytest.raises(CompileError) as caught:
        tree.plan(["s"])
    assert [issue.code for issue in caught.value.issues] == ["E305"]
