"""``asyncstate init``: the tree it writes can be applied, and nothing of anybody is overwritten."""

from __future__ import annotations

import os
import re
import shlex
import stat

import pytest
from messages import said

from asyncstate.cli import init as init_module
from asyncstate.cli import main


@pytest.fixture
def init(tmp_path, monkeypatch, capsys):
    """Run a command with the default roots in tmp_path; return exit code, standard output and error."""
    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ASYNCSTATE_STATE_DIR", str(tmp_path / "state"))
    defaults = {"file_roots": str(tmp_path / "srv/salt"), "pillar_roots": str(tmp_path / "srv/pillar")}
    monkeypatch.setattr("asyncstate.config.values.DEFAULT_ROOTS", defaults)

    def run(*words):
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_after_init_a_bare_machine_has_a_tree_that_applies_once(init, tmp_path):
    assert init("check")[0] == 1
    code, out, _ = init("init")
    assert code == 0
    assert str(tmp_path / "srv/salt/top.sls") in out
    assert "  asyncstate apply\n" in out
    assert init("check")[0] == 0
    code, out, err = init("apply")
    assert code == 0, out + err
    assert re.search(r"changed=3\b", out)
    greeting = (tmp_path / "srv/hello/greeting.txt").read_text()
    assert greeting.startswith("Hello from ")
    again = init("apply")[1]
    assert "changed=" not in again


def test_the_folder_of_a_pillar_is_for_its_owner(init, tmp_path):
    assert init("init", str(tmp_path / "mine"))[0] == 0
    assert stat.S_IMODE((tmp_path / "mine/pillar").stat().st_mode) == 0o700


def test_the_next_steps_are_command_lines_that_work(init, run_cli, tmp_path):
    folder = tmp_path / 'it\'s {{ odd }} "{%" and: #é'
    _, out, _ = init("init", str(folder))
    change, *commands = out.partition("then:\n")[2].splitlines()
    assert shlex.split(change) == ["cd", str(folder)]
    for line in commands:
        done = run_cli(*shlex.split(line)[1:], cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "hello/greeting.txt").is_file()


@pytest.mark.parametrize("taken", ["salt/web.sls", "pillar/.hidden"])
def test_where_files_are_nothing_is_written(init, tmp_path, taken):
    path = tmp_path / "mine" / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine\n")
    code, out, err = init("init", str(tmp_path / "mine"))
    assert (code, out) == (1, "")
    assert f"{path.parent} is not empty: nothing was written" in err
    assert [each for each in (tmp_path / "mine").rglob("*") if each.is_file()] == [path]
    assert path.read_text() == "mine\n"


@pytest.mark.parametrize("make", [lambda path: path.write_text("mine"), lambda path: path.symlink_to("/nowhere")])
def test_what_is_no_folder_is_left(init, tmp_path, make):
    make(tmp_path / "salt")
    code, _, err = init("init", str(tmp_path))
    assert code == 1
    assert f"{tmp_path / 'salt'} is not a directory: nothing was written" in err
    assert not (tmp_path / "pillar").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_who_may_not_write_is_told_to_name_a_folder(init, tmp_path):
    (tmp_path / "srv").mkdir(mode=0o500)
    code, _, err = init("init")
    assert code == 1
    assert said("tree-not-writable") in err


def test_an_empty_folder_is_filled(init, tmp_path):
    (tmp_path / "mine/salt").mkdir(parents=True)
    assert init("init", str(tmp_path / "mine"))[0] == 0
    assert (tmp_path / "mine/salt/hello/init.sls").is_file()


def test_configured_roots_are_filled(init, tmp_path, monkeypatch):
    for name in ("states", "secrets"):
        (tmp_path / name).mkdir()
    config = tmp_path / "asyncstate.yaml"
    config.write_text(f"file_roots: {{base: [{tmp_path}/states]}}\npillar_roots: {{base: [{tmp_path}/secrets]}}\n")
    monkeypatch.setenv("ASYNCSTATE_CONFIG", str(config))
    code, out, err = init("init")
    assert code == 0, err
    assert (tmp_path / "states/top.sls").is_file()
    assert (tmp_path / "secrets/top.sls").is_file()
    assert "  asyncstate apply\n" in out
    assert init("apply", "--test")[0] == 0


@pytest.mark.parametrize(("named", "said"), [("", "DIR is empty"), (" ", "DIR is empty"), ("a\udcff", "no UTF-8")])
def test_odd_names_are_refused_in_words(init, tmp_path, monkeypatch, named, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = init("init", named)
    assert (code, out) == (1, "")
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("calls", range(12))
def test_a_full_disk_leaves_nothing(init, tmp_path, monkeypatch, calls):
    """Each file and folder in turn is the one that there is no room for."""
    left = iter(range(calls))

    def limited(real):
        def call(*args, **kwargs):
            if next(left, None) is None:
                raise OSError(28, "No space left on device", str(args[0]))
            return real(*args, **kwargs)

        return call

    monkeypatch.setattr("asyncstate.cli.init.mkdir", limited(init_module.mkdir))
    monkeypatch.setattr("asyncstate.cli.init.parent", limited(init_module.parent))
    code, _, err = init("init", str(tmp_path / "a" / "b"))
    if code:
        assert said("tree-not-kept") in err
        assert not (tmp_path / "a").exists()
    assert (code == 0) == (next(left, None) is not None or (tmp_path / "a/b/pillar/top.sls").exists())
