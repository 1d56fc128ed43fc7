from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import InvocationError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "match")
    harness.opts["id"] = "web1"
    harness.pillar["role"] = "web"
    harness.grains.update(ipv4=["10.0.0.5"], ipv6=[])
    return harness


@pytest.mark.parametrize(
    ("function", "matching", "other"),
    [
        ("compound", "G@os:Deb* and web*", "G@os:Fedora or db*"),
        ("glob", "web*", "db*"),
        ("pcre", "web[0-9]", "db"),
        ("list", "db1,web1", "db1"),
        ("grain", "os:Deb*", "os:Fedora"),
        ("grain_pcre", "os:Deb.+", "os:x"),
        ("pillar", "role:web", "role:db"),
        ("pillar_pcre", "role:w.b", "role:d"),
        ("ipcidr", "10.0.0.0/8", "192.168.0.0/16"),
    ],
)
def test_matching(plugins, function, matching, other):
    assert plugins.call(f"match.{function}", matching) is True
    assert plugins.call(f"match.{function}", other) is False


@pytest.mark.parametrize("function", ["compound", "glob", "pcre", "list"])
def test_another_machine(plugins, function):
    assert plugins.call(f"match.{function}", "db1", minion_id="db1") is True


def test_data_never_matches(plugins):
    assert plugins.call("match.data", "a:b") is False


def test_filter_by(plugins):
    table = {"db*": 1, "web*": {"a": 1}, "default": 3}
    assert plugins.call("match.filter_by", table) == {"a": 1}
    assert plugins.call("match.filter_by", table, merge={"b": 2}) == {"a": 1, "b": 2}
    assert plugins.call("match.filter_by", table, minion_id="x") == 3
    assert plugins.call("match.filter_by", {"os:Deb*": 1}, tgt_type="grain") == 1
    assert plugins.call("match.filter_by", {"web*": None}, merge={"b": 2}) == {"b": 2}
    assert table["web*"] == {"a": 1}
    with pytest.raises(InvocationError):
        plugins.call("match.filter_by", table, merge=[1])


def test_search_by(plugins):
    assert plugins.call("match.search_by", {"a": ["web1", "web*"], "b": ["db*"], "c": ["web1"]}) == ["a", "a", "c"]
    assert plugins.call("match.search_by", {"b": ["db*"]}) is None


@pytest.mark.parametrize(
    ("arguments", "options", "result"),
    [
        (("web*", "a", "b"), {}, "a"),
        (("db*", "a", "b"), {}, "b"),
        (("db*", "a", "G@os:Debian", "b", "c"), {}, "b"),
        ((False, "a", True, "b", "c"), {}, "b"),
        (("only this",), {}, "only this"),
        (("role:web", "a", "b"), {"tgt_type": "pillar"}, "a"),
        (("db*", "a", "b"), {"minion_id": "db1"}, "a"),
        ((True, {"x": [1]}, {}), {"merge": {"x": [2], "y": 3}}, {"x": [2], "y": 3}),
        ((True, {"x": [1]}, {}), {"merge": {"x": [2]}, "merge_lists": True}, {"x": [1, 2]}),
        ((True, None, {}), {"merge": {"y": 3}}, {"y": 3}),
        ((False, {"x": 1}, {"z": 1}), {"merge": {"y": 3}}, {"z": 1}),
    ],
)
def test_ifelse(plugins, arguments, options, result):
    assert plugins.call("match.ifelse", *arguments, **options) == result


def test_ifelse_needs_a_last_word(plugins):
    with pytest.raises(InvocationError, match="odd number"):
        plugins.call("match.ifelse", "web*", "a")
    with pytest.raises(InvocationError, match="must be a dictionary"):
        plugins.call("match.ifelse", True, {}, {}, merge=[1])
