"""Memory and time a state: ``asyncstate apply`` of a tree and of one a tenth as large, by shape.

``python benchmarks/memory.py [COUNT]``. Memory is the peak of the whole process above that of a single state, so it
does not depend on what else the machine does. Time is processor time; 10 in the last column means linear growth.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import trees

SHAPES = ("wide", "chain", "layered", "fan_in", "fan_out", "watch")


class Spent(NamedTuple):
    """What a whole process took: peak memory in KiB, and processor seconds."""

    kib: float
    cpu: float


def apply(shape: str, count: int, *options: str) -> Spent:
    """Apply a tree cold, with folders of its own. Raises RuntimeError if it fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = trees.write(shape, count, folder)
        folders = {"HOME": name, "ASYNCSTATE_CACHEDIR": f"{name}/cache", "ASYNCSTATE_STATE_DIR": f"{name}/state"}
        arguments = ["apply", "bench", "--file-root", str(root), "--out", "json", *options]
        out = os.open(folder / "out", os.O_WRONLY | os.O_CREAT)
        try:
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", "asyncstate", *arguments],
                {**os.environ, **folders},
                file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)],
            )
            _, status, usage = os.wait4(pid, 0)
        finally:
            os.close(out)
        if status or (folder / "out").read_bytes().count(b'"result": true') != count:
            raise RuntimeError(f"the tree of {count} states, {shape}, did not apply")
    return Spent(usage.ru_maxrss, usage.ru_utime + usage.ru_stime)


def above(spent: Spent, start: Spent, count: int) -> Spent:
    """Return what one state took, in KiB and in seconds."""
    return Spent((spent.kib - start.kib) / count, (spent.cpu - start.cpu) / count)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=20000, help="states of the larger tree (20000)")
    count = parser.parse_args().count
    start = apply("wide", 1)
    print(f"start: {start.kib / 1024:.1f} MiB, {start.cpu:.2f} s")
    print(f"{'shape':<10}{'states':>8}{'MiB':>8}{'KiB a state':>13}{'µs a state':>12}{'ten times':>11}")
    for shape in SHAPES:
        small, large = apply(shape, count // 10), apply(shape, count)
        one = above(large, start, count)
        growth = (large.cpu - start.cpu) / max(0.001, small.cpu - start.cpu)
        print(f"{shape:<10}{count:>8}{large.kib / 1024:>8.0f}{one.kib:>13.2f}{one.cpu * 1e6:>12.0f}{growth:>11.1f}")


if __name__ == "__main__":
    main()
