"""Memory and time a state: ``asyncstate apply`` of a tree and of one a tenth as large, by shape.

``python benchmarks/memory.py [COUNT] [--journal off|on] [--shape NAME]…``. Memory is the peak of the whole process
above that of a single state, so it does not depend on what else the machine does. The last two columns are how many
times more processor time and memory the larger tree took than one of a tenth: 10 means linear growth. With ``--journal
on`` the plan is new in each run, so its record is made and kept, too.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import trees
import whole
from whole import Spent

SHAPES = ("wide", "chain", "layered", "fan_in", "fan_out", "watch")


def apply(shape: str, count: int, *options: str) -> Spent:
    """Apply a tree cold, with folders of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = trees.write(shape, count, folder)
        # How many arenas glibc makes depends on which threads meet: with one, chance adds little.
        return whole.applied(whole.asyncstate(root, folder, *options), count, folder, MALLOC_ARENA_MAX="1")


def above(spent: Spent, start: Spent, count: int = 1) -> Spent:
    """Return what one state took beside what a run of a single state takes."""
    return Spent(*((much - little) / count for much, little in zip(spent, start, strict=True)))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=20000, help="states of the larger tree (20000)")
    parser.add_argument("--journal", choices=("off", "on"), default="off", help="whether the runs are kept (off)")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="only this shape")
    asked = parser.parse_args()
    count = asked.count
    journal = ("--journal", asked.journal)
    start = apply("wide", 1, *journal)
    print(f"start: {start.kib / 1024:.1f} MiB, {start.cpu:.2f} s; journal {asked.journal}")
    print(f"{'shape':<8}{'states':>8}{'cpu s':>8}{'wall s':>8}{'MiB':>7}{'KiB a state':>13}{'µs a state':>12}", end="")
    print(f"{'x cpu':>7}{'x KiB':>7}")
    for shape in asked.shape or SHAPES:
        small, large = (above(apply(shape, each, *journal), start) for each in (count // 10, count))
        print(f"{shape:<8}{count:>8}{large.cpu:>8.2f}{large.wall:>8.2f}{large.kib / 1024:>7.0f}", end="")
        print(f"{large.kib / count:>13.2f}{large.cpu / count * 1e6:>12.0f}", end="")
        print(f"{large.cpu / small.cpu:>7.1f}{large.kib / small.kib:>7.1f}", flush=True)


if __name__ == "__main__":
    main()
