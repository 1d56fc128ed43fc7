from __future__ import annotations

import pytest
from fake_services import FakeFunction
from plugin_harness import PluginHarness


def first(name, other=1, *args, only=None, **kwargs):
    pass


def bare():
    pass


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "sys")
    for kind, names in (("modules", ("b.one", "a.two", "a.one")), ("states", ("s.run",))):
        for name in names:
            harness.services.plugins(kind).functions[name] = FakeFunction(name, first, f"doc of {name}")
    return harness


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), ["a.one", "a.two", "b.one"]),
        (("a",), ["a.one", "a.two"]),
        (("a.two", "b"), ["a.two", "b.one"]),
        (("*.one",), ["a.one", "b.one"]),
        (("c",), []),
    ],
)
def test_list_functions(plugins, patterns, expected):
    assert plugins.call("sys.list_functions", *patterns) == expected
    assert plugins.call("sys.doc", *patterns) == {name: f"doc of {name}" for name in expected}


def test_the_rest(plugins):
    assert plugins.call("sys.list_modules") == ["a", "b"]
    assert plugins.call("sys.list_state_functions") == ["s.run"]
    assert plugins.call("sys.list_state_modules", "s*") == ["s"]
    assert plugins.call("sys.list_returners") == plugins.call("sys.list_runner_functions", "jobs.*") == []
    assert plugins.call("sys.state_doc", "s.run") == {"s.run": "doc of s.run"}
    expected = {"args": ["name", "other", "only"], "defaults": [1, None], "varargs": True, "kwargs": True}
    assert plugins.call("sys.argspec", "a.one") == {"a.one": expected}
    assert plugins.call("sys.state_argspec") == {"s.run": expected}
    assert plugins.call("sys.reload_modules") is True
    assert plugins.services.calls == [("reload",)]


def test_a_function_without_arguments(plugins):
    plugins.services.plugins("states").functions["s.run"] = FakeFunction("s.run", bare, "")
    expected = {"args": None, "defaults": None, "varargs": None, "kwargs": None}
    assert plugins.call("sys.state_argspec", "s.run") == {"s.run": expected}
    assert plugins.call("sys.state_schema", "s.run")[0]["properties"] == {}


def test_renderers(plugins):
    plugins.services.renderers["mako"] = None
    assert plugins.call("sys.list_renderers") == ["jinja", "mako"]
    assert plugins.call("sys.list_renderers", "j*") == ["jinja"]
    assert plugins.call("sys.renderer_doc", "mako", "no") == {"mako": "doc of mako"}


def test_no_returners_and_no_runners(plugins):
    for function in ("returner_doc", "returner_argspec", "runner_doc", "runner_argspec"):
        assert plugins.call(f"sys.{function}", "local") == {}


def test_the_schema_of_a_state_function(plugins):
    assert plugins.call("sys.state_schema") == []
    (schema,) = plugins.call("sys.state_schema", "s.run")
    assert (schema["title"], schema["x-ordering"]) == ("s.run", ["name", "other", "only"])
    kinds = schema["properties"]["other"]["oneOf"]
    assert [kind["type"] for kind in kinds] == ["boolean", "integer", "number", "string"]
    assert kinds[0]["default"] == 1
    assert "default" not in schema["properties"]["name"]["oneOf"][0]
