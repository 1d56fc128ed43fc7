"""``asyncstate plan``: the dry run of apply, and what its last line foretells."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios

import pytest
from messages import said as said_of
from tables import beside

from asyncstate.cli import main
from tests.cli.test_saved_plan import run, tree  # noqa: F401 - fixtures

TABLES = beside(__file__)

WEB = TABLES["web"]


@pytest.mark.feature("F228")
def test_a_plan_is_what_apply_test_says_and_changes_nothing(run, tree, tmp_path, capfd):  # noqa: F811
    (tree / "web.sls").write_text(WEB.format(root=tmp_path))
    brief = ("--state-output", "brief", "--progress", "plain")
    done = run("plan", "web", "--journal", "on", "--plan-out", tmp_path / "web.plan", *brief)
    assert done.returncode == 0
    *_, counts, last = done.stdout.splitlines()
    assert counts.startswith("5 states in ")
    assert counts.endswith(": 1 as wanted")
    assert last == "Dry run: 1 to change, 2 triggered, 1 cannot be told; nothing was changed."
    words = [line.split("  ")[0] for line in done.stdout.splitlines()[:4]]
    assert sorted(words) == ["cannot be told", "to change", "triggered", "triggered"]
    assert all(any(f"] {word}" in line for line in done.stderr.splitlines()) for word in words)
    assert not {line.split("] ")[1][:9].strip() for line in done.stderr.splitlines()} - {word[:9] for word in words}
    assert main(["replay", *brief[:2]]) == 0
    assert capfd.readouterr().out == done.stdout
    assert main(["runs", "show"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == last
    assert run("apply", "web", "--test", "--progress", "none").stdout.splitlines()[-1] == last
    assert not any((tmp_path / name).exists() for name in ("conf", "reloaded", "told", "always"))
    assert run("plan", "web", "test=True", "--detailed-exitcode").returncode == 3
    assert run("apply", "--plan", tmp_path / "web.plan").returncode == 0
    assert (tmp_path / "told").exists()


def test_a_saved_plan_in_place_of_an_sls_says_what_to_do_with_it(run, tmp_path):  # noqa: F811
    path = tmp_path / "web.plan"
    run("plan", "db", "--plan-out", path)
    for command in ("plan", "apply"):
        said = run(command, path).stderr
        assert said_of("plan-as-sls", path=path) in said


def on_a_terminal(program, tmp_path, *words):
    """Run a command on a terminal of 24 lines; return what is on it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    places = {"ASYNCSTATE_CACHEDIR": str(tmp_path / "c"), "ASYNCSTATE_STATE_DIR": str(tmp_path / "s")}
    environ = {**os.environ, **places, "TERM": "xterm", "NO_COLOR": "1"}
    environ.pop("COLUMNS", None)
    environ.pop("LINES", None)
    screen = b""
    with subprocess.Popen([program, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as process:
        os.close(theirs)
        while select.select([ours], [], [], 50)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            screen += data
        os.close(ours)
    assert process.returncode == 0
    return screen.decode()


def test_a_plan_on_a_terminal_shows_what_files_will_say(tree, program, tmp_path):  # noqa: F811
    old = tmp_path / "old"
    old.write_text("before\n")
    lines = "".join(f"        line {number}\n" for number in range(60))
    (tree / "files.sls").write_text(
        f"old:\n  file.managed:\n    - name: {old}\n    - contents: after\n"
        f"new:\n  file.managed:\n    - name: {tmp_path}/new\n    - contents: |\n{lines}"
        f"hidden:\n  file.managed:\n    - name: {tmp_path}/hidden\n    - contents: unseen\n    - show_changes: False\n"
    )
    words = ("plan", "files", "--file-root", str(tree))
    screen = on_a_terminal(program, tmp_path, *words)
    assert "    -before\r\n    +after\r\n" in screen
    assert "    +line 18\r\n    … 41 more lines\r\n" in screen
    assert "unseen" not in screen
    assert "+line 59" in on_a_terminal(program, tmp_path, *words, "--diff")
    assert "+after" not in on_a_terminal(program, tmp_path, *words, "--no-diff")


def test_diffs_are_shown_or_not_in_any_form_as_asked(run, tree, tmp_path):  # noqa: F811
    (tree / "new.sls").write_text(f"new:\n  file.managed:\n    - name: {tmp_path}/new\n    - contents: text\n")
    assert "+text" not in run("plan", "new").stdout, "a new file is only named"
    for form in ("full", "brief"):
        assert "+text" in run("plan", "new", "--diff", "--state-output", form).stdout
        assert "+text" not in run("plan", "new", "--no-diff", "--state-output", form).stdout
    (tmp_path / "new").write_text("other\n")
    assert "+text" in run("plan", "new").stdout
    assert "+text" not in run("plan", "new", "--no-diff").stdout
