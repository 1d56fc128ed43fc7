import pytest

from asyncstate.sources.pillar_watch import WatchedPillar


@pytest.mark.parametrize("look", [lambda p: p["a"], lambda p: p.get("a"), lambda p: "a" in p], ids=["[]", "get", "in"])
def test_a_key_that_was_looked_at_is_used(look):
    pillar = WatchedPillar({"a": 1, "b": 2})
    assert pillar.unused() == ["a", "b"]
    assert look(pillar)
    assert pillar.unused() == ["b"]


@pytest.mark.parametrize("look", [list, WatchedPillar.keys, WatchedPillar.values, WatchedPillar.items])
def test_going_through_all_of_it_uses_all(look):
    pillar = WatchedPillar({"a": 1, "b": 2})
    assert len(list(look(pillar))) == 2
    assert pillar.unused() == []


def test_it_is_the_pillar():
    assert WatchedPillar({"a": 1}) == {"a": 1}
    assert WatchedPillar({}).get("a", 5) == 5
