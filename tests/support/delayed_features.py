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

from asyncstate import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from asyncstate import StateRuntime
    from asyncstate.model.plan import Plan

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
    """One state that does something at a place. ``world`` is what it needs to have an effect there."""

    name: str
    function: str
    arguments: dict
    world: str = "file"
    fresh: bool = False
    """Whether it changes the runtime itself, so that every run needs one of its own."""

    def declaration(self, place: Place) -> dict:
        return {self.function: [{key: _filled(value, place)} for key, value in self.arguments.items()]}


def _filled(value, place):
    """A value with ``P``, the place, ``D``, its folder, and ``R``, the root, filled in."""
    if isinstance(value, str):
        return value.replace("<P>", place.path).replace("<D>", place.folder).replace("<R>", place.root)
    if isinstance(value, dict):
        return {_filled(key, place): _filled(item, place) for key, item in value.items()}
    return [_filled(item, place) for item in value] if isinstance(value, list) else value


def _files():
    yield "managed", {"contents": "managed\n"}
    yield "managed: mode", {"mode": "0600", "replace": False}
    yield "managed: salt source", {"source": "salt://s.txt"}
    yield "managed: local source", {"name": "<R>/out/local", "source": "<P>"}
    yield "managed: makedirs", {"name": "<D>/new/y", "contents": "y", "makedirs": True, "dir_mode": "0700"}
    yield "managed: makedirs, other mode", {"name": "<D>/new/z", "contents": "z", "makedirs": True}
    yield "managed: check_cmd", {"name": "<R>/out/checked", "contents": "c", "check_cmd": "grep -h 1 <P>"}
    yield "managed: onlyif", {"name": "<R>/out/onlyif", "contents": "c", "onlyif": "grep -q managed <P>"}
    yield "managed: unless, in quotes", {"name": "<R>/out/unless", "contents": "c", "unless": "test -s '<D>'/x"}
    yield (
        "managed: onlyif, a function",
        {
            "name": "<R>/out/fun",
            "contents": "c",
            "onlyif": [{"fun": "file.contains", "args": ["<P>", "managed"]}],
        },
    )
    yield "managed: creates", {"name": "<R>/out/creates", "contents": "c", "creates": "<P>"}
    yield "append", {"text": "appended"}
    yield "prepend", {"text": "prepended"}
    yield "replace", {"pattern": "key = .*", "repl": "key = replaced"}
    yield "replace: no backup", {"pattern": "1", "repl": "one", "backup": False}
    yield "comment", {"regex": "^key"}
    yield "uncomment", {"regex": "b = 2"}
    yield (
        "blockreplace",
        {
            "marker_start": "# start",
            "marker_end": "# end",
            "content": "block",
            "append_if_not_found": True,
        },
    )
    yield "line", {"content": "a line", "mode": "ensure", "after": "key"}
    yield "keyvalue", {"key_values": {"key": "kv"}, "separator": " = ", "append_if_not_found": True}
    yield "serialize", {"dataset": {"key": 1}, "serializer": "json"}
    yield "decode", {"encoded_data": "ZGVjb2RlZAo="}
    yield "copy: from", {"name": "<R>/out/copied", "source": "<P>"}
    yield "copy: to", {"source": "<R>/stuff", "force": True}
    yield "copy: folder", {"name": "<R>/out/folder", "source": "<D>"}
    yield "rename: from", {"name": "<R>/out/renamed", "source": "<P>"}
    yield "rename: to", {"source": "<R>/spare", "force": True}
    yield "rename: folder", {"name": "<R>/out/moved", "source": "<D>"}
    yield "symlink: at", {"target": "<R>/stuff", "force": True}
    yield "symlink: to", {"name": "<R>/out/link", "target": "<P>"}
    yield "hardlink", {"name": "<R>/out/hard", "target": "<P>"}
    yield "absent", {}
    yield "absent: folder", {"name": "<D>"}
    yield "directory", {"name": "<D>", "mode": "0750"}
    yield "directory: below", {"name": "<D>/new", "mode": "0711"}
    yield "directory: clean", {"name": "<D>", "clean": True}
    yield "directory: recurse", {"name": "<D>", "file_mode": "0640", "recurse": ["mode"]}
    yield "recurse", {"name": "<D>", "source": "salt://tree"}
    yield "recurse: clean", {"name": "<D>", "source": "salt://tree", "clean": True}
    yield "tidied", {"name": "<D>", "matches": ["x.*"], "rmdirs": True, "age": 0}
    yield "exists", {}
    yield "missing", {}
    yield "cached", {}
    yield "patch", {"source": "salt://x.patch", "strip": 1}
    yield "retention_schedule", {"name": "<D>", "retain": {"most_recent": 1}, "strptime_format": "x%d"}


