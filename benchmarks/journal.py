"""The journal: processor time and wall time of a whole run with and without it, alternating.

``python benchmarks/journal.py [COUNT [ROUNDS]]``. A tree of states that do nothing is applied by the command line, each
time in a process of its own; what is compared is the user and system time of these processes.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import trees
import whole

LEAST = 10_000


def main(count: int = LEAST, rounds: int = 5) -> None:
    """Print the medians of both, and what the journal adds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = trees.write("wide", count, folder)
        commands = {journal: whole.asyncstate(root, folder, "--journal", journal) for journal in ("off", "on")}
        first = whole.applied(commands["on"], count, folder)
        times: dict[str, list[whole.Spent]] = {"off": [], "on": []}
        for _ in range(rounds):
            for journal, found in times.items():
                found.append(whole.applied(commands[journal], count, folder))
        cpu = {journal: statistics.median(each.cpu for each in found) for journal, found in times.items()}
        wall = {journal: statistics.median(each.wall for each in found) for journal, found in times.items()}
        for what, seconds in (("cpu", cpu), ("wall", wall)):
            more = seconds["on"] - seconds["off"]
            share = 100 * more / seconds["off"]
            print(
                f"{what:5} off {seconds['off']:.2f} s  on {seconds['on']:.2f} s  "
                f"+{more / count * 1e6:.1f} µs a state ({share:+.1f} %)"
            )
        print(f"the first run of a plan, whose record is made: cpu {first.cpu:.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
