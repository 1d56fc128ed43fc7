"""Colon paths: one meaning in templates, targets, ``pillar.get`` and the salt namespace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import beside

from asyncstate.data.paths import MISSING, ensure_dict_key, set_dict_key_value, subdict_match, traverse

TABLES = beside(__file__)

GRAINS = {
    "os": "Debian",
    "roles": ["web", "db", {"cache": "redis"}],
    "deep": {"a": {"b": "c:d", "list": ["x", "y"]}, "n": {1: "one", None: "nothing", 1.5: "half"}},
}


@pytest.mark.parametrize(
    ("key", "expected"),
    TABLES["traverse"],
)
def test_traverse(key, expected):
    assert traverse(GRAINS, key) == expected


KEYS = st.text("abc", min_size=1, max_size=2)
NESTED = st.recursive(st.integers(), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=10)


def test_steps_come_from_any_iterable():
    data = {"a": [{"b": 1}]}
    assert traverse(data, ("a", "b")) == 1
    assert traverse(data, dict.fromkeys(["a", "b"]).keys()) == 1
    assert traverse(data, (step for step in ["a", "c"]), "default") == "default"


@given(st.dictionaries(KEYS, NESTED), st.lists(KEYS, min_size=1, max_size=4), st.sampled_from([":", "/", "::"]))
def test_what_is_set_at_a_path_is_found_there(data, steps, delimiter):
    path = delimiter.join(steps)
    assert traverse(set_dict_key_value(data, path, "it", delimiter), path, delimiter=delimiter) == "it"


@given(st.dictionaries(KEYS, NESTED), st.lists(KEYS, min_size=1, max_size=4))
def test_a_path_that_was_made_leads_to_a_mapping(data, steps):
    path = ":".join(steps)
    assert isinstance(traverse(ensure_dict_key(data, path), path), dict)


@given(NESTED, st.text("ab1:*", max_size=5))
def test_a_path_that_leads_nowhere_gives_the_default(data, key):
    found = traverse(data, key, MISSING)
    assert found is not MISSING or traverse(data, key, "default") == "default"


@given(
    st.dictionaries(st.text("abc:*[", max_size=3), st.text("abc:*[", max_size=3), max_size=3),
    st.text("abc:*[", max_size=8),
)
def test_any_expression_gives_a_verdict(data, expr):
    assert subdict_match(data, expr) in {True, False}