_COMMANDS = {
    "write": {"name": "echo written > <P>"},
    "append": {"name": "echo appended >> <P>"},
    "read": {"name": "cat <P>"},
    "write in cwd": {"name": "echo cwd > x", "cwd": "<D>"},
    "read in cwd": {"name": "cat x", "cwd": "<D>"},
    "cd": {"name": "cd <D> && echo cd > x"},
    "copy from": {"name": "cp <P> <R>/out/cp"},
    "copy to": {"name": "cp <R>/stuff <P>"},
    "copy a folder": {"name": "cp -a <D> <R>/out/cpd"},
    "move": {"name": "mv <P> <R>/out/mv"},
    "remove": {"name": "rm -f <P>"},
    "remove a folder": {"name": "rm -rf <D>"},
    "glob": {"name": "cat <D>/x*"},
    "braces": {"name": "cat <D>/{x,y}", "shell": "/bin/bash"},
    "quotes": {"name": 'cat "<D>"/"x"'},
    "variable": {"name": "F=<D>; cat $F/x"},
    "home": {"name": "cat ~/x"},
    "env": {"name": 'cat "$PLACE"', "env": [{"PLACE": "<P>"}]},
    "standard input": {"name": "wc -c < <P>"},
    "tee": {"name": "echo tee | tee <P>"},
    "sh": {"name": "sh <P>"},
    "dot": {"name": ". <P>"},
    "sed -i": {"name": "sed -i s/key/lock/ <P>"},
    "chmod": {"name": "chmod 0600 <P>"},
    "install": {"name": "install -m 0600 <R>/stuff <P>"},
    "ln": {"name": "ln -sfn <R>/stuff <P>"},
    "mkdir": {"name": "mkdir -p <D>/new"},
    "find": {"name": "find <D> -type f | sort"},
    "tar c": {"name": "tar -cf <R>/out/c.tar -C <R> d --mtime=2020-01-01"},
    "tar x": {"name": "tar -xf <R>/src.tar -C <D>"},
    "tar x from": {"name": "tar -xf <D>/x.tar -C <R>/out"},
    "dd": {"name": "dd if=<R>/stuff of=<P> status=none"},
    "touch": {"name": "touch <P>"},
    "git init": {"name": "git init -q <D>"},
    "output option": {"name": "sort -o <P> <R>/stuff"},
    "python": {"name": "python3 -c \"open('<P>', 'a').write('python')\""},
    "creates": {"name": "echo c > <R>/out/cmd-creates", "creates": "<P>"},
    "onlyif": {"name": "echo c > <R>/out/cmd-onlyif", "onlyif": "grep -q managed <P>"},
    "unless": {"name": "echo c > <R>/out/cmd-unless", "unless": "test -s <P>"},
    "stateful": {"name": "cat <P> >/dev/null; echo; echo changed=yes", "stateful": True},
}


