from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, RunCancelled


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


@pytest.mark.parametrize(
    ("call", "result", "comment", "changes"),
    [
        ({"test.echo": [{"text": "spoken"}]}, True, "test.echo: spoken", {"test.echo": "spoken"}),
        ({"test.echo": ["spoken"]}, True, "test.echo: spoken", {"test.echo": "spoken"}),
        ({"test.echo": "spoken"}, True, "test.echo: spoken", {"test.echo": "spoken"}),
        ({"test.echo": {"text": "spoken"}}, True, "test.echo: spoken", {"test.echo": "spoken"}),
        (
            {"test.true": [], "test.arg": ["a", {"k": "v"}]},
            True,
            "test.true: True, test.arg: Success",
            {"test.true": True, "test.arg": {"args": ["a"], "kwargs": {"k": "v"}}},
        ),
        ({"test.none": None}, True, "test.none: None", {"test.none": None}),
        ({"test.said": []}, True, "test.said: said", {"test.said": {"comment": "said"}}),
        (
            {"test.true:1": [], "test.true:2": []},
            True,
            "test.true:1: True, test.true:2: True",
            {"test.true:1": True, "test.true:2": True},
        ),
        ({"test.false": []}, False, "'test.false': False", {}),
        (
            {"test.true": [], "test.failed": []},
            False,
            "'test.failed' failed: went wrong, test.true: True",
            {"test.true": True},
        ),
        ({"test.deep": []}, False, "'test.deep' failed: (error message N/A)", {}),
        ({"test.echo": []}, False, "'test.echo' failed: Missing arguments: text", {}),
        (
            {"test.echo": ["a", "b"]},
            False,
            "'test.echo' failed: echo() takes 1 positional argument but 2 were given",
            {},
        ),
        ({"nosuch.function": []}, False, "Unavailable function: nosuch.function.", {}),
        ({"a.b": [], "c.d": []}, False, "Unavailable functionTrue: a.b, c.d.", {}),
    ],
)
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


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"name": "test.echo", "text": "spoken"}, "spoken"),
        ({"name": "test.arg", "args": ["a"], "kwargs": {"k": "v"}}, {"args": ["a"], "kwargs": {"k": "v"}}),
        ({"name": "test.arg", "unknown": 1}, {"args": [], "kwargs": {}}),
        ({"name": "test.named", "m_name": "n"}, ["n", "f", "s", None]),
        ({"name": "test.named", "m_name": "n", "m_fun": "g", "m_saltenv": "e", "only": 1}, ["n", "g", "e", 1]),
        ({"name": "test.none"}, None),
        ({"name": "cmd.run", "cmd": "echo a; cat", "python_shell": True, "timeout": 5, "rstrip": False}, "a\n"),
    ],
)
def test_old_notation(plugins, arguments, value):
    row = plugins.state("module.run", **arguments)
    assert row == {
        "name": arguments["name"],
        "result": True,
        "comment": f"Module function {arguments['name']} executed",
        "changes": {"ret": value},
    }


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({"name": "no.such"}, "Module function no.such is not available"),
        ({"name": "id"}, "Module function id is not available"),
        ({"name": "test.named", "fun": "x"}, "The following arguments are missing: m_name"),
        ({"name": "test.arg", "args": "a"}, "'args' must be a list."),
        ({"name": "test.arg", "kwargs": ["a"]}, "'kwargs' must be a dict."),
        ({"name": "test.broken"}, "Module function test.broken threw an exception. Exception: broken"),
    ],
)
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
