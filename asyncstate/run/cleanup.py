"""Cleanup after killed runs and cut-off calls: removes their files, names or ends their processes."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING

from asyncstate import filesystem, residue
from asyncstate.errors import PathRefused
from asyncstate.logs import get_logger
from asyncstate.process.ending import reaper
from asyncstate.process.lineage import Lineage, Process, living, program_of
from asyncstate.value import Value

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

    from asyncstate.residue import Dead

log: logging.Logger = get_logger(__name__)

_NAMED = 10
"""The number of processes that are named one by one."""


class Survivors(Value):
    """The processes found of a dead run: its title, and the marks of its programs."""

    title: str
    marks: list[int]


def clear_residue(directory: str) -> list[Survivors]:
    """Remove the temporary files of dead runs; log, and return, their processes that still run.

    The processes are left alone: their work may be half done, and only a person can decide whether it should go on. So
    the notes of their run stay until the last of them has ended. Only a run that holds the run lock may call this.
    """
    found = []
    for path in residue.all_notes(directory):
        with residue.dead_run(path) as dead:
            if dead is None:
                continue
            if _clear(dead):
                found.append(Survivors(dead.title, dead.marks))
            else:
                log.warning(
                    "%s was killed. To see what it had done: asyncstate runs list; asyncstate replay RUN", dead.title
                )
                residue.forget(path)
    return found


def end_residue(directory: str) -> None:
    """End the processes of dead runs, wait for their end, and remove their temporary files."""
    for path in residue.all_notes(directory):
        with residue.dead_run(path) as dead:
            if dead is not None:
                lineages = [Lineage(mark, 0) for mark in dead.marks]
                reaper.end(lineages)
                reaper.wait(lineages)
                _clear(dead)
                residue.forget(path)


def still_running(survivors: Iterable[Survivors]) -> str:
    """Return the processes of dead runs that still run, and the command that ends them, as text; "" for none."""
    lineages = [Lineage(mark, 0) for each in survivors for mark in each.marks]
    alive = living(lineages) if lineages else []
    return _named(alive) if alive else ""


def is_anything_cut_off() -> bool:
    """Whether processes of cut-off calls are being ended, or may have left temporary files."""
    return reaper.busy or residue.is_anything_cut_off()


def clear_cut_off() -> None:
    """Wait for the last process of calls that were cut off, and remove their temporary files.

    This includes calls that still run in a thread: they can make no new files.
    """
    reaper.wait()
    for path in residue.cut_off():
        _removed(path)


def _clear(dead: Dead) -> bool:
    """Remove the temporary files of a dead run; return whether processes of it still run, and log them."""
    removed = sum(_removed(path) for path in dead.temporaries)
    if removed:
        log.info("%s was killed; %d temporary files that it left were removed", dead.title, removed)
    alive = living([Lineage(mark, 0) for mark in dead.marks]) if dead.marks else []
    if alive:
        log.warning("%s was killed, and its processes still run: %s", dead.title, _named(alive))
    return bool(alive)


def _named(alive: list[Process]) -> str:
    named = ", ".join(_described(process) for process in alive[:_NAMED])
    more = f" and {len(alive) - _NAMED} more" if len(alive) > _NAMED else ""
    return f"{named}{more}. Wait for them or end them: kill {' '.join(str(process.pid) for process in alive)}"


def _removed(path: str) -> bool:
    """Remove a noted path; return False if it does not exist or cannot be removed."""
    try:
        found = filesystem.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            filesystem.remove(path)
        elif found.st_uid == os.geteuid():
            filesystem.remove_tree(path)
        else:
            return False
    except FileNotFoundError:
        return False
    except (OSError, PathRefused) as error:
        log.warning("a temporary file that was left cannot be removed: %s", error)
        return False
    return True


def _described(process: Process) -> str:
    """Return the ID, program and start time of a process, without its arguments: they may hold secrets."""
    seconds = time.clock_gettime(time.CLOCK_BOOTTIME) - process.started / os.sysconf("SC_CLK_TCK")
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - seconds))
    return f"process {process.pid} ({program_of(process.pid)}, since {since})"
