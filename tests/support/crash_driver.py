"""Runs a tree, kills the run at one of its events, and resumes it. A program of its own, which forks before any thread.

    python crash_driver.py FOLDER CONCURRENCY POINT…

``FOLDER/salt`` is the tree; each point gets ``FOLDER/POINT`` as its machine (``-1`` is a run that is left alone), and
answers with a line of JSON: the rows, the exit code, and what was called before and after the kill.
"""

import asyncio
import json
import os
import sys

from asyncstate import Settings, StateRuntime


def settings(folder, machine):
    return Settings(
        id="crash",
        file_roots={"base": [os.path.join(folder, "salt")]},
        cachedir=os.path.join(folder, "cache"),
        state_dir=os.path.join(machine, "state"),
        pillar={"machine": os.path.join(folder, "machine")},
        prefetch=False,
        journal=True,
        trust_writable=True,
        grains_override={"os": "Debian", "os_family": "Debian", "kernel": "Linux", "id": "crash"},
    )


async def run(folder, machine, concurrency, **options):
    async with StateRuntime(settings(folder, machine)) as runtime:
        return await runtime.apply(["site"], concurrency=concurrency, **options)


def in_child(work):
    """Do work in a process of its own; return what it wrote to its pipe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        code = 70
        try:
            os.write(writing, json.dumps(work()).encode() or b"")
            code = 0
        except BaseException as error:  # noqa: BLE001 - the parent tells
            os.write(writing, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(said) if said else {}


def story(machine):
    """What was called, in order, as the tree's own module noted it."""
    try:
        with open(os.path.join(machine, "calls"), encoding="utf-8") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def die_at(point):
    def observer(event):
        if event.seq == point:
            os._exit(9)

    return observer


def applied(folder, machine, concurrency, **options):
    report = asyncio.run(run(folder, machine, concurrency, **options))
    return {"rows": report.rows, "exit": report.exit_code, "notices": report.notices}


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


def tried(folder, machine, concurrency, point):
    """Die at a point and resume; return the answer."""
    os.makedirs(machine)
    died = point >= 0 and in_child(lambda: applied(folder, machine, concurrency, observers=[die_at(point)]))
    before = story(machine)
    answer = in_child(lambda: applied(folder, machine, concurrency, resume=None if point < 0 else "last"))
    after = story(machine)[len(before) :]
    return {**answer, "point": point, "died": died, "before": before, "after": after, "files": files(machine)}


def main(folder, concurrency, *points):
    # All points see the same paths, so that their rows are equal.
    machine = os.path.join(folder, "machine")
    for point in map(int, points):
        sys.stdout.write(json.dumps(tried(folder, machine, concurrency, point)) + "\n")
        sys.stdout.flush()
        os.rename(machine, os.path.join(folder, f"was{point}"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
