from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "slsutil")
    harness.load("modules", "cp")
    return harness


A = {"a": {"x": 1, "l": [1, 2]}, "l": [1, 2], "s": 1, "only": 1}
B = {"a": {"y": 2, "l": [2, 3]}, "l": [2, 3], "s": 2, "new": {}}
OVERWRITTEN = {"a": {"y": 2, "l": [2, 3]}, "l": [2, 3], "s": 2, "only": 1, "new": {}}
MERGED = {"a": {"x": 1, "l": [2, 3], "y": 2}, "l": [2, 3], "s": 2, "only": 1, "new": {}}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, MERGED),
        ({"strategy": "recurse"}, MERGED),
        ({"strategy": "none"}, MERGED),
        ({"strategy": "unheard of"}, MERGED),
        ({"merge_lists": True}, {**MERGED, "a": {"x": 1, "l": [1, 2, 3], "y": 2}, "l": [1, 2, 3]}),
        ({"strategy": "overwrite"}, OVERWRITTEN),
        ({"strategy": "aggregate"}, OVERWRITTEN),
        ({"renderer": "jinja|yamlex"}, OVERWRITTEN),
        (
            {"strategy": "list"},
            {"a": [A["a"], B["a"]], "l": [[1, 2], [2, 3]], "s": [1, 2], "only": 1},
        ),
    ],
)
def test_merge(plugins, options, expected):
    before = repr((A, B))
    assert plugins.call("slsutil.merge", A, B, **options) == expected
    assert repr((A, B)) == before


def test_update_is_in_place(plugins):
    target = {"a": {"x": 1}}
    assert plugins.call("slsutil.update", target, {"a": {"y": 1}}) is target
    assert target == {"a": {"x": 1, "y": 1}}
    assert plugins.call("slsutil.update", target, {"a": {"z": 1}}, recursive_update=False) == {"a": {"z": 1}}
    with pytest.raises(TypeError):
        plugins.call("slsutil.update", [], {})


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("serialize", ("nonsense", {}), "Serializer 'nonsense' not found."),
        ("serialize", ("toml", {}), "Serializer 'toml' does not implement serialize."),
        ("serialize", ("json", {1: object()}), "Cannot serialize to json"),
        ("deserialize", ("json", "{"), "Cannot deserialize json"),
        ("deserialize", ("yaml", "a: ["), "Cannot deserialize yaml"),
    ],
)
def test_bad_serializing(plugins, function, arguments, message):
    with pytest.raises(CommandExecutionError, match=message):
        plugins.call(f"slsutil.{function}", *arguments)


def test_renderer(plugins):
    path = plugins.salt_file("t.yaml", "a: {{ who }}")
    assert plugins.call("slsutil.renderer", "salt://t.yaml", default_renderer="yaml", who="me") == {"rendered": True}
    plugins.call("slsutil.renderer", string="#!json\n{}", tpldir="mine")
    place = {"tplpath": ":string:", "tplfile": ":string:", "tpldir": "mine", "tpldot": ""}
    assert plugins.services.calls == [
        ("render_data", "a: {{ who }}", "yaml", {"who": "me"}, "base", str(path)),
        ("render_data", "#!json\n{}", "jinja|yaml", place, "base", ""),
    ]
