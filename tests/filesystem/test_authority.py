"""Root runs no file that another user can change."""

import os
import threading

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.config import load_settings
from asyncstate.errors import ConfigError, PathRefused
from asyncstate.filesystem import read_input, who_can_change, writable_below

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has more rights than those who could change files")


@pytest.fixture
def code(tmp_path):
    file = tmp_path / "srv" / "code.py"
    file.parent.mkdir()
    file.write_text("def ok():\n    return True\n")
    return file


CHANGES = {
    "the file is somebody's": lambda file: os.chown(file, NOBODY, 0),
    "all may write the file": lambda file: file.chmod(0o666),
    "the folder is somebody's": lambda file: os.chown(file.parent, NOBODY, 0),
    "all may write the folder": lambda file: file.parent.chmod(0o777),
    "a folder further up is somebody's": lambda file: os.chown(file.parent.parent, NOBODY, 0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_who_can_change_a_file(code, change):
    assert who_can_change(str(code)) == ""
    change(code)
    assert who_can_change(str(code)) in {"user nobody", "others than root"}


def test_a_link_of_root_is_as_good_as_what_it_leads_to(tmp_path, code):
    link = tmp_path / "link.py"
    link.symlink_to(code)
    assert who_can_change(str(link)) == ""
    os.chown(code, NOBODY, 0)
    assert who_can_change(str(link)) == "user nobody"


def test_a_link_in_a_folder_of_somebody_can_be_exchanged(tmp_path, code):
    home = tmp_path / "home"
    home.mkdir()
    (home / "link.py").symlink_to(code)
    os.chown(home, NOBODY, 0)
    assert who_can_change(str(home / "link.py")) == "user nobody"


def test_in_a_sticky_folder_what_is_roots_stays_but_all_can_add(tmp_path):
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "a.conf").write_text("")
    assert who_can_change(str(shared / "a.conf")) == ""
    assert who_can_change(str(shared)) == "others than root"


def test_all_that_others_can_change_below_a_folder(tmp_path):
    root = tmp_path / "_modules"
    for name in ("fine.py", "loose.py", "notes.txt", "package/__init__.py", "theirs/__init__.py"):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (root / "loose.py").chmod(0o666)
    (root / "notes.txt").chmod(0o666)
    os.chown(root / "theirs", NOBODY, 0)
    assert sorted(writable_below(str(root), (".py",))) == [
        (str(root / "loose.py"), "others than root"),
        (str(root / "theirs"), "user nobody"),
    ]
    assert writable_below(str(tmp_path / "missing"), (".py",)) == []


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_configuration_others_can_change_is_refused_unless_told_otherwise(tmp_path, change):
    file = tmp_path / "etc" / "config.yaml"
    file.parent.mkdir()
    file.write_text("failhard: true\ntrust_writable: true\n")
    assert load_settings([file], environ={}).failhard
    change(file)
    with pytest.raises(ConfigError, match=r"config\.yaml: root does not follow .* can change"):
        load_settings([file], environ={})
    assert load_settings([file], {"trust_writable": True}, environ={}).failhard
    assert load_settings([file], environ={"ASYNCSTATE_TRUST_WRITABLE": "true"}).failhard


@pytest.mark.parametrize("kind", ["_states", "_modules", "_grains", "_utils", "_renderers", "_interfaces"])
async def test_plugins_others_can_change_are_refused_before_anything_runs(tmp_path, kind):
    plugin = tmp_path / "tree" / kind / "probe.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("raise SystemExit('it ran')\n")
    os.chown(plugin, NOBODY, 0)
    settings = {"file_roots": {"base": [str(tmp_path / "tree")]}, "cachedir": str(tmp_path / "cache")}
    with pytest.raises(ConfigError, match=f"{plugin}: user nobody"):
        async with StateRuntime(Settings(**settings)):
            pass
    async with StateRuntime(Settings(**settings, trust_writable=True)):
        pass


def test_the_command_line_says_who_can_change_what(tmp_path, run_here):
    plugin = tmp_path / "tree" / "_modules" / "probe.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("def ok():\n    return True\n")
    (tmp_path / "tree" / "a.sls").write_text("a:\n  test.nop: []\n")
    plugin.parent.chmod(0o777)
    words = ("apply", "a", "--test", "--file-root", str(tmp_path / "tree"))
    done = run_here(*words)
    assert done.returncode == 1
    assert f"{plugin.parent}: others than root" in done.stderr
    assert "Traceback" not in done.stderr
    assert run_here(*words, "--trust-writable").returncode == 0


def test_a_pipe_in_place_of_configuration_or_grains_is_refused(tmp_path, run_here):
    pipe = tmp_path / "config.yaml"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="it is a pipe"):
        load_settings([pipe], environ={})
    done = run_here("show", "top", "--grains", str(pipe))
    assert done.returncode == 1
    assert "it is a pipe" in done.stderr


def test_a_pipe_in_place_of_a_plugin_is_no_plugin(tmp_path, run_here):
    (tmp_path / "_modules").mkdir()
    os.mkfifo(tmp_path / "_modules" / "probe.py")
    done = run_here("call", "probe.ok", "--file-root", str(tmp_path))
    assert done.returncode != 0
    assert "probe.ok" in done.stdout + done.stderr


def test_what_the_caller_opened_for_us_may_be_a_pipe():
    reading, writing = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(writing, b"id: web1\n"), os.close(writing)))
    writer.start()
    try:
        assert read_input(f"/dev/fd/{reading}") == b"id: web1\n"
    finally:
        writer.join()
        os.close(reading)


def test_an_endless_file_is_refused():
    with pytest.raises(PathRefused, match="/dev/zero: it is a character device"):
        read_input("/dev/zero")
