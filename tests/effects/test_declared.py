"""Footprints as modules and states declare them."""

from itertools import repeat

import pytest
from tables import rows

from asyncstate.effects.declared import Footprint

MOST = 100_000


class Endless(list):
    def __iter__(self):
        return repeat("path:/x")


class EndlessLinks(dict):
    def items(self):
        return repeat(("/a", "/b"))


@rows(
    ("given", "names"),
    [
        ({"writes": "path:/x"}, ("path:/x",)),
        ({"writes": ["path:/x", 5]}, ("path:/x", "5")),
        ({"writes": ("path:/x",)}, ("path:/x",)),
        ({"writes": {"path:/x"}}, ("path:/x",)),
        ({"writes": ""}, ()),
        ({"writes": None}, ()),
        ({"writes": 5}, ()),
        ({"writes": {"path:/x": 1}}, ()),
        ({"writes": ["path:/x"] * MOST}, ("path:/x",) * MOST),
    ],
)
def test_resources_are_names_in_any_collection(given, names):
    assert Footprint.of(given).writes == names


@rows(
    ("given", "pairs"),
    [
        ({"/a": "/b", "/c": 5}, (("/a", "/b"), ("/c", "5"))),
        ({"/a": ["/b", "/c"], "/d": ("/e",)}, (("/a", "/b"), ("/a", "/c"), ("/d", "/e"))),
        ({}, ()),
        (None, ()),
        (["/a"], ()),
        ({"/a": ["/b"] * MOST}, (("/a", "/b"),) * MOST),
    ],
)
def test_links_have_one_target_or_several(given, pairs):
    assert Footprint.of({"links": given}).links == pairs
    assert Footprint.of({"copies": given}).copies == pairs


@rows("given", [{"reads": Endless(["x"])}, {"makes": Endless(["x"])}, {"links": {"/a": Endless(["x"])}}, {"copies": EndlessLinks(a=1)}])  # fmt: skip
def test_what_has_no_end_is_an_error(given):
    with pytest.raises(ValueError, match="it names more than 100,000 resources"):
        Footprint.of(given)


def test_entries_may_turn_out_to_be_others_of_their_file():
    assert Footprint(writes=("path:/x#a#b", "path:/y")).with_wholes().writes == ("path:/x#a#b", "path:/y", "path:/x")


def test_what_is_made_is_touched_under_its_plain_name():
    assert Footprint(("a",), ("b",), ("path:/c?0700:u:g",)).everything() == ("a", "b", "path:/c")
