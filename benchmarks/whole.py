"""Whole processes: what a command takes from its start to its end, and whether it did what it should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

ASYNCSTATE = str(Path(sys.executable).with_name("asyncstate"))
"""The command as users have it: `python -m asyncstate` knows neither its pack of code nor its thresholds of garbage."""

_LAUNCHER = """\
import json, os, sys, time
began = time.perf_counter()
_, status, usage = os.wait4(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ), 0)
spent = [usage.ru_maxrss, usage.ru_utime + usage.ru_stime, time.perf_counter() - began]
with open(sys.argv[1], "w") as out:
    json.dump([os.waitstatus_to_exitcode(status), *spent], out)
"""
"""Starts the program from a small process: the peak of one that a large process starts begins with the other's."""


class Spent(NamedTuple):
    """What a whole process took: peak memory in KiB, seconds of processor (of its children, too) and of wall time."""

    kib: float
    cpu: float
    wall: float


def asyncstate(root: Path, folder: Path, *options: str) -> list[str]:
    """Return the command line that applies the SLS ``bench``; ``folder/out`` is ``root`` in its pillar."""
    pillar = json.dumps({"root": str(folder / "out")})
    words = ["apply", "bench", "--file-root", str(root), "--pillar", pillar, "--out", "json"]
    return [ASYNCSTATE, *words, *options]


def run(command: Sequence[str], folder: Path, **environ: str) -> tuple[Spent, bytes]:
    """Run a command whose first word is a path; return what it took and its output. Raises SystemExit if it fails.

    All state lies in ``folder``: home, cache, journal. ``folder/out`` is there.
    """
    (folder / "out").mkdir(exist_ok=True)
    own = {"HOME": str(folder), "ASYNCSTATE_CACHEDIR": f"{folder}/cache", "ASYNCSTATE_STATE_DIR": f"{folder}/state"}
    launcher = [sys.executable, "-ISc", _LAUNCHER, f"{folder}/spent", *command]
    done = subprocess.run(launcher, capture_output=True, check=True, env=os.environ | own | environ)
    code, *spent = json.loads((folder / "spent").read_bytes())
    if code:
        said = (done.stdout[-500:] + done.stderr[-500:]).decode(errors="replace")
        raise SystemExit(f"{' '.join(command)} ended with {code}: {said}")
    return Spent(*spent), done.stdout


def applied(command: Sequence[str], count: int, folder: Path, **environ: str) -> Spent:
    """Apply a tree, and return what it took. Raises SystemExit unless it gives ``count`` rows, all true."""
    spent, output = run(command, folder, **environ)
    rows = json.loads(output)
    rows = rows.get("local", rows)
    if len(rows) != count or not all(row["result"] is True for row in rows.values()):
        raise SystemExit(f"{' '.join(command)}: {len(rows)} rows in place of {count} true ones")
    return spent
