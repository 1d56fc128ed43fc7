"""The door of a process that is not root: paths mean what they mean to the kernel, and pipes are refused all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest
from tables import beside

TABLES = beside(__file__)

NOBODY = 65534

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else; other users run all tests so"),
    pytest.mark.timeout(60),
]

DOOR = """
    import json, os, sys
    from asyncstate import filesystem
    from asyncstate.errors import PathRefused
    from asyncstate.filesystem import beneath, trees  # imported on first use, when the user may not reach them
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    os.umask(0o022)
    os.chdir(sys.argv[1])
    home = os.path.join(sys.argv[1], "home")
    at = lambda name: os.path.join(home, name)
    said = {}

    def attempt(name, function, *args, **kwargs):
        try:
            answer = function(*args, **kwargs)
            said[name] = answer.decode() if isinstance(answer, bytes) else answer
        except (OSError, PathRefused) as error:
            said[name] = type(error).__name__

    attempt("make", filesystem.makedirs, at("a/b"))
    attempt("write", filesystem.replace_content, at("a/f"), b"one")
    os.chmod(at("a/f"), 0o640)
    attempt("write again", filesystem.replace_content, at("a/f"), b"two")
    said["mode"] = oct(os.stat(at("a/f")).st_mode & 0o7777)
    attempt("read", filesystem.read_bytes, at("a/f"))
    os.symlink("a/f", at("own link"))
    attempt("through a link", filesystem.read_bytes, at("own link"))
    attempt("through a link of root", filesystem.read_bytes, at("root link"))
    attempt("into a folder of root", filesystem.replace_content, at("root folder/f"), b"x")
    attempt("what only root reads", filesystem.read_bytes, at("secret link"))
    attempt("hand over", filesystem.give, at("a/f"), filesystem.Access(0, 0))
    attempt("change the mode", filesystem.give, at("a/f"), filesystem.Access(mode=0o600))
    os.link(at("a/f"), at("second"))
    attempt("a hard link", filesystem.read_bytes, at("second"))
    os.mkfifo(at("pipe"))
    attempt("a pipe", filesystem.read_bytes, at("pipe"))
    attempt("a device", filesystem.read_bytes, "/dev/zero")
    attempt("run a program", filesystem.require_unshared, home, "git")
    attempt("copy", filesystem.copy_tree, at("a"), at("copy"))
    attempt("list", lambda: sorted(filesystem.listdir(at("copy"))))
    attempt("rename", filesystem.rename, at("copy"), at("moved"))
    with filesystem.Beneath(home) as top:
        attempt("unpack", top.mkdir, "moved/deep/er")
        attempt("unpack upwards", top.mkdir, "../out")
    attempt("remove", filesystem.remove_tree, at("moved"))
    attempt("remove a link", filesystem.remove, at("root link"))
    attempt("remove what is root's", filesystem.remove, os.path.join(sys.argv[1], "victim", "open"))
    said["left"] = sorted(os.listdir(home))
    print(json.dumps(said))
"""


@pytest.fixture
def ground(tmp_path):
    """A home of the user's, with links of root's in it, and a folder of root's."""
    (tmp_path / "home").mkdir()
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "open").write_text("open")
    (tmp_path / "victim" / "secret").write_text("secret")
    (tmp_path / "victim" / "secret").chmod(0o600)
    (tmp_path / "home" / "root link").symlink_to("../victim/open")
    (tmp_path / "home" / "secret link").symlink_to("../victim/secret")
    (tmp_path / "home" / "root folder").symlink_to("../victim")
    os.chown(tmp_path / "home", NOBODY, NOBODY)
    above = 3 if "PYTEST_XDIST_WORKER" in os.environ else 2  # a worker has a folder of its own
    for folder in (tmp_path, *tmp_path.parents[:above]):
        folder.chmod(0o755)
    return tmp_path


@pytest.mark.feature("F214")
def test_paths_mean_what_they_mean_to_the_kernel(ground):
    command = [sys.executable, "-c", textwrap.dedent(DOOR), str(ground)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said == TABLES["paths mean what they mean to the kernel"]
    assert sorted(os.listdir(ground / "victim")) == ["open", "secret"]


TREE = TABLES["tree"]


def test_states_of_an_ordinary_user(ground):
    home = ground / "home"
    (home / "stale").mkdir()
    for name in ("stale/f", "gone"):
        (home / name).write_text("x")
    os.chown(home / "stale", NOBODY, NOBODY)
    (ground / "srv").mkdir()
    (ground / "srv" / "a.sls").write_text(TREE.format(home=home))
    script = """
        import asyncio, difflib, json, os, sys  # difflib: a diff, and the user may not reach the standard library
        import asyncstate
        from asyncstate import Settings, StateRuntime

        async def rows(cache, **options):
            settings = Settings(file_roots={"base": ["srv"]}, cachedir=os.path.abspath(cache))
            async with StateRuntime(settings) as runtime:
                report = await runtime.apply(["a"], **options)
            return [[row["__id__"], row["result"], str(row["comment"])] for row in report.rows.values()]

        os.chdir(sys.argv[1])
        asyncio.run(rows("cache", test=True))  # imports what the user may not be able to reach
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        if not os.access(os.path.join(os.path.dirname(asyncstate.__file__), "runtime.py"), os.R_OK):
            sys.exit(77)
        print(json.dumps(asyncio.run(rows("home/.cache"))))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(ground)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    if done.returncode == 77:
        pytest.skip("the checkout is in a folder that other users cannot enter")
    assert done.returncode == 0, done.stderr
    results = {name: result for name, result, _ in json.loads(done.stdout)}
    assert results == {"a": True, "b": True, "c": True, "d": True, "e": True, "f": False}, done.stdout
    assert (home / "etc/app.conf").read_text() == "one\ntwo\n"
    assert (home / "etc/app.conf").stat().st_uid == NOBODY
    assert os.listdir(home / "stale") == []
    assert not (home / "gone").exists()
    assert sorted(os.listdir(ground / "victim")) == ["open", "secret"]
