"""Programs under strace: their recorded calls, and the same course and end as without it."""

import os
import signal
import subprocess
import sys
import time

import pytest
from traced_calls import observed, strace_or_skip

from asyncstate.errors import ConfigError
from asyncstate.extras.proof.trace.following import Strace, find_program, left_running
from asyncstate.extras.proof.trace.touched import ABSENT, ENSURED, LISTED, LOOKED, MADE, REMOVED, WRITTEN
from asyncstate.process.child import run_child
from asyncstate.process.lineage import started_here


@pytest.fixture(scope="module")
def strace():
    return strace_or_skip()


def program(path, text, mode=0o755):
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_without_strace_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"strace, which is not installed\. Install the package 'strace'"):
        Strace()


def test_where_strace_may_not_follow_the_error_says_why(monkeypatch, tmp_path):
    program(
        tmp_path / "strace", "#!/bin/sh\necho 'strace: ptrace(PTRACE_SEIZE): Operation not permitted' >&2\nexit 1\n"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ConfigError, match=r"cannot follow programs here: strace: ptrace.* A container must allow ptrace"
    ):
        Strace()


def test_which_program_would_be_started(tmp_path):
    script = program(tmp_path / "script", "#!/bin/sh\n")
    program(tmp_path / "text", "echo hi\n")
    program(tmp_path / "lost", "#!/no/such/interpreter\n")
    program(tmp_path / "plain", "#!/bin/sh\n", mode=0o644)
    (tmp_path / "folder").mkdir()
    environ = {"PATH": f"/nowhere:{tmp_path}"}
    assert find_program("script", "/", environ) == script
    assert find_program("./script", str(tmp_path), {}) == f"{tmp_path}/./script"
    assert find_program(sys.executable, "/", None) == sys.executable
    for name in ("text", "lost", "plain", "folder", "missing"):
        assert find_program(name, "/", environ) == ""


def test_what_a_program_and_its_children_touch(strace, tmp_path):
    (tmp_path / "in").write_text("x")
    with observed(strace) as witness:
        script = "mkdir -p d; cat in > out; ls d; rm -f gone; mv out end; [ -e no ]; (cd d; echo > ä)"
        done = run_child(["sh", "-c", script], cwd=str(tmp_path))
    assert done.returncode == 0
    seen = {path.removeprefix(f"{tmp_path}/"): what for path, what in witness.touched.seen().items()}
    assert seen["in"] & LOOKED
    assert seen["d"] & (MADE | ENSURED | LISTED) == MADE | ENSURED | LISTED
    assert seen["out"] & REMOVED
    assert seen["end"] & WRITTEN
    assert seen["gone"] == seen["no"] == ABSENT
    assert seen["d/ä"] & WRITTEN


CASES = {
    "a code": ["sh", "-c", "cat; echo out; echo err >&2; exit 3"],
    "a signal": ["sh", "-c", "kill -9 $$"],
    "an argument zero": ["sh", "-c", "echo $0"],
}


@pytest.mark.parametrize("case", CASES)
def test_a_program_ends_as_it_does_without(strace, case):
    bare = run_child(CASES[case], stdin=b"text")
    with observed(strace):
        traced = run_child(CASES[case], stdin=b"text")
    assert traced[1:] == bare[1:]


@pytest.mark.parametrize("argv", [["/no/such/program"], ["/etc/hostname"], ["/"]])
def test_what_cannot_be_started_fails_as_it_does_without(strace, argv):
    with pytest.raises(OSError) as bare:
        run_child(argv)
    with observed(strace), pytest.raises(OSError) as traced:
        run_child(argv)
    assert (type(traced.value), str(traced.value)) == (type(bare.value), str(bare.value))


def strace_processes():
    """The strace processes that this test process has started, by their marks."""
    found = set()
    for process in started_here():
        try:
            with open(f"/proc/{process.pid}/cmdline", "rb") as file:
                command = file.read()
        except OSError:
            continue
        if command.startswith(b"/") and b"strace\0-D\0" in command[:200]:
            found.add(process.pid)
    return found


def test_a_time_out_leaves_neither_the_program_nor_strace(strace, tmp_path):
    before = strace_processes()
    for seconds in (0.3, 3, 30):  # until the shell ignores the signal before it is ended
        with observed(strace):
            done = run_child(["sh", "-c", f"trap '' TERM; sleep 60 & : > {tmp_path}/deaf; sleep 60"], timeout=seconds)
        assert done.timed_out
        if (tmp_path / "deaf").exists():
            break
    assert done.returncode == -signal.SIGKILL
    assert strace_processes() <= before


def test_a_program_in_the_background_does_not_hold_up_the_call(strace):
    with observed(strace):
        began = time.monotonic()
        done = run_child(["sh", "-c", "sleep 30 >/dev/null 2>&1 & echo $!"])
        assert time.monotonic() - began < 15
    left = left_running()
    os.kill(int(done.stdout), signal.SIGKILL)
    assert left
    while left_running() >= left:
        time.sleep(0.01)


def test_another_account_can_be_followed(strace):
    if os.geteuid() != 0:
        pytest.skip("only root may become somebody else")
    with observed(strace) as witness:
        done = run_child(["sh", "-c", "id -u; [ -e /no/such/file ]"], cwd="/", account={"user": 65534, "group": 65534})
    assert done.stdout == b"65534\n"
    assert witness.touched.seen()["/no/such/file"] == ABSENT


def test_without_a_path_the_default_one_is_searched(strace):
    with observed(strace):
        assert run_child(["true"], env={}).returncode == 0


def test_programs_that_are_started_elsewhere_are_named(strace):
    with observed(strace) as witness:
        subprocess.run([sys.executable, "-c", ""], check=True)
        run_child(["true"])
    assert list(witness.touched.unseen) == [os.path.basename(sys.executable)]
