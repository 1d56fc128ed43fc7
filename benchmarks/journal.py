"""The journal: processor time and wall time of a whole run with and without it, alternating.

``python benchmarks/journal.py [COUNT [ROUNDS]]``. A tree of states that do nothing is applied by the command line, each
time in a process of its own; what is compared is the user and system time of these processes.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

LEAST = 10_000


def applied(folder: Path, journal: str) -> tuple[float, float]:
    """Apply the tree; return the seconds of processor and of wall time."""
    words = ["asyncstate", "apply", "web", "--file-root", str(folder), "--journal", journal, "--out", "json"]
    environ = {
        **os.environ,
        "HOME": str(folder),
        "ASYNCSTATE_STATE_DIR": str(folder / "state"),
        "ASYNCSTATE_CACHEDIR": str(folder / "cache"),
    }
    began = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", *words], environ, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"apply ended with {status}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - began


def main(count: int = LEAST, rounds: int = 5) -> None:
    """Print the medians of both, and what the journal adds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.joinpath("web.sls").write_text("".join(f"s{number}: {{test.nop: []}}\n" for number in range(count)))
        first = applied(folder, "on")
        times: dict[str, list[tuple[float, float]]] = {"off": [], "on": []}
        for _ in range(rounds):
            for journal, found in times.items():
                found.append(applied(folder, journal))
        cpu, wall = (
            {key: statistics.median(each[at] for each in found) for key, found in times.items()} for at in (0, 1)
        )
        for what, seconds in (("cpu", cpu), ("wall", wall)):
            more = seconds["on"] - seconds["off"]
            share = 100 * more / seconds["off"]
            print(
                f"{what:5} off {seconds['off']:.2f} s  on {seconds['on']:.2f} s  "
                f"+{more / count * 1e6:.1f} µs a state ({share:+.1f} %)"
            )
        print(f"the first run of a plan, whose record is made: cpu {first[0]:.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