def _others():
    me = getpass.getuser()
    plain = {"enforce_toplevel": False}
    yield "archive: into", "archive.extracted", {"name": "<D>", "source": "<R>/src.tar", **plain}
    yield "archive: from", "archive.extracted", {"name": "<R>/out/un", "source": "<D>/x.tar", **plain}
    yield "cmd: script", "cmd.script", {"source": "salt://script.sh", "args": "<P>"}
    yield "cmd: local script", "cmd.script", {"source": "<P>"}
    clone = {"name": "<R>/origin", "target": "<D>/clone"}
    yield "git: latest", "git.latest", {**clone, "rev": "master"}
    yield "git: cloned", "git.cloned", {**clone, "branch": "master"}
    yield "git: into", "git.latest", {**clone, "target": "<D>", "force_clone": True, "rev": "master"}
    yield "git: config", "git.config_set", {"name": "user.shaken", "value": "1", "global": True}
    yield "ini: present", "ini.options_present", {"name": "<P>", "sections": {"s": {"a": "2"}}}
    yield "ini: absent", "ini.options_absent", {"name": "<P>", "sections": {"s": ["a"]}}
    yield "ini: section", "ini.sections_absent", {"name": "<P>", "sections": ["s"]}
    yield "git: config unset", "git.config_unset", {"name": "user.name", "global": True}
    yield "ssh_auth: absent", "ssh_auth.absent", {"name": KEY, "enc": "ssh-ed25519", "user": me, "config": "<P>"}
    yield (
        "ssh_known_hosts: absent",
        "ssh_known_hosts.absent",
        {"name": "shaken.example.com", "user": me, "config": "<P>"},
    )
    yield "ssh_auth", "ssh_auth.present", {"name": KEY, "enc": "ssh-ed25519", "user": me, "config": "<P>"}
    known = {"name": "shaken.example.com", "key": KEY, "enc": "ssh-ed25519", "hash_known_hosts": False}
    yield "ssh_known_hosts", "ssh_known_hosts.present", {**known, "user": me, "config": "<P>"}
    yield "host", "host.present", {"name": "shaken.example.com", "ip": "192.0.2.7"}


def _of_the_runtime():
    yield "grains: present", "grains.present", {"name": "shaken", "value": "yes"}
    yield "grains: file", "file.append", {"name": "<D>/grains", "text": "other: 1"}
    yield "grains: contents", "file.managed", {"name": "<R>/out/grain", "contents_grains": "shaken"}
    template = {"template": "jinja"}
    yield "grains: template", "file.managed", {"name": "<R>/out/gt", "source": "salt://grain.jinja", **template}
    match = [{"fun": "match.grain", "args": ["shaken:yes"]}]
    yield "grains: condition", "file.managed", {"name": "<R>/out/gm", "contents": "m", "onlyif": match}
    yield "grains: exists", "grains.exists", {"name": "shaken"}
    yield "environ: set", "environ.setenv", {"name": "SHAKEN", "value": "set"}
    yield "environ: command", "cmd.run", {"name": 'echo "SHAKEN: $SHAKEN"'}
    yield "environ: template", "file.managed", {"name": "<R>/out/et", "source": "salt://env.jinja", **template}
    yield "environ: condition", "file.managed", {"name": "<R>/out/ec", "contents": "m", "onlyif": 'test -n "$SHAKEN"'}
    yield "environ: script", "cmd.script", {"source": "<R>/env.sh"}


def features() -> list[Feature]:
    """Every feature that this machine has the programs for."""
    found = []
    for name, given in _files():
        world = "missing" if name in {"copy: to", "managed: makedirs", "missing", "recurse"} else "file"
        found.append(Feature(f"file.{name}", f"file.{name.partition(':')[0]}", {"name": "<P>", **given}, world))
    found += [Feature(f"cmd: {name}", "cmd.run", given) for name, given in _COMMANDS.items()]
    for name, function, given in _others():
        found.append(Feature(name, function, given, "missing" if name == "archive: into" else "file"))
    found += [Feature(name, function, given, fresh=True) for name, function, given in _of_the_runtime()]
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
