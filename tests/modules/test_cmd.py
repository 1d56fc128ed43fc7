from __future__ import annotations

import contextlib
import os
import pwd
import signal
import threading
import time
from pathlib import Path

import pytest
from plugin_harness import PluginHarness

from asyncstate.dunders.context import CancelToken
from asyncstate.errors import CommandExecutionError, RunCancelled
from asyncstate.process import child

ROOT = os.geteuid() == 0


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "cmd")
    return harness


@pytest.fixture
def nobody():
    return pwd.getpwnam("nobody")


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition):
    deadline = time.monotonic() + 40
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_run_all(plugins):
    result = plugins.call("cmd.run_all", "echo out; echo err >&2; exit 3", python_shell=True)
    assert result.pop("pid") > 0
    assert result == {"retcode": 3, "stdout": "out", "stderr": "err"}


def test_large_stdin_and_output_at_once(plugins):
    text = "0123456789" * 100_000
    assert plugins.call("cmd.run", "cat", stdin=text) == text


def test_stdin_that_nobody_reads(plugins):
    assert plugins.call("cmd.retcode", "true", stdin="x" * 1_000_000) == 0


@pytest.mark.skipif(not ROOT, reason="only root may become somebody else")
def test_runas_of_the_running_state(plugins, nobody):
    with plugins.calling() as context:
        context.runas = "nobody"
        assert plugins.salt["cmd.run"]("id -u") == str(nobody.pw_uid)
        assert plugins.salt["cmd.run"]("id -u", runas="root") == "0"


def test_umask_of_the_running_state(plugins):
    with plugins.calling() as context:
        context.umask = 0o027
        assert plugins.salt["cmd.shell"]("umask") == "0027"
        assert plugins.salt["cmd.shell"]("umask", umask="022") == "0022"


def test_cancelled_run(plugins, tmp_path):
    token = CancelToken()
    pid = tmp_path / "pid"

    def cancel():
        wait_until(pid.exists)
        token.cancel("SIGINT")

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with plugins.calling(cancel=token), pytest.raises(RunCancelled, match="SIGINT"):
        plugins.salt["cmd.run"](f"echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 600", python_shell=True)
    assert not alive(int(pid.read_text()))
    canceller.join()


def test_cancelled_before_it_began(plugins):
    token = CancelToken()
    token.cancel("SIGTERM")
    with plugins.calling(cancel=token), pytest.raises(RunCancelled):
        plugins.salt["cmd.run"]("sleep 30")


def test_daemon_that_keeps_the_pipe_does_not_keep_the_caller(plugins):
    result = plugins.call("cmd.run_all", "sleep 600 & echo $!", python_shell=True)
    pid = int(result["stdout"])
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_output_that_comes_just_after_the_end_is_kept(plugins, monkeypatch):
    monkeypatch.setattr(child, "SILENCE", 30)
    monkeypatch.setattr(child, "DRAIN", 30)
    assert plugins.call("cmd.run", "(sleep 0.05; echo late) & echo early", python_shell=True) == "early\nlate"


def test_background(plugins, tmp_path):
    command = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; touch {tmp_path}/done"
    result = plugins.call("cmd.run_all", command, python_shell=True, bg=True)
    (tmp_path / "go").touch()  # had the call waited for the command, it would have waited for ever
    pid = result.pop("pid")
    assert result == {"retcode": None, "stdout": "", "stderr": ""}
    wait_until((tmp_path / "done").exists)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def test_no_descriptor_is_left_open_or_inherited(plugins):
    with open("/dev/null", "rb") as held:
        os.set_inheritable(held.fileno(), True)
        before = descriptors()
        shown = plugins.call("cmd.run", ["ls", "/proc/self/fd"], stdin="x")
        assert descriptors() == before
    assert shown.split() == ["0", "1", "2", "3"]  # 3 is the directory that ls reads


