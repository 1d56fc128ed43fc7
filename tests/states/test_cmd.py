from __future__ import annotations

import pytest
from asyncstate.states import cmd
from plugin_harness import PluginHarness
from record_answers import recorded
from recorded_states import expected, replay
from recorded_states import recorded as recorded_rows

from asyncstate.data.commands.programs import LOGIN
from asyncstate.errors import CommandExecutionError, RunCancelled

LOGIN_OF_APP = [name.replace("~/", "~app/") for name in LOGIN]


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


@pytest.mark.parametrize(
    ("command", "arguments", "result", "changes"),
    [
        ("echo out; echo err >&2", {}, True, outputs("out", "err")),
        ("echo partial; exit 3", {}, False, outputs("partial", retcode=3)),
        ("exit 3", {"success_retcodes": [3]}, True, outputs()),
        ("echo fine; exit 3", {"success_stdout": ["fine"]}, True, outputs("fine")),
        ("echo $A-$B", {"env": [{"A": 1}, {"B": "x"}]}, True, outputs("1-x")),
        ("echo $A", {"env": {"A": "y"}}, True, outputs("y")),
        ("echo x", {"hide_output": True}, True, outputs()),
        ("cat", {"stdin": "given"}, True, outputs("given")),
        ("pwd", {"cwd": "/usr"}, True, outputs("/usr")),
        ("echo $0", {"shell": "/bin/bash"}, True, outputs("/bin/bash")),
        ("echo ${PATH%%:*}", {"prepend_path": "/mine"}, True, outputs("/mine")),
        ("echo x", {"bogus": 1, "use_vt": True, "timeout": None}, True, outputs("x")),
        ("sleep 0", {"bg": True}, True, outputs(retcode=None)),
    ],
)
def test_run(plugins, command, arguments, result, changes):
    assert run(plugins, command, **arguments) == {
        "name": command,
        "result": result,
        "comment": f'Command "{command}" run',
        "changes": changes,
    }


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({"cwd": "/nope"}, 'Desired working directory "/nope" is not available'),
        ({"cwd": "."}, "Specified cwd '.' either not absolute or does not exist"),
        ({"env": "A=b"}, "Invalidly-formatted 'env' parameter. See documentation."),
        ({"runas": "no_such_user"}, "User 'no_such_user' is not available"),
        ({"shell": "/bin/nosuch"}, "The shell /bin/nosuch is not available"),
        ({"timeout": "1"}, "Error: timeout 1 must be a number"),
        ({"success_retcodes": "x"}, "success_retcodes must be a list of integers"),
        ({"env": {"A=B": "x"}}, "illegal environment variable name"),
        ({"env": {"A": "x\0"}}, "embedded null byte"),
        ({"env": {"A": "x" * 200_000}}, "Argument list too long"),
    ],
)
def test_run_that_cannot_start(plugins, arguments, comment):
    plugins.opts["foresight"] = True
    for test in (False, True):
        row = run(plugins, "echo x", test=test, **arguments)
        assert row["comment"].startswith("Unable to run command") or row["comment"] == comment
        assert (row["result"], row["changes"], comment in row["comment"]) == (False, {}, True)


def test_dry_run_runs_nothing(plugins, tmp_path):
    command = f"touch {tmp_path}/made"
    row = run(plugins, command, cwd="/nope", test=True)
    assert row == {
        "name": command,
        "result": None,
        "comment": f'Command "{command}" would have been executed',
        "changes": {"cmd": command},
    }
    assert not (tmp_path / "made").exists()


def test_timeout(plugins):
    row = run(plugins, "sleep 600; :", timeout=0.1)
    assert row["result"] is False
    assert row["changes"] == outputs("sleep 600; : : Timed out after 0.1 seconds", retcode=1)


def test_ignored_timeout(plugins):
    row = run(plugins, "sleep 600; :", timeout=0.1, ignore_timeout=True)
    assert row["result"] is True
    assert row["changes"]["retcode"] == 0


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


@pytest.mark.parametrize("foresight", [True, False])
def test_a_dry_run_of_a_watched_command_that_reports_itself(plugins, foresight):
    plugins.opts["foresight"] = foresight
    row = plugins.state("cmd.mod_watch", name="true", sfun="wait", stateful=True, test=True)
    said = 'Command "true" would have been executed. It reports itself what it changes.'
    assert (row["result"], row["changes"], row["comment"]) == (None, {}, said if foresight else "")
    row = plugins.state("cmd.mod_watch", name="true", sfun="wait", stateful=True, cwd="/nope", test=True)
    assert row["result"] is (False if foresight else None)
    assert ("/nope" in row["comment"]) is foresight


def test_stateful_needs_a_boolean(plugins):
    with pytest.raises(ValueError, match="Failed parsing boolean value: maybe"):
        run(plugins, "echo changed=maybe", stateful=True)


