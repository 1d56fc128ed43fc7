"""What asyncstate costs: everything docs/evidence/performance.md says, measured in one run.

``SALT_CALL=/path/to/salt-call python benchmarks/performance.py [--write]``. The tools take turns, each on a copy of its
own; the medians of the ratios of the rounds are printed, so a machine whose speed drifts hurts all alike. It takes some
twenty minutes and 3 GB of memory, and the machine should do nothing else. ``--write`` writes the page.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import budget
import memory
import trees
import whole
from apply import beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whole import Spent

PAGE = Path(__file__).resolve().parent.parent / "docs" / "evidence" / "performance.md"

BESIDE = {
    "state": ("wide", 1),
    "states without an order": ("wide", 10000),
    "states in layers that require each other": ("layered", 10000),
    "states in pairs that watch": ("watch", 5000),
    "states of a Jinja loop": ("jinja", 5000),
    "managed files": ("files", 1000),
    "commands": ("commands", 500),
    "commands that wait": ("sleep", 30),
}
"""What is applied with each tool: title -> shape and size."""
SIZES = (10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
MILLION = 1_000_000
GROWING = ("wide", "layered", "chain", "watch")
SLOTS = (1, 2, 4, 8)

HEAD = """\
<!-- Written by benchmarks/performance.py, from one run. -->

# What it costs

Measured in one run on {machine}. CPU is processor time of all processes, that of the
system included. Read the ratios: seconds depend on the machine. What takes the time of your own tree is shown by

    asyncstate bench
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, an empty one first."""
    yield from ("", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}")
    for row in rows:
        yield f"| {' | '.join(row)} |"


def beside_salt(rounds: int) -> Iterator[str]:
    """Yield the section that compares whole commands with Salt's."""
    version = subprocess.run([os.environ["SALT_CALL"], "--version"], check=True, capture_output=True, text=True).stdout
    yield from ("", "## Beside Salt", "")
    yield f"Whole commands, each with an empty cache, beside {version.strip()}. Ratios are shares of what Salt takes."
    rows = []
    for title, (shape, count) in BESIDE.items():
        found = [beside(shape, count) for _ in range(rounds)]
        ours, salts = ([each[tool] for each in found] for tool in ("asyncstate", "salt-call"))
        cpu = statistics.median(one.cpu / other.cpu for one, other in zip(ours, salts, strict=True))
        wall = statistics.median(one.wall / other.wall for one, other in zip(ours, salts, strict=True))
        seconds = (f"{statistics.median(each.cpu for each in of):.2f} s" for of in (ours, salts))
        rows.append([f"{count:,} {title}", *seconds, f"{cpu:.2f}", f"{wall:.2f}"])
        print(rows[-1], file=sys.stderr, flush=True)
    yield from table(["tree", "CPU", "CPU of Salt", "ratio of CPU", "ratio of wall"], rows)


def growth() -> Iterator[str]:
    """Yield the section about a state: its time and memory, and both over the size of the tree."""
    start = memory.apply("wide", 1, "--journal", "on")
    found = {shape: [memory.apply(shape, count, "--journal", "on") for count in SIZES] for shape in GROWING}
    yield from ("", "## Over the size of a tree", "")
    yield f"A run of one state takes {start.cpu:.2f} s of CPU and {start.kib / 1024:.0f} MiB. What others add:"
    rows = []
    for shape, each in found.items():
        last, half = (memory.above(spent, start) for spent in (each[-1], each[-2]))
        a_state = memory.above(each[-1], start, SIZES[-1])
        rows.append([shape, f"{a_state.cpu * 1e6:.0f} µs", f"{a_state.kib:.1f} KiB"])
        rows[-1] += [f"{last.cpu / half.cpu:.2f}", f"{last.kib / half.kib:.2f}"]
    yield from table(["shape", "CPU a state", "memory a state", "CPU, doubled", "memory, doubled"], rows)
    yield ""
    yield f"The last columns compare {SIZES[-1]:,} states with {SIZES[-2]:,}: 2 is linear."
    most = memory.apply("wide", MILLION, "--journal", "on")
    took = f"{most.cpu:.0f} s of CPU, {most.wall:.0f} s and {most.kib / (1 << 20):.1f} GiB"
    yield f"A million states without an order, in one file, take {took}."
    yield from chart("Seconds of CPU", {shape: [spent.cpu for spent in each] for shape, each in found.items()})
    yield from chart("MiB", {shape: [spent.kib / 1024 for spent in each] for shape, each in found.items()})


