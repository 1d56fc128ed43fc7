"""Merging: nothing but `update` changes its arguments, and the second mapping wins."""

import copy
import logging
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.data.merging import (
    filter_by,
    fresh,
    independent,
    merge,
    merged,
    merged_deeply,
    overlaid,
    settled,
    update,
)
from asyncstate.errors import InvocationError

KEYS = st.sampled_from("abc")
VALUES = st.recursive(
    st.integers(0, 3),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)
MAPPINGS = st.dictionaries(KEYS, VALUES)
STRATEGIES = ("smart", "recurse", "none", "overwrite", "aggregate", "list", "no_such_one")


@given(MAPPINGS, MAPPINGS, st.sampled_from(STRATEGIES), st.booleans())
def test_merging_leaves_its_arguments_alone(first, second, strategy, merge_lists):
    before = copy.deepcopy((first, second))
    merge(first, second, strategy, merge_lists=merge_lists)
    assert (first, second) == before


@given(MAPPINGS, MAPPINGS)
def test_every_key_of_the_second_wins_where_not_both_are_mappings(first, second):
    merged = merge(first, second, "recurse")
    assert merged.keys() == first.keys() | second.keys()
    for key, value in second.items():
        if not isinstance(value, dict) or not isinstance(first.get(key), dict):
            assert merged[key] == value


@given(MAPPINGS, MAPPINGS)
def test_merged_lists_lack_nothing(first, second):
    merged = update(copy.deepcopy(first), second, merge_lists=True)
    for key, value in second.items():
        if isinstance(value, list) and isinstance(first.get(key), list):
            assert all(item in merged[key] for item in [*first[key], *value])


@given(VALUES)
def test_a_fresh_copy_is_equal_and_shares_nothing(value):
    made = fresh(value)
    assert made == value
    assert not containers(made) & containers(value)


def containers(value):
    if not isinstance(value, (dict, list)):
        return set()
    return {id(value)}.union(*(containers(item) for item in (value.values() if isinstance(value, dict) else value)))


@pytest.mark.parametrize(
    ("strategy", "renderer", "meant"),
    [
        ("smart", "yaml", "recurse"),
        ("smart", "jinja|yamlex", "aggregate"),
        ("smart", "yamlex_x", "aggregate"),
        ("list", "yamlex", "list"),
    ],
)
def test_smart_chooses_by_the_renderer(strategy, renderer, meant):
    assert settled(strategy, renderer) == meant


def test_an_unknown_strategy_is_logged(caplog):
    with caplog.at_level(logging.WARNING):
        assert settled("odd", "yaml") == "none"
    assert "Unknown merging strategy 'odd', fallback to recurse" in caplog.text


def test_a_lookup_is_laid_over_its_base_and_changes_no_entry():
    lookup = {"Deb*": {"pkg": {"name": "apache2"}}, "default": {"pkg": {"name": "httpd"}}, "common": {"pkg": {"v": 1}}}
    before = copy.deepcopy(lookup)
    assert filter_by(lookup, "Debian", {"pkg": {"x": 2}}, base="common") == {"pkg": {"name": "apache2", "v": 1, "x": 2}}
    assert filter_by(lookup, ["no", "Debian"]) == {"pkg": {"name": "apache2"}}
    assert filter_by(lookup, "Arch") == {"pkg": {"name": "httpd"}}
    assert lookup == before


@pytest.mark.parametrize(
    "call", [lambda: overlaid({}, ["x"]), lambda: filter_by({"default": 1, "b": {}}, "x", base="b")]
)
def test_what_cannot_be_merged_is_refused(call):
    with pytest.raises(InvocationError, match="must"):
        call()


FIRST = {"m": {"a": 1, "b": {"x": 1}}, "l": [1, 2], "k": 1}
SECOND = {"m": {"b": {"y": 2}}, "l": [2, 3], "n": 4}


@pytest.mark.parametrize(
    ("strategy", "renderer", "merge_lists", "m", "items"),
    [
        ("smart", "yaml", False, {"a": 1, "b": {"x": 1, "y": 2}}, [2, 3]),
        ("smart", "yamlex", False, {"b": {"y": 2}}, [2, 3]),
        ("recurse", "yaml", True, {"a": 1, "b": {"x": 1, "y": 2}}, [1, 2, 3]),
        ("none", "yaml", True, {"a": 1, "b": {"x": 1, "y": 2}}, [2, 3]),
        ("unknown", "yaml", True, {"a": 1, "b": {"x": 1, "y": 2}}, [2, 3]),
        ("aggregate", "yaml", False, {"b": {"y": 2}}, [2, 3]),
        ("overwrite", "yaml", False, {"b": {"y": 2}}, [2, 3]),
        ("list", "yaml", False, [FIRST["m"], SECOND["m"]], [[1, 2], [2, 3]]),
    ],
)
def test_merge_strategies(strategy, renderer, merge_lists, m, items):
    assert merged(FIRST, SECOND, strategy, f"jinja|{renderer}", merge_lists) == {"m": m, "l": items, "k": 1, "n": 4}
    assert FIRST == {"m": {"a": 1, "b": {"x": 1}}, "l": [1, 2], "k": 1}, "nothing changes in place"


def test_a_list_and_a_mapping_do_not_mix():
    assert merged_deeply({"k": [1]}, {"k": {"a": 1}}, merge_lists=True) == {"k": {"a": 1}}


def test_an_independent_copy_shares_nothing_and_keeps_order_and_aliases():
    shared = [1]
    data = {"o": OrderedDict(z=1, a=shared), "again": shared, "text": "x", "deep": [{"x": {1}}]}
    copy = independent(data)
    assert copy == data
    assert type(copy["o"]) is OrderedDict
    assert copy["again"] is copy["o"]["a"]
    copy["again"].append(2)
    copy["deep"][0]["y"] = 1
    assert data["again"] == [1]
    assert data["deep"] == [{"x": {1}}]


def test_an_independent_copy_of_data_that_contains_itself():
    ring = {"list": []}
    ring["list"].append(ring)
    copy = independent(ring)
    assert copy is not ring
    assert copy["list"][0] is copy
