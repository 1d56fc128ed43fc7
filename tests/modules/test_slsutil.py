from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError


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


def test_merge_all(plugins):
    assert plugins.call("slsutil.merge_all", [{"a": 1}, {"b": {"x": 1}}, {"a": 2, "b": {"y": 1}}]) == {
        "a": 2,
        "b": {"x": 1, "y": 1},
    }


def test_update_is_in_place(plugins):
    target = {"a": {"x": 1}}
    assert plugins.call("slsutil.update", target, {"a": {"y": 1}}) is target
    assert target == {"a": {"x": 1, "y": 1}}
    assert plugins.call("slsutil.update", target, {"a": {"z": 1}}, recursive_update=False) == {"a": {"z": 1}}
    with pytest.raises(TypeError):
        plugins.call("slsutil.update", [], {})


DATA = {"b": [1, {"x": None}], "a": {"k": True, "s": "te:xt"}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("json", DATA), '{"b": [1, {"x": null}], "a": {"k": true, "s": "te:xt"}}'),
        (("yaml", DATA), "a: {k: true, s: 'te:xt'}\nb:\n- 1\n- {x: null}"),
        (("yaml", "x"), "x"),
    ],
)
def test_serialize(plugins, arguments, expected):
    assert plugins.call("slsutil.serialize", *arguments) == expected
    assert plugins.call("slsutil.deserialize", arguments[0], expected) == arguments[1]


def test_serialize_options(plugins):
    assert plugins.call("slsutil.serialize", "yaml", {"a": {"b": 1}}, default_flow_style=False) == "a:\n  b: 1"
    assert plugins.call("slsutil.serialize", "json", {"b": 1, "a": 2}, sort_keys=True) == '{"a": 2, "b": 1}'


def test_deserialize_toml(plugins):
    assert plugins.call("slsutil.deserialize", "toml", "a = 1\n[b]\nc = 'x'\n") == {"a": 1, "b": {"c": "x"}}


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


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, InvocationError),
        ({"path": "/x", "string": "y"}, InvocationError),
    ],
)
def test_renderer_bad_arguments(plugins, arguments, error):
    with pytest.raises(error):
        plugins.call("slsutil.renderer", **arguments)


def test_renderer_of_a_file_the_tree_does_not_have(plugins):
    assert plugins.call("slsutil.renderer", "salt://no") == {}
    assert plugins.call("slsutil.renderer", "/no/such/file") == {}


def test_configparser(plugins):
    text = plugins.call("slsutil.serialize", "configparser", {"section": {"key": 1}})
    assert text == "[section]\nkey = 1\n\n"
    assert plugins.call("slsutil.deserialize", "configparser", text) == {"section": {"key": "1"}}
    with pytest.raises(CommandExecutionError):
        plugins.call("slsutil.serialize", "configparser", {"no": "section"})
    with pytest.raises(CommandExecutionError):
        plugins.call("slsutil.deserialize", "configparser", "key = 1")


def test_banner(plugins):
    assert plugins.call("slsutil.banner", width=24, title="T", text="some words here").splitlines() == [
        "########################",
        "#                      #",
        "#          T           #",
        "#                      #",
        "# some words here      #",
        "########################",
    ]
    assert plugins.call("slsutil.banner", blockstart="/*", blockend="*/", newline=True).endswith("*/\n")
    with pytest.raises(InvocationError):
        plugins.call("slsutil.banner", width=3)


def test_boolstr(plugins):
    assert plugins.call("slsutil.boolstr", 1) == "true"
    assert plugins.call("slsutil.boolstr", 0, false="off") == "off"


def test_paths_of_the_tree(plugins):
    plugins.salt_file("a/b/f.txt", "")
    plugins.salt_file("top.txt", "")
    assert plugins.call("slsutil.file_exists", "a/b/f.txt") is True
    assert plugins.call("slsutil.dir_exists", "a/b") is True
    assert plugins.call("slsutil.path_exists", "a/c") is False
    assert plugins.call("slsutil.findup", "a/b", ["none", "top.txt"]) == "top.txt"
    assert plugins.call("slsutil.findup", "a/b", "f.txt") == "a/b/f.txt"
    with pytest.raises(CommandExecutionError):
        plugins.call("slsutil.findup", "a/b", "gone")
    with pytest.raises(InvocationError):
        plugins.call("slsutil.findup", "gone", "f.txt")
    with pytest.raises(InvocationError):
        plugins.call("slsutil.findup", "a", {"f.txt": 1})
