import json

import pytest
from record_answers import recorded
from trees import chunk_of, compiler, ids, messages, mistakes, plan, warnings

BASE = "a: {test.nop: [{x: 1}, {require: [{test: b}]}]}\nb: test.nop\nc: test.nop\n"


def extended(extend, base=BASE, **options):
    return plan({"s": f"include: [t]\nextend:\n  {extend}\n", "t": base}, **options)


def test_values_are_replaced_requisites_added_and_new_keys_appended():
    chunk = chunk_of(extended("a: {test: [{x: 2}, {y: 3}, {require: [{test: c}]}]}"), "a")
    assert chunk.args == {"x": 2, "y": 3, "require": [{"test": "b"}, {"test": "c"}]}


def test_a_function_replaces_the_function():
    assert chunk_of(extended("a: {test.ping: []}"), "a").fun == "ping"


def test_a_name_replaces_names():
    compiled = extended("n: {test: [{name: one}]}", "n: {test.nop: [{names: [x, y]}]}\n")
    assert [chunk.name for chunk in compiled.chunks] == ["one"]


def test_a_module_the_id_does_not_have_is_added_and_runs_last():
    compiled = extended("a: {cmd.run: []}")
    assert ids(compiled) == ["b", "a", "c", "a"]
    assert compiled.chunks[-1].function == "cmd.run"


def test_by_the_value_of_any_argument_if_only_one_state_has_it():
    base = "a: {test.nop: [{name: /x}]}\nb: {test.nop: [{comment: /y}]}\n"
    assert chunk_of(extended("/x: {test: [{z: 1}]}", base), "a").args == {"z": 1}
    assert chunk_of(extended("/y: {test: [{z: 1}]}", base), "b").args == {"comment": "/y", "z": 1}


def test_by_a_name_that_an_earlier_extension_gave():
    compiled = extended("a: {test: [{name: /new}]}\n  /new: {test: [{z: 1}]}")
    assert chunk_of(compiled, "a").args["z"] == 1


def test_a_name_that_an_extension_took_away_is_no_longer_found():
    base = "a: {test.nop: [{name: /old}]}\n"
    assert (
        len(messages({"s": "include: [t]\nextend: {a: {test: [{name: n}]}, /old: {test: [{z: 1}]}}\n", "t": base})) == 1
    )


def test_a_requisite_directly_under_the_extended_id():
    compiled = extended("a: {require: [{test: c}]}")
    assert chunk_of(compiled, "a").args["require"] == [{"test": "b"}, {"test": "c"}]


def test_the_last_extension_wins():
    tree = {
        "s": "include: [t, u]\nextend: {a: {test: [{x: 2}]}}\n",
        "t": BASE,
        "u": "extend: {a: {test: [{x: 3}]}}\n",
    }
    assert chunk_of(plan(tree), "a").args["x"] == 3


def test_unknown_and_ambiguous_ids():
    tree = {"s": "include: [t]\nextend:\n  ghost: {test: [{x: 1}]}\n  same: {test: [{x: 1}]}\n", "t": BASE}
    tree["t"] += "d: {test.nop: [{name: same}]}\ne: {test.nop: [{name: same}]}\n"
    found = mistakes(tree)
    assert [issue.message for issue in found] == [
        f"Cannot extend ID '{id_}' in 'base:s'. It is not part of the high state.\n"
        "This is likely due to a missing include statement or an incorrectly typed ID.\n"
        f"Ensure that a state with an ID of '{id_}' is available\nin environment 'base' and to SLS 's'"
        for id_ in ("ghost", "same")
    ]
    assert [issue.line for issue in found] == [3, 4]


def test_an_extension_from_an_excluded_sls_does_not_count_but_must_make_sense():
    tree = {"s": "include: [t, u]\nexclude: [u]\n", "t": BASE, "u": "extend: {a: {test: [{x: 9}]}}\n"}
    assert chunk_of(plan(tree), "a").args["x"] == 1
    tree["u"] = "extend: {ghost: {test: [{x: 9}]}}\n"
    assert len(messages(tree)) == 1


def test_arguments_that_are_no_list():
    assert messages({"s": "include: [t]\nextend: {a: {test: 5}}\n", "t": BASE}) == [
        "State 'a' in SLS 's' is not formed as a list"
    ]


@pytest.mark.parametrize(("files", "tags"), recorded("tags").items())
def test_letters_and_keys_are_functions_as_in_salt_and_named(files, tags):
    tree = {name.removesuffix(".sls"): text for name, text in json.loads(files).items()}
    assert [chunk.tag for chunk in plan(tree).chunks] == tags
    assert warnings(tree) == ["the extension of 'a' in SLS 's' is not formed as a list of arguments"]


def test_a_module_added_with_a_trailing_colon():
    [message] = messages({"s": "include: [t]\nextend: {a: {cmd.run: }}\n", "t": BASE})
    assert message.startswith("ID 'a' in SLS 't' contains a short declaration (cmd.run) with a trailing colon.")


def test_extending_by_name_many_times_stays_cheap():
    count = 2000
    base = "".join(f"i{i}: {{test.nop: [{{name: /n{i}}}]}}\n" for i in range(count))
    extend = "".join(f"  /n{i}: {{test: [{{z: {i}}}]}}\n" for i in range(count))
    compiled = compiler({"s": f"include: [t]\nextend:\n{extend}", "t": base}).plan(["s"])
    assert all(chunk.args["z"] == int(chunk.id[1:]) for chunk in compiled.chunks)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("- mode: 1", "- mode: 2", "'mode' of 'file' in state 'a'"),
        ("- managed", "- absent", "the function of 'file' in state 'a'"),
        ("- mode: 1", "- mode: 1", ""),
        ("- mode: 1", "- user: x", ""),
        ("- require: [b]", "- require: [c]", ""),
    ],
)
def test_two_sls_that_extend_one_argument_otherwise_are_warned_of(first, second, told):
    tree = {
        "s": "include: [one, two]\na: {file.managed: []}\nb: test.nop\nc: test.nop\n",
        "one": f"include: [s]\nextend:\n  a:\n    file:\n      {first}\n",
        "two": f"include: [s]\nextend:\n  a:\n    file:\n      {second}\n",
    }
    found = [issue for issue in plan(tree).warnings if "extended" in issue.message]
    assert len(found) == bool(told)
    for issue in found:
        assert issue.message == f"{told} is extended in SLS 'one' and, otherwise, in SLS 'two': the latter counts"
        assert issue.file.endswith("two.sls")
