"""The program that the tests start, whose imports are done, is to its caller the program that users start."""

import os
import signal
import subprocess
import time

import pytest
from warm_program import PROGRAM

PROBE = """
import os, sys

def look():
    os.umask(umask := os.umask(0o777))
    return {
        "folder": os.getcwd(), "umask": umask, "environ": dict(sorted(os.environ.items())), "arguments": sys.argv,
        "streams": [stream and (stream.fileno(), stream.encoding, stream.errors, stream.isatty())
                    for stream in (sys.stdin, sys.stdout, sys.stderr)],
        "files": [number for number in map(int, os.listdir("/proc/self/fd")) if number < 3],
    }

def wait(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    os.rename(path, path + ".ready")
    __import__("time").sleep(600)
"""


@pytest.fixture
def ask(run_cli, tmp_path):
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_modules" / "probe.py").write_text(PROBE)

    def call(path, streams):
        command = f'umask 031; exec {path} call probe.look --out yaml --file-root "$1" {streams}'
        done = subprocess.run(
            ["/bin/sh", "-c", command, "sh", str(tmp_path)],
            cwd=tmp_path, env=run_cli.environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.mark.parametrize("streams", ["", "</dev/null >seen", ">&-", "<&-", "2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_streams_folder_umask_environment_and_code_are_those_of_the_program(ask, program, tmp_path, streams):
    assert str(program) != str(PROGRAM)
    warm = *ask(program, streams), *(path.read_text() for path in tmp_path.glob("seen"))
    assert warm == (*ask(PROGRAM, streams), *(path.read_text() for path in tmp_path.glob("seen")))
    if not streams:
        assert warm[0] == 0
        assert f"folder: {tmp_path}\n" in warm[1]
        assert "umask: 25\n" in warm[1]


def test_a_usage_error_and_a_state_that_failed_have_their_codes(run_cli, tmp_path):
    (tmp_path / "bad.sls").write_text("bad: test.fail_without_changes\n")
    assert run_cli("apply", "--no-such-flag").returncode == 1
    assert run_cli("apply", "bad", "--file-root", tmp_path).returncode == 2


def test_it_ends_with_its_caller(ask, program, run_cli, tmp_path):
    command = [program, "call", "probe.wait", str(tmp_path / "pid"), "--file-root", str(tmp_path)]
    with subprocess.Popen(command, env=run_cli.environ) as caller:
        while not (tmp_path / "pid.ready").exists():
            assert caller.poll() is None
            time.sleep(0.01)
        caller.kill()
    pid = int((tmp_path / "pid.ready").read_text())
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("it lives on")


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "LC_ALL"])
def test_what_python_reads_before_the_first_import_is_honoured(run_cli, tmp_path, variable):
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_modules" / "probe.py").write_text("def seen():\n    return hash('a'), __import__('os').getppid()\n")
    run_cli.environ[variable] = "1" if variable == "PYTHONHASHSEED" else "C.UTF-8"
    seen = [run_cli("call", "probe.seen", "--out", "yaml", "--file-root", tmp_path).stdout for _ in range(2)]
    assert f"- {os.getpid()}\n" in seen[0], "the program itself was started"
    assert (seen[0] == seen[1]) is (variable == "PYTHONHASHSEED")
