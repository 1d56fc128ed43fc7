import copy
import json

import pytest
import yaml

from asyncstate.sources.pillar_watch import WHICH_KEYS, WatchedPillar


@pytest.mark.parametrize("look", [lambda p: p["a"], lambda p: p.get("a"), lambda p: "a" in p], ids=["[]", "get", "in"])
def test_a_key_that_was_looked_at_is_used(look):
    pillar = WatchedPillar({"a": 1, "b": 2})
    assert pillar.unused() == ["a", "b"]
    assert look(pillar)
    assert pillar.unused() == ["b"]


WHOLE = [list, reversed, copy.deepcopy, json.dumps, yaml.dump]
WHOLE += [WatchedPillar.keys, WatchedPillar.values, WatchedPillar.items, WatchedPillar.copy]
WHOLE += [lambda pillar: pillar | {}, lambda pillar: {} | pillar, lambda pillar: {**pillar}]


@pytest.mark.parametrize("look", WHOLE)
def test_going_through_all_of_it_uses_all(look):
    pillar = WatchedPillar({"a": 1, "b": 2})
    assert look(pillar)
    assert pillar.unused() == []


def test_it_is_the_pillar():
    assert WatchedPillar({"a": 1}) == {"a": 1}
    assert WatchedPillar({}).get("a", 5) == 5


def test_a_count_of_the_keys_is_no_use_of_their_values():
    pillar = WatchedPillar({"a": 1})
    pillar.see(["c"])
    with pillar.noted() as keys:
        assert pillar
        assert len(pillar) == 1
    assert keys == {WHICH_KEYS}
    assert pillar.unused() == ["a"]


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ({"a": 1, "b": {"c": 2}}, set()),
        ({"a": 2, "b": {"c": 2}}, {"a"}),
        ({"a": 1, "b": {"c": 3}}, {"b"}),
        ({"a": 1}, {"b", WHICH_KEYS}),
        ({"a": 1, "b": {"c": 2}, "d": None}, {"d", WHICH_KEYS}),
        ({"b": {"c": 2}, "a": 1}, {WHICH_KEYS}),
    ],
)
def test_what_changed_since(before, changed):
    pillar = WatchedPillar({"a": 1, "b": {"c": 2}})
    assert pillar.changed_since(before) == pillar.changed_since(WatchedPillar(before)) == changed
    assert pillar.unused() == ["a", "b"]
