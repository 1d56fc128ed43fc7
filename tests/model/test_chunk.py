import functools

import pytest

from asyncstate.model.chunk import Lines, LowChunk, fresh, texts_in


def chunk(**changes):
    fields = {"args": {"x": [1, {"y": [2]}], "require": [{"test": "b"}]}, "included_from": ("t",)} | changes
    return LowChunk(3, "test", "nop", "a", "n", "s", "base", 10000, **fields)


def test_low_data_is_whole_and_the_callers_own():
    one = chunk()
    low = one.as_low()
    assert low == {
        "x": [1, {"y": [2]}],
        "require": [{"test": "b"}],
        "state": "test",
        "name": "n",
        "__sls__": "s",
        "__env__": "base",
        "__sls_included_from__": ["t"],
        "__id__": "a",
        "fun": "nop",
        "order": 10000,
    }
    low["x"][1]["y"].append(3)
    low["require"].clear()
    assert one.as_low()["x"] == [1, {"y": [2]}]
    assert one.as_low()["require"] == [{"test": "b"}]
    assert "__sls_included_from__" not in chunk(included_from=()).as_low()


def test_tag_function_and_place():
    assert chunk().tag == "test_|-a_|-n_|-nop"
    assert chunk().function == "test.nop"
    assert chunk().place == "s:a"
    assert chunk(file="/s.sls").place == "s:a (/s.sls)"
    assert chunk(file="/s.sls", declared=4).place == "s:a (/s.sls:4)"
    assert chunk(declared=4).place == "s:a"


def test_lines_are_looked_up_when_asked_for_and_make_no_difference():
    asked = []
    lines = Lines(lambda id_, state: asked.append((id_, state)) or 7)
    one = chunk(declared=lines)
    assert asked == []
    assert one.line == 7
    assert one.as_listener().place == "s:listener_a"
    assert one.as_listener().line == 7
    assert asked == [("a", "test")] * 3
    assert lines.of(None) == lines.of(["a"]) == 0
    assert one == chunk(declared=Lines(lambda id_, state: 8))
    assert hash(lines) == hash(Lines(lambda id_, state: 8))
    assert lines != 7


def test_fresh_copies_containers_only():
    value = object()
    original = {"a": [value, {"b": value}], "c": (1, [2])}
    copied = fresh(original)
    assert copied == original
    assert copied["a"] is not original["a"]
    assert copied["a"][0] is value
    assert copied["c"] is original["c"]


DEEP = functools.reduce(lambda inside, _: [inside], range(10_000), "deep")


@pytest.mark.parametrize(
    ("value", "texts", "with_keys"),
    [
        ("a", ["a"], ["a"]),
        (5, [], []),
        ({"a": ["b", {"c": ("d", None)}], 5: "e"}, ["b", "d", "e"], ["a", "b", "c", "d", "e"]),
        ([["a"], {}, [], "b"], ["a", "b"], ["a", "b"]),
        (DEEP, ["deep"], ["deep"]),
    ],
)
def test_texts_come_in_their_order_from_any_depth(value, texts, with_keys):
    assert list(texts_in(value)) == texts
    assert list(texts_in(value, keys=True)) == with_keys
