from __future__ import annotations

import pytest
from plugin_harness import PluginHarness
from record_answers import recorded
from recorded_states import expected, replay
from recorded_states import recorded as recorded_rows

from asyncstate.errors import CommandExecutionError, RunCancelled


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.grains["shell"] = "/bin/sh"
    harness.load("modules", "cmd")
    harness.load("states", "cmd")
    return harness


def run(plugins, name, **kwargs):
    """Return the row without the pid, which is another every time."""
    row = plugins.state("cmd.run", name=name, **kwargs)
    row["changes"].pop("pid", None)
    return row


def outputs(stdout="", stderr="", retcode=0):
    return {"retcode": retcode, "stdout": stdout, "stderr": stderr}


def test_arguments_that_are_too_long(plugins):
    plugins.opts["foresight"] = True
    for test in (False, True):
        row = plugins.state("cmd.run", name="echo x", test=test, env={"A": "x" * 200_000})
        assert (row["result"], row["changes"], "Argument list too long" in row["comment"]) == (False, {}, True)


def test_root_runs_in_a_chroot(plugins):
    seen = {}

    def run_chroot(**arguments):
        seen.update(arguments)
        return outputs("inside")

    plugins.salt["cmd.run_chroot"] = run_chroot
    row = run(plugins, "id", root="/srv/jail", runas="app")
    assert row["changes"] == outputs("inside")
    assert (seen["root"], seen["cmd"], seen["runas"]) == ("/srv/jail", "id", "app")


def test_a_cancelled_run_is_no_row(plugins):
    def cancelled(**_):
        raise RunCancelled("SIGINT")

    plugins.salt["cmd.run_all"] = cancelled
    with pytest.raises(RunCancelled):
        run(plugins, "true")


@pytest.mark.parametrize(("command", "answer"), recorded("stateful").items())
def test_stateful(plugins, command, answer):
    row = run(plugins, command, stateful=True)
    assert [row["result"], row["comment"], row["changes"]] == answer


RECORDED = recorded_rows("cmd")


@pytest.mark.feature("F195")
@pytest.mark.parametrize("case", RECORDED)
def test_the_rows_of_salt(plugins, case):
    assert replay(plugins, RECORDED[case]) == expected(RECORDED[case])


@pytest.mark.parametrize("case", ["reports itself", "a script that reports itself", "reports nothing"])
def test_with_foresight_a_dry_run_says_that_a_command_reports_itself(plugins, case):
    plugins.opts["foresight"] = True
    rows, _ = replay(plugins, RECORDED[case])
    assert rows[1:] == RECORDED[case]["rows"][1:]
    name = RECORDED[case]["arguments"]["name"]
    shown = f"'{name}'" if "script" in case else f'"{name}"'
    assert rows[0] == [None, {}, f"Command {shown} would have been executed. It reports itself what it changes."]


def test_stateful_needs_a_boolean(plugins):
    with pytest.raises(ValueError, match="Failed parsing boolean value: maybe"):
        run(plugins, "echo changed=maybe", stateful=True)


@pytest.mark.parametrize("function", ["wait", "watch", "wait_script", "wait_call"])
def test_waiting_states_do_nothing(plugins, function):
    row = plugins.state(f"cmd.{function}", name="false", cwd="/nope", source="salt://nope", func=print)
    assert row == {"name": "false", "result": True, "comment": "", "changes": {}}


def test_a_call_that_waits_needs_its_function(plugins):
    with pytest.raises(TypeError, match="func"):  # which is a missing parameter of the state
        plugins.state("cmd.wait_call", name="x")


def test_script_context_overlays_defaults(plugins):
    seen = {}

    def script(source, **arguments):
        seen.update(arguments, source=source)
        return outputs()

    plugins.salt["cmd.script"] = script
    plugins.state(
        "cmd.script", name="salt://a", template="jinja", defaults={"a": 1, "b": 1}, context={"b": 2}, timeout=3
    )
    assert seen["context"] == {"a": 1, "b": 2}
    assert (seen["source"], seen["template"], seen["saltenv"], seen["timeout"]) == ("salt://a", "jinja", "base", 3)


@pytest.mark.parametrize(
    ("value", "result", "comment", "changes"),
    [
        ({"result": True, "changes": {"a": 1}}, True, "", {"a": 1}),
        (None, True, "", {"retval": None}),
        (0, False, "", {"retval": 0}),
        ("text", True, "text", {"retval": "text"}),
    ],
)
def test_call(plugins, value, result, comment, changes):
    row = plugins.state("cmd.call", name="x", func=lambda *_: value, args=(1,))
    assert row == {"name": "x", "result": result, "comment": comment, "changes": changes}


def test_mod_watch_calls(plugins):
    assert plugins.state("cmd.mod_watch", name="x", sfun="wait_call", func=lambda: True)["result"] is True
    row = plugins.state("cmd.mod_watch", name="x", sfun="wait_call")
    assert (row["result"], row["comment"]) == (False, "cmd.wait_call needs a named parameter func")


def test_error_of_the_execution_module_is_the_comment(plugins):
    def broken(**_):
        raise CommandExecutionError("no more processes")

    plugins.salt["cmd.run_all"] = broken
    assert run(plugins, "true") == {"name": "true", "result": False, "comment": "no more processes", "changes": {}}