def test_stateful_dry_run(plugins):
    assert run(plugins, "false", stateful=True, test=True) == {
        "name": "false",
        "result": None,
        "comment": "",
        "changes": {},
    }


def test_stateful_dry_run_with_a_command_of_its_own(plugins):
    stateful = [{"test_name": "echo noise; echo changed=yes by=test"}]
    row = run(plugins, "false", stateful=stateful, test=True)
    assert row == {
        "name": "false",
        "result": None,
        "comment": "",
        "changes": {"changed": "yes", "by": "test", **outputs("noise")},
    }
    assert run(plugins, "echo changed=no", stateful=stateful)["result"] is True


@pytest.mark.parametrize("function", ["wait", "watch", "wait_script", "wait_call"])
def test_waiting_states_do_nothing(plugins, function):
    row = plugins.state(f"cmd.{function}", name="false", cwd="/nope", source="salt://nope", func=print)
    assert row == {"name": "false", "result": True, "comment": "", "changes": {}}


def test_a_call_that_waits_needs_its_function(plugins):
    with pytest.raises(TypeError, match="func"):  # which is a missing parameter of the state
        plugins.state("cmd.wait_call", name="x")


SCRIPT = '#!/bin/sh\necho "$# $1"\n'


@pytest.mark.parametrize(
    ("arguments", "stdout"),
    [
        ({"name": "salt://go.sh"}, "0 "),
        ({"name": "go a b", "source": "salt://go.sh"}, "2 a"),
        ({"name": "x y", "source": "salt://go.sh", "args": "'q r'"}, "1 q r"),
    ],
)
def test_script(plugins, arguments, stdout):
    plugins.salt_file("go.sh", SCRIPT)
    row = plugins.state("cmd.script", **arguments)
    assert row["changes"].pop("pid") > 0
    assert row == {
        "name": arguments["name"],
        "result": True,
        "comment": f"Command '{arguments['name']}' run",
        "changes": outputs(stdout.strip()),
    }


def test_script_dry_run(plugins):
    assert plugins.state("cmd.script", name="salt://go.sh", test=True) == {
        "name": "salt://go.sh",
        "result": None,
        "comment": "Command 'salt://go.sh' would have been executed",
        "changes": {},
    }


def test_script_that_cannot_be_had(plugins):
    row = plugins.state("cmd.script", name="salt://none.sh")
    assert row["result"] is False
    assert row["comment"] == "Unable to cache script salt://none.sh from saltenv 'base'"


def test_script_without_a_shebang_given_arguments(plugins):
    plugins.salt_file("plain", "echo x\n")
    plugins.opts["foresight"] = True
    for test, argument, comment in (
        (True, "a", "has no line #!"),
        (False, "a", "Exec format error"),
        (True, "it's", "No closing quotation"),
        (False, "it's", "No closing quotation"),
    ):
        row = plugins.state("cmd.script", test=test, name=f"x {argument}", source="salt://plain")
        assert (row["result"], row["changes"]) == (False, {})
        assert comment in row["comment"]


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({"cwd": "/nope"}, 'Desired working directory "/nope" is not available'),
        ({"env": "x"}, "Invalidly-formatted 'env' parameter. See documentation."),
        ({"context": "x"}, "Invalidly-formatted 'context' parameter. Must be formed as a dict."),
        ({"defaults": "x"}, "Invalidly-formatted 'defaults' parameter. Must be formed as a dict."),
    ],
)
def test_script_bad_arguments(plugins, arguments, comment):
    row = plugins.state("cmd.script", name="salt://go.sh", **arguments)
    assert (row["result"], row["comment"]) == (False, comment)


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


@pytest.mark.parametrize("sfun", ["wait", "run", "watch"])
def test_mod_watch_runs_the_command(plugins, sfun):
    row = plugins.state("cmd.mod_watch", name="echo fired", sfun=sfun, env={"A": "b"}, __reqs__={})
    assert row["comment"] == 'Command "echo fired" run'
    assert row["changes"]["stdout"] == "fired"


@pytest.mark.parametrize("sfun", ["wait_script", "script"])
def test_mod_watch_runs_the_script(plugins, sfun):
    plugins.salt_file("go.sh", SCRIPT)
    row = plugins.state("cmd.mod_watch", name="x", source="salt://go.sh", sfun=sfun)
    assert (row["comment"], row["changes"]["stdout"]) == ("Command 'x' run", "0")


def test_mod_watch_stateful(plugins):
    row = plugins.state("cmd.mod_watch", name="echo changed=no comment=calm", sfun="wait", stateful=True)
    assert row == {"name": "echo changed=no comment=calm", "result": True, "comment": "calm", "changes": {}}


def test_mod_watch_calls(plugins):
    assert plugins.state("cmd.mod_watch", name="x", sfun="wait_call", func=lambda: True)["result"] is True
    row = plugins.state("cmd.mod_watch", name="x", sfun="wait_call")
    assert (row["result"], row["comment"]) == (False, "cmd.wait_call needs a named parameter func")