def test_without_pidfd(plugins, monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    assert plugins.call("cmd.run", "echo x; sleep 0.1; exit 0", python_shell=True) == "x"


def test_last_retcode_is_the_calls_own(plugins):
    with plugins.calling() as context:
        plugins.salt["cmd.run"]("false")
        assert context.retcode == 1
        plugins.salt["cmd.run"]("false", ignore_retcode=True)
        assert context.retcode == 0
        plugins.salt["cmd.retcode"]("sh -c 'exit 7'")
        assert context.derive().retcode == 0


def test_two_runs_do_not_share_a_working_directory_or_umask(plugins, tmp_path):
    outputs = {}

    def work(name):
        folder = tmp_path / name
        folder.mkdir()
        with plugins.calling():
            outputs[name] = plugins.salt["cmd.run"](
                "sleep 0.1; pwd; umask", cwd=str(folder), umask=name, python_shell=True
            )

    threads = [threading.Thread(target=work, args=(name,)) for name in ("0027", "0077")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {name: f"{tmp_path / name}\n{name}" for name in ("0027", "0077")}


def test_script_template(plugins, tmp_path):
    plugins.salt_file("go.sh", "ignored")
    seen = {}

    def get_template(source, dest, template, saltenv, **variables):
        seen.update(variables, template=template, saltenv=saltenv)
        Path(dest).write_text("#!/bin/sh\necho rendered\n", encoding="utf-8")
        return dest

    plugins.salt["cp.get_template"] = get_template
    result = plugins.call("cmd.script", "salt://go.sh", template="jinja", context={"a": 1}, cwd=str(tmp_path))
    assert result["stdout"] == "rendered"
    assert seen == {"context": {"a": 1}, "template": "jinja", "saltenv": "base"}


def test_a_script_is_not_written_through_what_is_planted_in_its_place(plugins, tmp_path):
    source = plugins.salt_file("go.sh", "#!/bin/sh\nexit 0\n")
    victim, folder = tmp_path / "victim", tmp_path / "work"
    victim.write_text("precious")
    victim.chmod(0o644)
    folder.mkdir()

    def fetched(path, saltenv="base", **_):
        (script,) = folder.iterdir()
        script.unlink()
        script.symlink_to(victim)
        return str(source)

    plugins.salt["cp.cache_file"] = fetched
    with contextlib.suppress(CommandExecutionError):
        plugins.call("cmd.script", "salt://go.sh", cwd=str(folder))
    assert victim.read_text() == "precious"
    assert victim.stat().st_mode & 0o777 == 0o644


def test_a_script_is_not_where_others_could_replace_it(plugins, tmp_path):
    plugins.salt_file("go.sh", "#!/bin/sh\ndirname $0\npwd\n")
    tmp_path.chmod(0o777)
    place, cwd = plugins.call("cmd.script", "salt://go.sh", cwd=str(tmp_path))["stdout"].splitlines()
    assert (place == str(tmp_path), cwd) == (False, str(tmp_path))
    tmp_path.chmod(0o755)
    assert plugins.call("cmd.script", "salt://go.sh", cwd=str(tmp_path))["stdout"].splitlines()[0] == str(tmp_path)


@pytest.mark.skipif(not ROOT, reason="only root may give files away")
def test_a_script_of_roots_is_not_in_a_users_folder(plugins, tmp_path):
    plugins.salt_file("go.sh", "#!/bin/sh\ndirname $0\n")
    os.chown(tmp_path, 65534, -1)
    assert plugins.call("cmd.script", "salt://go.sh", cwd=str(tmp_path))["stdout"] != str(tmp_path)


def test_a_script_is_not_started_while_somebody_has_it_open_for_writing(tmp_path, monkeypatch):
    from asyncstate.modules import cmd

    script = tmp_path / "script"
    script.touch()
    with script.open("ab") as writer:
        monkeypatch.setattr(cmd.time, "sleep", lambda _seconds: writer.close())
        cmd._wait_for_writers(str(script))
        assert writer.closed
