import json

import pytest
from record_answers import recorded
from trees import compiler, messages, mistakes, plan


def test_a_name_that_an_extension_took_away_is_no_longer_found():
    base = "a: {test.nop: [{name: /old}]}\n"
    assert (
        len(messages({"s": "include: [t]\nextend: {a: {test: [{name: n}]}, /old: {test: [{z: 1}]}}\n", "t": base})) == 1
    )


def test_an_extension_from_an_excluded_sls_must_make_sense():
    tree = {"s": "include: [u]\nexclude: [u]\n", "u": "extend: {ghost: {test: [{x: 9}]}}\n"}
    assert [issue.code for issue in mistakes(tree)] == ["E217"]


@pytest.mark.parametrize(("files", "tags"), recorded("tags").items())
def test_letters_and_keys_are_functions_as_in_salt_and_named(files, tags):
    tree = {name.removesuffix(".sls"): text for name, text in json.loads(files).items()}
    assert [chunk.tag for chunk in plan(tree).chunks] == tags
    assert [issue.code for issue in plan(tree).warnings] == ["W106"]


def test_extending_by_name_many_times_stays_cheap():
    count = 2000
    base = "".join(f"i{i}: {{test.nop: [{{name: /n{i}}}]}}\n" for i in range(count))
    extend = "".join(f"  /n{i}: {{test: [{{z: {i}}}]}}\n" for i in range(count))
    compiled = compiler({"s": f"include: [t]\nextend:\n{extend}", "t": base}).plan(["s"])
    assert all(chunk.args["z"] == int(chunk.id[1:]) for chunk in compiled.chunks)


@pytest.mark.parametrize(
    ("first", "second", "warned"),
    [
        ("- mode: 1", "- mode: 2", ["W105"]),
        ("- managed", "- absent", ["W105"]),
        ("- mode: 1", "- mode: 1", []),
        ("- mode: 1", "- user: x", []),
        ("- require: [b]", "- require: [c]", []),
    ],
)
def test_two_sls_that_extend_one_argument_otherwise_are_warned_of(first, second, warned):
    extension = "include: [s]\nextend:\n  a:\n    file:\n      {}\n"
    tree = {
        "s": "include: [one, two]\na: {file.managed: []}\nb: test.nop\nc: test.nop\n",
        "one": extension.format(first),
        "two": extension.format(second),
    }
    assert [issue.code for issue in plan(tree).warnings] == warned
