"""The program in a room: dry-runs pairs of the features of a machine, applies them, and reports wrong forecasts.

It reads ``{"pairs": [[family, first, second], …], "foresight": true}`` and writes ``[[first, second, world, lie], …]``.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys

from asyncstate.modules import kmod, linux_sysctl, mount
from machine_features import FAMILIES, FOLDERS, MAKE

from asyncstate import Settings, StateRuntime
from asyncstate.dunders import NOT_TOLD
from asyncstate.extras.proof.shake.python import PLACE

WORLDS = f"{PLACE}/worlds"
CACHE = f"{PLACE}/cache"


def main():
    """Do the work on standard input; standard output is for the answer alone."""
    answer = os.dup(1)
    os.dup2(2, 1)
    work = json.load(sys.stdin)
    mount._MOUNTINFO, mount._MOUNTS, mount._SWAPS = (f"/run/fake/{each}" for each in ("mountinfo", "mounts", "swaps"))
    kmod._LOADED, kmod._LIBRARY = "/run/fake/modules", "/run/fake/library"
    linux_sysctl._PROC = "/run/fake/settings"
    library = f"/run/fake/library/{os.uname().release}"
    os.makedirs(library)
    for name in (f"{library}/shaken.ko", f"{library}/modules.builtin"):
        open(name, "w").close()
    subprocess.run(["apt-get", "-q", "update"], check=True)
    _copy("/", f"{WORLDS}/bare")
    subprocess.run(["sh", "-e", "-c", MAKE], check=True)
    _copy("/", f"{WORLDS}/made")
    with os.fdopen(answer, "w") as stream:
        json.dump(asyncio.run(_lies(**work)), stream)


def _copy(source, target):
    """Copy all that features change."""
    for folder in FOLDERS:
        to = os.path.join(target, folder)
        os.makedirs(to, exist_ok=True)
        for name in os.listdir(to):
            path = os.path.join(to, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
    folders = [os.path.join(source, folder) for folder in FOLDERS]
    subprocess.run(["cp", "-a", "--", *folders, target], check=True)


async def _lies(pairs, foresight):
    found = []
    by_name = {family: {each.name: each for each in features} for family, features in FAMILIES.items()}
    roots = {"file_roots": {"base": ["/tree"]}, "pillar_roots": {}}
    async with StateRuntime(Settings(**roots, cachedir=CACHE, journal="off", foresight=foresight)) as runtime:
        for family, first, second in pairs:
            features = by_name[family]
            for world in ("bare", "made"):
                told = lies_of(runtime, features[first], features[second], world)
                found += [(first, second, world, lie) async for lie in told]
    return found


async def lies_of(runtime, first, second, world):
    """What the dry run says of the two states and does not come true; and programs that a run refuses without its word."""
    tree = {"first": first.declaration(), "second": second.declaration({"require": [{"id": "first"}]})}
    _copy(f"{WORLDS}/{world}", "/")
    plan = await runtime.compile_data(tree)
    foretold = await _rows(runtime, plan, test=True)
    told = any(row["result"] is not None and not row["changes"] for row in foretold.values())
    if not told and (world == "made" or all(row.get(NOT_TOLD) for row in foretold.values())):
        return  # what a run refuses, it refuses in both worlds
    _copy(f"{WORLDS}/{world}", "/")
    done = await _rows(runtime, plan, test=False)
    for tag, row in foretold.items():
        if row["result"] is False and done[tag]["result"] is not False:
            yield f"{tag} failed: {row['comment']}"
        if row["result"] is True and not row["changes"] and done[tag]["changes"]:
            yield f"{tag} unchanged: {row['comment']}, but {done[tag]['changes']}"
        if row["result"] is None and not row.get(NOT_TOLD) and "Refusing to run" in done[tag]["comment"]:
            yield f"{tag} to change: {row['comment']}, but {done[tag]['comment']}"


async def _rows(runtime, plan, *, test):
    async with runtime.run(plan, concurrency=1, test=test, events=False, lock=False) as run:
        pass
    return run.report.rows