def chart(title: str, lines: dict[str, list[float]]) -> Iterator[str]:
    """Yield a chart over the number of states, one line a shape."""
    from_above = ", ".join(sorted(lines, key=lambda name: -lines[name][-1]))
    yield from ("", f"{title}, over thousands of states; at the right, from above: {from_above}.", "")
    yield from ("```mermaid", "xychart-beta", f"    x-axis [{', '.join(str(count // 1000) for count in SIZES)}]")
    yield f'    y-axis "{title}" 0 --> {max(map(max, lines.values())):.0f}'
    yield from (f"    line [{', '.join(f'{value:.1f}' for value in values)}]" for values in lines.values())
    yield "```"


def again(rounds: int) -> Iterator[str]:
    """Yield the section about the second run of an unchanged tree."""
    yield from ("", "## A second run", "")
    yield "Compiled templates and parsed YAML are kept in `cachedir`. CPU of a second run, as a share of the first:"
    rows = []
    for shape in ("wide", "layered", "watch", "jinja", "files"):
        count = 1000 if shape == "files" else 10000
        found = [_twice(shape, count) for _ in range(rounds)]
        rows.append([shape, f"{count:,}", f"{statistics.median(later.cpu / first.cpu for first, later in found):.2f}"])
    yield from table(["shape", "states", "ratio of CPU"], rows)


def _twice(shape: str, count: int) -> tuple[Spent, Spent]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = whole.asyncstate(trees.write(shape, count, folder), folder)
        return whole.applied(command, count, folder), whole.applied(command, count, folder)


def at_once(rounds: int) -> Iterator[str]:
    """Yield the section about the number of states at once."""
    yield from ("", "## States at once", "")
    yield "CPU and wall of `-j N`, as shares of those of `-j 1`:"
    rows = []
    for shape, count in {"wide": 10000, "layered": 10000, "files": 1000, "commands": 500, "sleep": 30}.items():
        found = [[_with_slots(shape, count, slots) for slots in SLOTS] for _ in range(rounds)]
        row = [f"{count:,} {shape}"]
        for at in range(1, len(SLOTS)):
            cpu = statistics.median(each[at].cpu / each[0].cpu for each in found)
            wall = statistics.median(each[at].wall / each[0].wall for each in found)
            row.append(f"{cpu:.2f}, {wall:.2f}")
        rows.append(row)
    yield from table(["tree", *(f"`-j {slots}`" for slots in SLOTS[1:])], rows)


def _with_slots(shape: str, count: int, slots: int) -> Spent:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = trees.write(shape, count, folder)
        return whole.applied(whole.asyncstate(root, folder, "-j", str(slots)), count, folder)


def counts() -> Iterator[str]:
    """Yield the section of the counts that each change of asyncstate is held to."""
    yield from ("", "## Counts", "")
    yield "Counts do not depend on the machine. No change of asyncstate may raise one of these without a reason:"
    limits = budget.read()[1]
    yield from table(["count", "limit"], ([name, f"{limit.limit:g}"] for name, limit in limits.items()))


def _machine() -> str:
    model = "a machine"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(": ")[2]
            break
    return f"{os.cpu_count()} cores of {model}, Linux, Python {platform.python_version()}"


def main() -> None:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each comparison (3)")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} in place of printing")
    asked = parser.parse_args()
    if "SALT_CALL" not in os.environ:
        parser.error("SALT_CALL names a salt-call to compare with: SALT_CALL=/path/to/salt-call")
    rounds = asked.rounds
    memory.apply("wide", 1)  # once before all: now everything is compiled
    sections = (beside_salt(rounds), growth(), again(rounds), at_once(rounds), counts())
    text = HEAD.format(machine=_machine()) + "".join(f"{line}\n" for section in sections for line in section)
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
