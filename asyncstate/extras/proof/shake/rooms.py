"""Rooms: each run of a tree gets a copy of a root, and never touches the machine."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate import residue
from asyncstate.errors import AsyncStateError, CompileError, Issue
from asyncstate.extras.proof.shake.job import Answer, Job
from asyncstate.extras.proof.shake.outcome import Entry, Outcome, paths_below
from asyncstate.extras.proof.shake.python import PLACE, this_python
from asyncstate.extras.proof.shake.room import Seen, Stage
from asyncstate.model.encode import encoded
from asyncstate.plans.record import PlanRecord
from asyncstate.process.child import run_child
from asyncstate.process.lineage import start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan

PROGRAMS = ("unshare", "mount", "pivot_root")
_NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--propagation=private")
_ENVIRON = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}
_SLOWEST = 10
_AT_LEAST = 60.0
_MOST_ENTRIES = 100_000
"""The number of files of a tree that are checked for links out of it."""


class Rooms:
    """Runs one tree again and again, each time in a new copy of ``root``. Safe to use from several threads.

    ``limit`` is for the first run, in seconds; the others may take ten times as long as it did, and a minute more.
    """

    def __init__(
        self, root: str, settings: Settings, job: Job, *, network: bool = False, limit: float | None = None
    ) -> None:
        self._root = os.path.realpath(root)
        self._job = job
        self._settings = _settings_inside(settings)
        self._mounts = [*this_python().mounts, *((path, path) for path in _paths_of(settings, self._root))]
        self._network = network
        self._before: dict[str, Entry | None] = {}
        self._digest = ""
        self._limit = limit
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def first(self) -> tuple[Plan, Outcome]:
        """Run the tree in serial order. Returns the plan, for `search`, and the outcome.

        Raises CompileError; AsyncStateError if there can be no room; TimeoutError.
        """
        began = time.monotonic()
        answer, outcome = self._run(msgspec.structs.replace(self._job, wants_plan=True))
        self._limit = _SLOWEST * (time.monotonic() - began) + _AT_LEAST
        self._digest = answer.digest
        if not answer.plan:
            raise AsyncStateError("the run in the room had no plan")
        plan = msgspec.json.decode(answer.plan, type=PlanRecord).plan()
        return msgspec.structs.replace(plan, unknown=answer.unknown), outcome

    def run(self, priority: Sequence[int], *, keep: str = "") -> Outcome:
        """Run the tree with a priority; ``keep`` copies the root there afterwards."""
        answer, outcome = self._run(msgspec.structs.replace(self._job, priority=list(priority)), keep)
        if answer.digest and answer.digest != self._digest:
            raise AsyncStateError(
                "the tree compiles to another plan in the same root: its templates use random values or the time, "
                "so that two runs cannot be compared"
            )
        return outcome

    def before(self, path: str) -> Entry | None:
        """Return the root's entry of a path that a run has changed."""
        return self._before.get(path)

    def close(self) -> None:
        """End every run that is under way."""
        self._closed = True
        for process in tuple(self._running):
            process.kill()

    def _run(self, job: Job, keep: str = "") -> tuple[Answer, Outcome]:
        work = residue.make_temporary_folder("asyncstate-shake-")
        try:
            return self._run_in(work, job, keep)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _run_in(self, work: str, job: Job, keep: str) -> tuple[Answer, Outcome]:
        python = this_python()
        text = encoded(msgspec.structs.replace(job, settings=self._settings)).decode()
        environ = {**_ENVIRON, **python.environ}
        stage = Stage(
            self._root, work, self._mounts, python.command, environ, text, own_network=not self._network, keep=keep
        )
        code, out, errors = self._in_namespaces(encoded(stage))
        if code is None:
            if job.wants_plan:
                raise TimeoutError
            return Answer(), Outcome({}, {}, f"it took more than {self._limit:.0f} seconds")
        if code:
            raise AsyncStateError(f"no room can be made of {self._root}: {_end_of(errors)}")
        seen = msgspec.json.decode(out, type=Seen)
        if seen.code or not seen.answer:
            raise AsyncStateError(
                f"asyncstate did not run in {self._root}: {_end_of(errors) or f'exit code {seen.code}'}"
            )
        answer = msgspec.json.decode(seen.answer, type=Answer)
        if answer.issues:
            raise CompileError([Issue(*issue) for issue in answer.issues])
        self._before.update(seen.before)
        return answer, Outcome(answer.rows, seen.paths, answer.ended)

    def _in_namespaces(self, stage: bytes) -> tuple[int | None, bytes, bytes]:
        """Run `room` to its end; the exit code is None if it took too long."""
        pipe = subprocess.PIPE
        command = ["unshare", *_NAMESPACES, *([] if self._network else ["--net"]), *_for_others()]
        command += ["--", sys.executable, "-m", "asyncstate.extras.proof.shake.room"]
        process, _ = start(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self._running.add(process)
        try:
            if self._closed:
                process.kill()
            out, errors = process.communicate(stage, timeout=self._limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, b"", b""
        except BaseException:  # an interrupted search must not leave a room behind
            process.kill()
            process.wait()
            raise
        finally:
            self._running.discard(process)
        return process.returncode, out, errors


def refusal(root: str) -> str:
    """Return the reason why a folder cannot be the root of rooms; "" if it can."""
    if not os.path.isdir(root):
        return f"{root} is not a directory"
    if os.path.samefile(root, "/"):
        return f"{root} is this machine: name a folder with a copy of a system, or an empty one"
    absent = [program for program in PROGRAMS if not shutil.which(program)]
    if absent:
        return f"this needs {', '.join(absent)} (package util-linux)"
    allowed = run_child(["unshare", *_NAMESPACES, "--net", *_for_others(), "true"])
    return f"this user may make no namespaces here: {_end_of(allowed.stderr)}" if allowed.returncode else ""


def _for_others() -> list[str]:
    """Return the options with which a user other than root becomes root of a namespace."""
    if os.geteuid() == 0:
        return []
    user = ["--user", "--map-root-user"]
    with suppress(OSError, KeyError):
        name = pwd.getpwuid(os.geteuid()).pw_name
        with open("/etc/subuid", encoding="utf-8") as file:
            if shutil.which("newuidmap") and any(line.startswith(f"{name}:") for line in file):
                user.append("--map-auto")
    return user


def _settings_inside(settings: Settings) -> dict[str, Any]:
    """Return the settings of a run in a room: its caches are not part of the root."""
    inside: dict[str, Any] = msgspec.to_builtins(settings)
    inside.update(cachedir=f"{PLACE}/cache", state_dir=f"{PLACE}/state", timeout=None, concurrency=1)
    return inside


def _paths_of(settings: Settings, root: str) -> list[str]:
    """Return the paths of the tree on this machine; a room mounts them at the same place, read-only."""
    roots = [
        folder for by_env in (settings.file_roots, settings.pillar_roots) for each in by_env.values() for folder in each
    ]
    plugins = (
        *settings.states_dirs,
        *settings.module_dirs,
        *settings.utils_dirs,
        *settings.grains_dirs,
        *settings.render_dirs,
    )
    folders = [folder for folder in dict.fromkeys(map(os.path.abspath, (*roots, *plugins))) if os.path.isdir(folder)]
    return linked_from(folders, lambda path: path.count("/") > 1 and not os.path.lexists(f"{root}{path}"))


def linked_from(folders: Sequence[str], is_wanted: Callable[[str], bool]) -> list[str]:
    """Return folders, and targets of links in them that are wanted and in none of them; of links in targets, too."""
    found = [*folders]
    seen = 0
    for folder in found:
        for path in paths_below(folder) if os.path.isdir(folder) else ():
            seen += 1
            if seen > _MOST_ENTRIES:
                return found
            place = folder + path
            if os.path.islink(place):
                target = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
                is_inside = any(f"{target}/".startswith(f"{each}/") for each in found)
                if not is_inside and is_wanted(target) and os.path.exists(target):
                    found.append(target)
    return found


def _end_of(errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode(errors="replace").strip().splitlines()]
    return ". ".join(lines[-3:])
