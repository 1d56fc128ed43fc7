"""Runs a tree, kills the run at one of its moments, resumes it. A program of its own, which forks without threads.

    python crash_driver.py FOLDER CONCURRENCY POINTS…

``FOLDER/salt`` is the tree. A point is one kill or several, ``KIND:NUMBER[,KIND:NUMBER…]``: the run is killed at the
first, resumed and killed at the second, and so on, and then resumed to its end. Kinds of moments:

    after:N   line N of the log of the run has been written, and nothing else has happened
    torn:N    a state has done its work, and of the line with row N a part is in the log: nothing, half, or all but its
              end, by turns
    call:N    the tree's own module is called for the Nth time, and has done nothing yet
    done:N    that call has done its work, and has not returned

``KIND:*/STEP+FIRST`` stands for every STEPth moment of the run from FIRST on. The first line of the answer is about a
run that is left alone; then there is one for each point.
"""

import asyncio
import itertools
import json
import os
import shutil
import signal
import sys
import threading
from contextvars import ContextVar
from functools import partial

from asyncstate import Settings, StateRuntime
from asyncstate.journal import log as run_log
from asyncstate.journal.entry import events_of, read_event, whole_lines
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished, RunStarted


def settings(folder, machine):
    return Settings(
        id="crash",
        file_roots={"base": [os.path.join(folder, "salt")]},
        cachedir=os.path.join(machine, "state", "cache"),
        state_dir=os.path.join(machine, "state"),
        pillar={"machine": machine},
        prefetch=False,
        journal=True,
        trust_writable=True,
        grains_override={"os": "Debian", "os_family": "Debian", "kernel": "Linux", "id": "crash"},
    )


COUNTED = {"after": "line", "torn": "row", "call": "call", "done": "call"}


_call = ContextVar("call")
"""The number of the call of the tree's module that a thread or a task makes."""


class Moments:
    """Counts the moments of this process, and kills it at one of them."""

    def __init__(self):
        self.counts = {"line": 0, "row": 0, "call": 0}
        self.calls = itertools.count()
        self.kind, self.number = "", -1
        self.write = run_log.RunLog.write

    def install(self):
        def write(log, data):
            lines = bytes(data).splitlines(keepends=True)
            for place, line in enumerate(lines):
                is_row = isinstance(read_event(line), ChunkFinished)
                self.counts["line"] += line.endswith(b"\n")
                self.counts["row"] += is_row
                if is_row and self.is_at("torn", "row"):
                    part = line[: (0, len(line) // 2, len(line) - 1)[self.number % 3]]
                    self.write(log, b"".join([*lines[:place], part]))
                    self.die()
                if line.endswith(b"\n") and self.is_at("after", "line"):
                    self.write(log, b"".join(lines[: place + 1]))
                    self.die()
            self.write(log, data)

        run_log.RunLog.write = write
        sys.crash_moment = self.called

    def called(self, kind):
        """Take note of a call of the tree's own module: it begins ("call"), or has done its work ("done")."""
        if kind == "call":
            number = next(self.calls)
            self.counts["call"] = number + 1
            _call.set(number)
        if self.kind == kind and _call.get() == self.number:
            self.die()

    def is_at(self, kind, counted):
        """Whether this is the moment at which to die."""
        return self.kind == kind and self.counts[counted] - 1 == self.number

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)


moments = Moments()


async def run(folder, machine, concurrency, **options):
    async with StateRuntime(settings(folder, machine)) as runtime:
        return await runtime.apply(["site"], concurrency=concurrency, **options)


def applied(folder, machine, concurrency, **options):
    report = asyncio.run(run(folder, machine, concurrency, **options))
    return {"rows": report.rows, "exit": report.exit_code, "notices": report.notices, "counts": moments.counts}


def in_child(work, death=None):
    """Do work in a process of its own; return what it says, "killed" if it died at ``death``."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        code = 70
        try:
            if death is not None:
                moments.kind, moments.number = death
            with os.fdopen(writing, "w") as pipe:
                try:
                    said = work()
                except Exception as error:  # noqa: BLE001 - the parent tells
                    said = {"error": f"{type(error).__name__}: {error}"}
                json.dump(said, pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {**(json.loads(said) if said else {}), "killed": killed}


def story(machine):
    """What was called, in order, as the tree's own module noted it."""
    try:
        with open(os.path.join(machine, "calls"), encoding="utf-8") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def kept(machine):
    """What the log of the killed run has: whether it began and ended, the rows that ended, the tags that are open."""
    folder = os.path.join(machine, "state", "journal")
    logs = [name for name in os.listdir(folder) if name.endswith(".log")] if os.path.isdir(folder) else []
    begun, finished, ended, open_ = False, False, {}, set()
    for name in logs:
        with open(os.path.join(folder, name), "rb") as log:
            events = list(events_of(whole_lines(log)))
        for event in events:
            begun = begun or isinstance(event, RunStarted)
            finished = isinstance(event, RunFinished)
            if isinstance(event, ChunkStarted) and not event.check:
                open_.add(event.tag)
            elif isinstance(event, ChunkFinished) and not event.check:
                open_.discard(event.tag)
                ended[event.tag] = event.row
    return {"begun": begun, "finished": finished, "ended": ended, "open": sorted(open_)}


def files(machine):
    found = {}
    for at, folders, names in os.walk(machine):
        if at == machine:
            folders[:] = [name for name in folders if name != "state"]
            names = [name for name in names if name != "calls"]
        for name in names:
            path = os.path.join(at, name)
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, machine)] = [file.read(), os.stat(path).st_mode]
    return found


def tried(folder, machine, concurrency, deaths):
    """Die at each of some moments, one run after the other, and resume to the end; return the answer."""
    shutil.rmtree(machine, ignore_errors=True)
    os.makedirs(machine)
    deeds, resume = [], None
    for death in [*deaths, None]:
        before = len(story(machine))
        answer = in_child(partial(applied, folder, machine, concurrency, resume=resume), death)
        calls = story(machine)[before:]
        if not answer["killed"]:
            break
        deeds.append({**kept(machine), "calls": calls})
        resume = "latest" if any(deed["begun"] for deed in deeds) else None
    return {**answer, "deaths": deeds, "calls": calls, "files": files(machine)}


def expanded(point, counts):
    """Return the points that a word of the command line stands for, each a list of kinds and numbers."""
    kind, _, number = point.partition(":")
    if number.startswith("*"):
        step, _, first = number[2:].partition("+")
        among = counts[COUNTED[kind]]
        return [[(kind, each)] for each in range(int(first or 0), among, int(step or 1))]
    parts = [each.partition(":") for each in point.split(",")]
    return [[(kind, int(number)) for kind, _, number in parts]]


def main(folder, concurrency, *points):
    machine = os.path.join(folder, "machine")
    moments.install()
    # A first run loads what each of the others needs.
    os.makedirs(machine)
    applied(folder, machine, concurrency)
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(30)
    assert threading.active_count() == 1, threading.enumerate()
    moments.counts = dict.fromkeys(moments.counts, 0)

    def say(**answer):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    alone = tried(folder, machine, concurrency, [])
    say(point="alone", **alone)
    for point in points:
        for deaths in expanded(point, alone["counts"]):
            said = ",".join(f"{kind}:{number}" for kind, number in deaths)
            say(point=said, **tried(folder, machine, concurrency, deaths))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
