"""A state that is refused or fails half-way: its row says what it has done until then.

A table: every state that takes a path, times what stands there, times each change that is the last.
"""

from __future__ import annotations

import errno
import os
import shutil
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from asyncstate import filesystem
from asyncstate.errors import PathRefused
from tests.guarantees.test_hostile_neighbours import STATES, ground, restore, tree  # noqa: F401 - ground is a fixture

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="the states of the table give files to others; run the tests as root"),
    pytest.mark.timeout(120),
]

DEEDS = {"created", "changed", "removed", "removed in part"}
FUNCTIONS = (
    "give", "link", "makedirs", "mkdir", "mknod", "move", "remove", "remove_tree", "rename", "replace_content",
    "replace_text", "rmdir", "set_times", "symlink", "copy_tree", "copy_file",
)  # fmt: skip
METHODS = (
    (filesystem.Replacement, "commit"),
    *((filesystem.Beneath, name) for name in ("mkdir", "write", "symlink", "link", "give")),
)
PROGRAMS = {"git", "git, forced", "pip, requirements", "virtualenv"}
"""What these states do is done by programs, which go past the door."""
FAILURES: dict[str, Callable[[], BaseException]] = {
    "refused": lambda: PathRefused("Refusing to go on"),
    "broken": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
}


class Fuse:
    """Lets so many changes through, and then none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failure: Callable[[], BaseException]) -> None:
        self.left = 1_000_000
        self.blown = False
        for name in FUNCTIONS:
            monkeypatch.setattr(filesystem, name, self.guarded(getattr(filesystem, name), failure))
        for kind, name in METHODS:
            monkeypatch.setattr(kind, name, self.guarded(getattr(kind, name), failure))

    def guarded(self, function: Callable[..., Any], failure: Callable[[], BaseException]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.left == 0:
                self.blown = True
                raise failure()
            self.left -= 1
            return function(*args, **kwargs)

        return call


def lay_out(base):
    """Make a folder of root's with something of each kind in it."""
    here = base / "home"
    os.chown(here, 0, 0)
    (here / "d" / "inner").mkdir(parents=True)
    for name in ("f", "d/a", "d/b", "d/inner/c"):
        (here / name).write_text("root=secret\n")
    os.symlink("f", here / "link")


def in_words(state):
    """Let what a state raises become its row, as the engine does."""

    def call(**arguments: Any) -> Any:
        try:
            return state(**arguments)
        except Exception as error:
            raise PathRefused(str(error)) from error

    return call


def differing(before, after):
    """Return what was made, removed, replaced or changed; a folder of which only the content changed is the same."""
    one = {path: (*rest[:3], *(rest[3:] if rest[-1] else ())) for path, *rest in before}
    two = {path: (*rest[:3], *(rest[3:] if rest[-1] else ())) for path, *rest in after}
    return sorted(path for path in one.keys() | two.keys() if one.get(path) != two.get(path))


@pytest.mark.feature("F214")
@pytest.mark.parametrize("failure", ["refused", pytest.param("broken", marks=pytest.mark.slow)])
@pytest.mark.parametrize("state", [name for name in STATES if name not in PROGRAMS])
def test_a_row_keeps_what_was_done_before_its_state_failed(ground, tmp_path, monkeypatch, state, failure):  # noqa: F811
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # what a state leaves that could not remove it
    fuse = Fuse(monkeypatch, FAILURES[failure])
    for below in ("f", "d", "link", "new/x"):
        for done in count():
            fuse.left = 1_000_000
            lay_out(tmp_path)
            before = tree(tmp_path / "home")
            function, arguments = STATES[state](f"{tmp_path}/home/{below}", tmp_path)
            fuse.left, fuse.blown = done, False
            row = ground.state(
                in_words(ground.states[function]), test=False, low={**arguments, "__id__": "a"}, **arguments
            )
            changed = differing(before, tree(tmp_path / "home"))
            told = f"{function} {below}, {done} done: {row}, but {changed}"
            if changed and row["result"] is False:
                assert row["changes"], told
            if row["result"] is False and row["changes"].keys() <= DEEDS:
                said = [f"{path}/" for paths in row["changes"].values() for path in paths]
                assert [path for path in changed if not f"{path}/".startswith(tuple(said))] == [], told
            fuse.left = 1_000_000
            shutil.rmtree(tmp_path / "got", ignore_errors=True)
            restore(tmp_path, "home")
            if not fuse.blown:
                break
            assert done < 40, told
