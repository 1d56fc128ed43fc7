"""Trust under sudo: files of the calling user count as root's, files of others do not."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has more rights than those who could change files")

CALLER, OTHER = 51234, 51235


def _give(folder, uid):
    for at, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(os.path.join(at, name), uid, -1, follow_symlinks=False)


@pytest.fixture
def sudo(monkeypatch):
    monkeypatch.setenv("SUDO_UID", str(CALLER))
    monkeypatch.setenv("SUDO_GID", str(CALLER))


@pytest.mark.usefixtures("sudo")
def test_a_tree_of_the_user_behind_sudo_is_trusted_with_its_modules(root, salt_call):
    minion = root / "etc" / "minion"
    lines = minion.read_text().splitlines(keepends=True)
    minion.write_text("".join(line for line in lines if not line.startswith("root_dir")))
    _give(root, CALLER)
    assert salt_call("--local", "own.add", "1").out == "local:\n    3\n"
    assert salt_call("--local", "state.apply", "ok", "--retcode-passthrough").code == 0


def test_without_sudo_it_is_refused(root, salt_call):
    _give(root, CALLER)
    done = salt_call("--local", "own.add", "1")
    assert done.code == 1
    assert f"root does not follow configuration that user {CALLER} can change" in done.errors
    assert salt_call("--local", "--trust-writable", "own.add", "1").code == 0


@pytest.mark.usefixtures("sudo")
@pytest.mark.parametrize("part", ["etc/minion", "ext/modules/own.py", "salt/_modules", "etc"])
def test_what_somebody_else_can_change_is_refused(root, salt_call, part):
    _give(root, CALLER)
    os.chown(root / part, OTHER, -1)
    done = salt_call("--local", "own.add", "1")
    assert done.code == 1
    assert (
        "others can change" in done.errors
        or f"user {OTHER} can change" in done.errors
        or "root does not" in done.errors
    )


@pytest.mark.parametrize("said", ["0", "", "none", "-1"])
def test_an_odd_user_behind_sudo_is_nobody(root, salt_call, monkeypatch, said):
    monkeypatch.setenv("SUDO_UID", said)
    _give(root, CALLER)
    assert salt_call("--local", "test.ping").code == 1
