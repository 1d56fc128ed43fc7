import pytest
from trees import FakeStates, plan

from asyncstate.compile.effects.slots import slots_read

ASKED = {"environ:process", "grains"}
SLOTS = {
    "no slot": ({"name": "/x", "contents": ["a", {"b": 1}], "n": 5}, None, ""),
    "a file": ({"contents": "__slot__:salt:file.read(/a/b)"}, {"path:/a/b/**"}, ""),
    "a file in quotes": ({"contents": "__slot__:salt:file.read('/a/b', binary=False)"}, {"path:/a/b/**"}, ""),
    "a keyword": ({"contents": "__slot__:salt:file.read(path=/a/)"}, {"path:/a/**"}, ""),
    "a command": ({"contents": '__slot__:salt:cmd.run("cat /a /b")'}, {"path:/a/**", "path:/b/**"}, ""),
    "in a list": ({"text": ["a", "__slot__:salt:file.read(/a)"]}, {"path:/a/**"}, ""),
    "in a mapping": ({"context": {"a": "__slot__:salt:file.read(/a)"}}, {"path:/a/**"}, ""),
    "in a list of mappings": ({"env": [{"A": "__slot__:salt:file.read(/a)"}]}, {"path:/a/**"}, ""),
    "a grain": ({"contents": "__slot__:salt:grains.get(a)"}, set(), ""),
    "nobody knows": (
        {"contents": "__slot__:salt:own.act(a)"},
        set(),
        "a slot calls own.act, and nobody can tell what that reads",
    ),
}


@pytest.mark.parametrize("case", SLOTS)
def test_what_slots_read(case):
    args, paths, unknown = SLOTS[case]
    read = slots_read(args)
    if paths is None:
        assert read is None
    else:
        assert (set(read.reads), read.unknown) == (paths | ASKED, unknown)


def test_a_state_with_a_slot_that_nobody_knows_has_unknown_effects():
    states = FakeStates(footprints={"file": lambda low: {"writes": ["path:/x"]}})
    tree = "a: {file.managed: [{contents: '__slot__:salt:own.act(a)'}]}\nb: {file.managed: [{contents: a}]}\n"
    compiled = plan(tree, states=states, implicit_order="footprint")
    assert compiled.unknown == {0: "a slot calls own.act, and nobody can tell what that reads"}
