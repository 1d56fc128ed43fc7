from __future__ import annotations

import pytest
from plugin_harness import PluginHarness
from tables import beside

from asyncstate.errors import CommandExecutionError, RunCancelled

TABLES = beside(__file__)


def echo(text):
    return text


def arg(*args, **kwargs):
    return {"args": list(args), "kwargs": kwargs}


def named(name, fun="f", saltenv="s", *, only=None):
    return [name, fun, saltenv, only]


def raising(error):
    def function():
        raise error

    return function


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "cmd")
    harness.load("states", "module")
    harness.salt.update(
        {
            "test.echo": echo,
            "test.arg": arg,
            "test.named": named,
            "test.true": lambda: True,
            "test.false": lambda: False,
            "test.none": lambda: None,
            "test.failed": lambda: {"result": False, "comment": "went wrong"},
            "test.deep": lambda: {"a": {"b": {"retcode": 2}}},
            "test.said": lambda: {"comment": "said"},
            "test.broken": raising(CommandExecutionError("broken")),
            "test.cancelled": raising(RunCancelled("SIGINT")),
        }
    )
    return harness


@pytest.mark.parametrize(("call", "result", "comment", "changes"), TABLES["new notation"])
def test_new_notation(plugins, call, result, comment, changes):
    row = plugins.state("module.run", name="id", **call)
    assert row == {"name": list(call), "result": result, "comment": comment, "changes": changes}


@pytest.mark.parametrize(
    ("call", "result", "comment"),
    [
        ({"test.echo": ["x"]}, None, "Function test.echo to be executed."),
        ({"test.echo": ["x"], "test.true": []}, None, "FunctionTrue test.echo, test.true to be executed."),
        ({"test.echo": ["x"], "a.b": []}, False, "Unavailable function: a.b. Function test.echo to be executed."),
    ],
)
def test_new_notation_dry_run(plugins, call, result, comment):
    row = plugins.state("module.run", name="id", test=True, **call)
    assert row == {"name": list(call), "result": result, "comment": comment, "changes": {}}


def test_other_errors_are_left_to_the_runtime(plugins):
    with pytest.raises(CommandExecutionError):
        plugins.state("module.run", name="id", **{"test.broken": []})


@pytest.mark.parametrize(("arguments", "value"), TABLES["old notation"])
def test_old_notation(plugins, arguments, value):
    row = plugins.state("module.run", **arguments)
    assert row == {
        "name": arguments["name"],
        "result": True,
        "comment": f"Module function {arguments['name']} executed",
        "changes": {"ret": value},
    }


@pytest.mark.parametrize(("arguments", "comment"), TABLES["old notation bad arguments"])
def test_old_notation_bad_arguments(plugins, arguments, comment):
    row = plugins.state("module.run", **arguments)
    assert row == {"name": arguments["name"], "result": False, "comment": comment, "changes": {}}


@pytest.mark.parametrize(("function", "result"), [("test.false", False), ("test.deep", False), ("test.true", True)])
def test_old_notation_judges_the_value(plugins, function, result):
    assert plugins.state("module.run", name=function)["result"] is result


def test_old_notation_dry_run(plugins):
    row = plugins.state("module.run", name="test.broken", test=True)
    assert row == {
        "name": "test.broken",
        "result": None,
        "comment": "Module function test.broken is set to execute",
        "changes": {},
    }


@pytest.mark.parametrize("call", [{"name": "test.cancelled"}, {"name": "x", "test.cancelled": []}])
def test_a_cancelled_run_is_no_row(plugins, call):
    with pytest.raises(RunCancelled):
        plugins.state("module.run", **call)


@pytest.mark.parametrize("function", ["wait", "watch"])
def test_waiting_states_do_nothing(plugins, function):
    row = plugins.state(f"module.{function}", name="test.broken", m_name="x")
    assert row == {"name": "test.broken", "result": True, "comment": "", "changes": {}}


def test_mod_watch(plugins):
    row = plugins.state("module.mod_watch", name="test.echo", text="x", sfun="wait", __reqs__={})
    assert (row["result"], row["changes"]) == (True, {"ret": "x"})
    row = plugins.state("module.mod_watch", name="x", **{"test.echo": ["y"]}, sfun="run", __reqs__={})
    assert (row["result"], row["changes"]) == (True, {"test.echo": "y"})
