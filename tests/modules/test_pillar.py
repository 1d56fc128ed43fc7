from __future__ import annotations

import copy

import jinja2
import pytest
from plugin_harness import PluginHarness

PILLAR = {"p": {"q": [1, 2], "r": "v"}, "ports": {80: "web"}, "list": [{"a": 1}, {"b": 2}], "none": None}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.pillar = copy.deepcopy(PILLAR)
    harness.load("modules", "pillar")
    return harness


def test_an_undefined_default_is_an_error_even_where_it_is_not_needed(plugins):
    undefined = jinja2.StrictUndefined(name="nosuch")
    with pytest.raises(jinja2.UndefinedError, match="'nosuch' is undefined"):
        plugins.call("pillar.get", "p:r", undefined)
    assert plugins.call("pillar.get", "p:r", jinja2.Undefined(name="nosuch")) == "v"


def test_get_can_insist(plugins):
    plugins.opts["pillar_raise_on_missing"] = True
    with pytest.raises(KeyError, match="Pillar key not found: gone"):
        plugins.call("pillar.get", "gone")
    assert plugins.call("pillar.get", "gone", "default") == "default"


def test_what_a_template_does_to_a_value_stays_there(plugins):
    plugins.call("pillar.get", "p")["q"].append(3)
    plugins.call("pillar.items")["p"]["new"] = 1
    plugins.call("pillar.raw", "p")["new"] = 1
    assert plugins.pillar == PILLAR


@pytest.mark.parametrize(
    ("key", "default", "options", "expected"),
    [
        ("p", {"q": [9], "z": 1}, {}, {"q": [1, 2], "r": "v", "z": 1}),
        ("p", {"q": [9]}, {"merge_nested_lists": True}, {"q": [9, 1, 2], "r": "v"}),
        ("gone", {"z": 1}, {}, {"z": 1}),
        ("p:q", [2, 7], {}, [2, 7, 1]),
        ("gone", [7], {}, [7]),
        ("p:q", {"z": 1}, {}, [1, 2]),
        ("p", [1], {}, PILLAR["p"]),
        ("p:r", "text", {}, "v"),
    ],
)
def test_get_merged(plugins, key, default, options, expected):
    before = copy.deepcopy(default)
    assert plugins.call("pillar.get", key, default, merge=True, **options) == expected
    assert default == before


def test_other_readers(plugins):
    assert plugins.call("pillar.item", "p:r", "gone") == {"p:r": "v", "gone": ""}
    assert plugins.call("pillar.item", "gone", default=3) == {"gone": 3}
    assert plugins.call("pillar.items") == PILLAR
    assert plugins.call("pillar.items", "p:r") == {"p:r": "v"}
    assert plugins.call("pillar.items", pillar={"p": {"r": "w"}})["p"] == {"q": [1, 2], "r": "w"}
    assert plugins.call("pillar.data") == PILLAR
    assert plugins.call("pillar.ls") == list(PILLAR)
    assert plugins.call("pillar.raw") == PILLAR
    assert plugins.call("pillar.raw", "gone") == {}
    assert plugins.call("pillar.obfuscate", "p:q", "p:r") == {"p:q": ["<int>", "<int>"], "p:r": "<str>"}
    assert plugins.call("pillar.keys", "p") == ["q", "r"]


@pytest.mark.parametrize(("key", "error"), [("gone", KeyError), ("p:r", ValueError)])
def test_keys_of_no_mapping(plugins, key, error):
    with pytest.raises(error):
        plugins.call("pillar.keys", key)


def test_an_external_pillar_is_not_run_and_that_is_logged(plugins, caplog):
    plugins.pillar = {"a": 1}
    assert plugins.call("pillar.ext", {"git": ["main"]}, pillar={"b": 2}) == {"a": 1, "b": 2}
    assert "External pillars are not run: git" in caplog.text
