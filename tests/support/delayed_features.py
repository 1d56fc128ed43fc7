"""Features whose effects can meet in one place: a state declaration for each, and the world in which pairs of them run.

The world is a folder: ``d/x`` is the place where they meet, a file with a few lines, and ``d/x.tar`` an archive; everything
else in it is only read, or written by one feature alone.
"""

from __future__ import annotations

import getpass
import io
import os
import shutil
import stat
import subprocess
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from recording import filled
from tables import beside

from asyncstate import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from asyncstate import StateRuntime
    from asyncstate.model.plan import Plan

TABLES = beside(__file__)

T = TypeVar("T")

TEXT = "# first\nkey = 1\n[s]\na = 1\n#b = 2\n"
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ1bm5pbmd0aGVzYW1ldGVzdGluZXZlcnlvcmRlcjAw"
PATCH = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n # first\n-key = 1\n+key = 2\n"
SOURCES = {
    "s.txt": "from the tree\n",
    "env.jinja": "{{ salt['environ.get']('SHAKEN', 'unset') }}\n",
    "grain.jinja": "{{ grains.get('shaken', 'unset') }}\n",
    "tree/x": "of a tree\n",
    "tree/sub/y": "deeper\n",
    "x.patch": PATCH,
    "script.sh": '#!/bin/sh\ncat "$1" 2>/dev/null | wc -c\necho script >> "$1"\n',
}


@dataclass(frozen=True)
class Place:
    """Where two features meet: ``folder`` may be the folder itself or a link to it."""

    root: str
    folder: str

    @property
    def path(self) -> str:
        return f"{self.folder}/x"


@dataclass(frozen=True)
class Feature:
    """One state that does something at a place, ``<P>``, in its folder, ``<D>``, below a root, ``<R>``.

    ``world`` is what it needs to have an effect there.
    """

    name: str
    function: str
    arguments: dict
    world: str = "file"
    fresh: bool = False
    """Whether it changes the runtime itself, so that every run needs one of its own."""

    def declaration(self, place: Place) -> dict:
        texts = {"<P>": place.path, "<D>": place.folder, "<R>": place.root}
        return {self.function: [{key: filled(value, texts)} for key, value in self.arguments.items()]}


def features() -> list[Feature]:
    """Every feature that this machine has the programs for."""
    tables = filled(TABLES, {"<key>": KEY, "<user>": getpass.getuser()})
    missing = tables["without a file at the place"]
    found = [
        Feature(name, *call, "missing" if name in missing else "file", fresh)
        for table, fresh in (("features", False), ("of the runtime", True))
        for name, calls in tables[table].items()
        for call in calls.items()
    ]
    lacking = {prefix for prefix, program in _PROGRAMS.items() if not shutil.which(program)}
    return [each for each in found if not each.name.startswith(tuple(lacking) or ("\0",))]


_PROGRAMS = {"git:": "git", "cmd: git": "git", "file.patch": "patch", "cmd: braces": "bash"}


def each_in_a_pair(features: Sequence[T]) -> Iterator[tuple[T, T]]:
    """Yield few pairs of features: together they have each of them."""
    return zip(features[: (len(features) + 1) // 2], features[len(features) // 2 :], strict=True)


class World:
    """The folder that pairs run in; `make` makes it anew."""

    def __init__(self, base: Path) -> None:
        self.root = base / "root"
        self._base = base
        self._pristine = base / "pristine"
        self._build(self._pristine)

    def settings(self, **more: Any) -> Settings:
        """Return settings of runs that keep to this world."""
        return Settings(
            file_roots={"base": [str(self.root / "salt")]},
            pillar_roots={},
            cachedir=str(self._base / "cache"),
            conf_file=str(self.root / "d" / "minion"),
            journal="off",
            extra={"hosts.file": str(self.root / "d" / "x")},
            **more,
        )

    @property
    def place(self) -> Place:
        return Place(str(self.root), str(self.root / "d"))

    @property
    def linked(self) -> Place:
        """The same place, through a link that the tree makes."""
        return Place(str(self.root), str(self.root / "l"))

    def make(self, kind: str, *, repository: bool = True) -> None:
        """Make it anew: with the file in its place, or without; with the repository to clone, or without."""
        if self.root.exists():
            shutil.rmtree(self.root)
        left_out = () if repository else ("origin",)
        shutil.copytree(self._pristine, self.root, symlinks=True, ignore=lambda _folder, _names: left_out)
        if kind == "missing":
            (self.root / "d" / "x").unlink()

    def _build(self, root: Path) -> None:
        for folder in ("d", "out", "salt"):
            (root / folder).mkdir(parents=True)
        for name, text in {
            "d/x": TEXT,
            "stuff": "stuff\n",
            "spare": "spare\n",
            "env.sh": 'echo "script: $SHAKEN"\n',
        }.items():
            (root / name).write_text(text)
        (root / "env.sh").chmod(stat.S_IRWXU)
        for name, text in SOURCES.items():
            (root / "salt" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "salt" / name).write_text(text)
        for name in ("src.tar", "d/x.tar"):
            with tarfile.open(root / name, "w") as archive:
                member = tarfile.TarInfo("x")
                member.size, member.mtime = 9, 1
                archive.addfile(member, io.BytesIO(b"unpacked\n"))
        if shutil.which("git"):
            self._repository(root / "origin")

    def _repository(self, path: Path) -> None:
        path.mkdir()
        (path / "x").write_text("of a repository\n")
        who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        date = {"GIT_AUTHOR_DATE": "2020-01-01T00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00Z"}
        for words in (["init", "-q", "-b", "master"], ["add", "x"], ["commit", "-qm", "one"]):
            environ = {**os.environ, **who, **date, "HOME": str(path)}
            subprocess.run(["git", *words], cwd=path, check=True, env=environ)


async def rows_of(runtime: StateRuntime, plan: Plan, *, test: bool = False) -> dict[str, Any]:
    """Run a plan at one slot, and return its rows by tag."""
    async with runtime.run(plan, concurrency=1, test=test, events=False, lock=False) as run:
        pass
    return run.report.rows