def test_mod_watch_of_something_else(plugins):
    row = plugins.state("cmd.mod_watch", name="x", sfun="odd")
    assert (row["result"], row["comment"]) == (
        False,
        "cmd.odd does not work with the watch requisite, please use cmd.wait or cmd.wait_script",
    )


def test_error_of_the_execution_module_is_the_comment(plugins):
    def broken(**_):
        raise CommandExecutionError("no more processes")

    plugins.salt["cmd.run_all"] = broken
    assert run(plugins, "true") == {"name": "true", "result": False, "comment": "no more processes", "changes": {}}


@pytest.mark.parametrize(
    ("low", "reads", "writes"),
    [
        ({"name": "touch /srv/a"}, [], ["path:/srv/a"]),
        ({"name": "/opt/tool --out=/srv/b 2>/dev/null"}, ["path:/opt/tool"], ["path:/srv/b"]),
        ({"name": "touch /srv/a", "cwd": "/"}, [], ["path:/srv/a"]),
        ({"name": "touch a", "cwd": "/src"}, ["path:/src"], ["path:/src/a"]),
        ({"name": "/opt/x -v /a", "cwd": "/src"}, ["path:/src", "path:/opt/x"], ["path:/a", "path:/src/**"]),
        ({"name": "/opt/x", "creates": "/var/done"}, ["path:/opt/x"], ["path:/var/done"]),
        ({"name": "/opt/x", "creates": ["/a", "/b"]}, ["path:/opt/x"], ["path:/a", "path:/b"]),
        ({"name": "touch /x", "unless": "test -f /etc/x"}, [], ["path:/x"]),
        ({"name": "touch $X/a", "env": {"X": "/srv"}}, ["path:/srv/**"], ["path:/srv/a"]),
        ({"name": "touch $X/a", "env": [{"X": "/srv"}, "Y=1"]}, ["path:/srv/**"], ["path:/srv/a"]),
        ({"name": "touch /a", "runas": "app"}, ["user:app", *LOGIN_OF_APP], ["path:/a"]),
        ({"name": "touch a ~/b", "runas": "app"}, ["user:app", *LOGIN_OF_APP], ["path:~app/a", "path:~app/b"]),
        ({"name": "touch /a", "shell": "/opt/sh"}, ["path:/opt/sh"], ["path:/a"]),
        ({"name": "touch /a", "stateful": [{"test_name": "cat /b"}]}, ["path:/b/**"], ["path:/a"]),
        ({"name": "touch /a", "root": "/srv/jail/"}, [], ["path:/srv/jail/**"]),
    ],
)
def test_footprint(low, reads, writes):
    footprint = cmd.mod_footprint({"fun": "run", **low})
    assert footprint["reads"] == ["environ:process", *reads]
    assert footprint["writes"] == writes
    assert not footprint.get("unknown")


@pytest.mark.parametrize(
    ("low", "reads", "writes"),
    [
        ({"name": "x", "source": "file:///src/x.sh", "args": "-o /srv/a"}, ["path:/src/x.sh"], ["path:/srv/a"]),
        ({"name": "x", "source": "salt://x.sh", "args": ["/srv/a", 5]}, [], ["path:/srv/a"]),
        ({"name": "/src/x.sh /srv/a"}, ["path:/src/x.sh"], ["path:/srv/a"]),
        ({"name": "x", "source": "salt://x.sh", "cwd": "/src"}, ["path:/src"], ["path:/src/**"]),
    ],
)
def test_footprint_of_a_script(low, reads, writes):
    footprint = cmd.mod_footprint({"fun": "script", **low})
    assert footprint["reads"] == [*footprint["reads"][:1], *reads] == ["environ:process", *reads]
    assert footprint["writes"] == writes
    assert footprint["unknown"].startswith("it runs the script ")


@pytest.mark.parametrize(
    ("low", "reason"),
    [
        ({"name": "a/b/c"}, "it names nothing that a/b/c touches"),
        ({"name": "x", "cwd": "/srv"}, "nothing but the folder is known of what x touches"),
        ({"name": "rm -r $X"}, "it uses $X, which only a run knows"),
        ({"name": "touch {{ x }}", "template": "jinja"}, "a template makes its text in the run"),
        ({"name": "x", "fun": "call"}, "it calls a Python function"),
    ],
)
def test_footprint_says_why_it_is_unknown(low, reason):
    assert cmd.mod_footprint({"fun": "run", **low})["unknown"] == reason


def test_footprint_names_the_links_that_a_command_makes():
    footprint = cmd.mod_footprint({"fun": "run", "name": "ln -s v1 now; ln -sfn v2 now", "cwd": "/srv"})
    assert footprint["links"] == {"/srv/now": ["v1", "v2"]}
