"""What an apply may cost, in counts that are the same on a slow machine and on a busy one.

``python benchmarks/budget.py`` counts and ends with an error where a count is over its limit in ``budget.json``, with
the parts of it that grew. ``--record`` writes today's counts there; a limit that rises needs ``--because REASON``,
which is kept beside it. ``--beside COMMIT`` shows what a commit counts, and which parts differ. Counts a state are
differences of two trees, the second with twice the states: none of them includes the start. strace counts syscalls,
that of build/budget-tools if it is there.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

HERE = Path(__file__).resolve().parent
SOURCE = os.environ.get("BUDGET_SOURCE", str(HERE.parent))
"""The checkout that is counted."""
LIMITS = HERE / "budget.json"
TOOLS = HERE.parent / "build" / "budget-tools"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

PLACE = "/tmp"
"""Where trees lie: each folder of a path costs calls, so it is not the place that TMPDIR names."""

OF_CHANCE = frozenset(
    {
        "brk",
        "epoll_pwait",
        "epoll_wait",
        "futex",
        "getpid",
        "madvise",
        "mmap",
        "mprotect",
        "munmap",
        "poll",
        "restart_syscall",
        "sched_yield",
    }
)
"""Syscalls of threads that wait for each other, and of memory: how many there are is a matter of moments."""

WAITING = ("asyncio/", "selectors.py", "threading.py")
"""Code of the event loop and of locks: on a busy machine the loop turns more often until a thread or a program ends."""

TURNS = 3
"""A count that is over its limit is taken this often: what varies only ever adds to it."""

LEAST = 0.05
"""A part that grew by less a state is no suspect: it is a matter of moments too."""
SUSPECTS = 8

Parts = dict[str, float]
"""A count by its parts: what was counted, to how often."""


class Count(NamedTuple):
    """One count of the budget: how it is taken, and how much it differs from one time to the next."""

    take: Callable[[], Parts]
    slack: float
    """What may come on top of the limit, because the count varies by less than that."""
    advice: str
    """The next step when there is more than that."""


class Limit(NamedTuple):
    """What budget.json says of a count: the limit, the reason of the last rise, and the parts it had."""

    limit: float
    because: str
    parts: Parts


# What is counted ----------------------------------------------------------------------------------------------------


def apply(shape: str, count: int, folder: Path, before: list[str]) -> Path:
    """Apply a tree in a new process, ``before`` being the start of the command line; return its folder of state.

    The environment, the loop and the configuration are the same everywhere, and no SLS is a template.
    """
    text = "".join(trees.SHAPES[shape](count)).replace(
        "{{ pillar['root'] }}", f"{folder}/out"
    )  # plain text: no template
    (folder / "tree").mkdir()
    (folder / "tree" / "bench.sls").write_text(text, encoding="utf-8")
    (folder / "config").write_text("", encoding="utf-8")
    (folder / "out").mkdir()
    environ = {
        "PATH": "/usr/bin:/bin",
        "SHELL": "/bin/bash",  # as users have it; without it, commands would go to another shell
        "HOME": str(folder),
        "PWD": str(folder),  # strace may be a shell script, and shells set it: theirs then look at the folder twice
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": SOURCE,
        "ASYNCSTATE_CACHEDIR": str(folder / "cache"),
        "ASYNCSTATE_STATE_DIR": str(folder / "state"),
        "ASYNCSTATE_EVENT_LOOP": "asyncio",  # uvloop may be installed, and its calls cannot be counted
    }
    words = ["apply", "bench", "--file-root", f"{folder}/tree", "--config", f"{folder}/config"]
    command = [*before, *words, "--concurrency", "1", "--out", "json"]
    done = subprocess.run(command, capture_output=True, check=False, env=environ, cwd=folder)
    rows = json.loads(done.stdout) if done.returncode == 0 else {}
    if len(rows) != count or not all(row["result"] is True for row in rows.values()):
        said = (done.stdout[-500:] + done.stderr[-1500:]).decode(errors="replace")
        raise SystemExit(f"nothing was counted: {' '.join(command)} ended with {done.returncode}: {said}")
    return folder / "state"


@cache
def profiled(shape: str, count: int) -> Mapping[str, Any]:
    """Return what `counted` counts while it applies a tree."""
    with tempfile.TemporaryDirectory(dir=PLACE) as name:
        found = Path(name) / "counts"
        apply(shape, count, Path(name), [sys.executable, str(HERE / "counted.py"), str(found)])
        counts: Mapping[str, Any] = json.loads(found.read_bytes())
    return counts


def imported(shape: str, *, ours: bool) -> Parts:
    """Count the modules that are imported when one state has been applied, but for the one that Debian's Python has."""
    names = {*profiled(shape, 1)["modules"]} - {"sitecustomize"}
    return {name: 1 for name in names if (name.partition(".")[0] == "asyncstate") == ours}


def compiled(what: str, shape: str) -> Parts:
    """Count the regular expressions or texts that are compiled when one state has been applied, by file and line."""
    return {_short(place): number for place, number in profiled(shape, 1)[what].items()}


def called(what: str, shape: str, count: int) -> Parts:
    """Count the calls or the hops of a state, by file, without calls of code that waits."""
    small, large = ({_short(place): n for place, n in profiled(shape, n)[what].items()} for n in (count, 2 * count))
    parts = a_state(small, large, count)
    return {name: number for name, number in parts.items() if what == "hops" or not name.startswith(WAITING)}


def syscalls(shape: str, count: int) -> Parts:
    """Count the syscalls of a state and of the program that it starts, by name, without those `OF_CHANCE`."""
    small, large = (_traced(shape, number) for number in (count, 2 * count))
    return a_state(small, large, count)


def journal(shape: str, count: int) -> Parts:
    """Count the bytes that a state leaves in the folder of the journal. A time or a digest counts as one."""
    small, large = (_kept(shape, number) for number in (count, 2 * count))
    return a_state(small, large, count)


def a_state(small: Mapping[str, float], large: Mapping[str, float], count: int) -> Parts:
    """Return the parts of one state, from those of a tree and those of one that has ``count`` states more."""
    parts = {name: (large.get(name, 0) - small.get(name, 0)) / count for name in {*small, *large}}
    return {name: round(number, 2) for name, number in sorted(parts.items()) if abs(number) >= 0.01}


def _kept(shape: str, count: int) -> dict[str, int]:
    with tempfile.TemporaryDirectory(dir=PLACE) as name:
        state = apply(shape, count, Path(name), [sys.executable, "-m", "asyncstate"])
        found: Counter[str] = Counter()
        for path in filter(Path.is_file, state.rglob("*")):
            size = len(re.sub(rb"[0-9a-f]{16,}|[0-9]+[.][0-9]+(e-[0-9]+)?", b"0", path.read_bytes()))
            found[f"{path.parent.name}/*{path.suffix}"] += size // path.stat().st_nlink  # a plan has several names
    return found


def _traced(shape: str, count: int) -> Parts:
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=PLACE) as name:
        table = Path(name) / "syscalls"
        strace = [_strace(), "-f", "-qq", "-c", "-U", "calls,name", "-o", str(table)]
        apply(shape, count, Path(name), [*strace, sys.executable, "-m", "asyncstate"])
        for line in table.read_text(encoding="utf-8").splitlines():
            number, _, syscall = line.strip().partition(" ")
            if number.isdigit() and syscall.strip() not in OF_CHANCE | {"total"}:
                found[syscall.strip()] += int(number)
    return dict(found)


def _strace() -> str:
    found = TOOLS / "strace"
    path = str(found) if found.exists() else shutil.which("strace")
    if path is None:
        raise SystemExit("syscalls are counted by strace: run .ci/budget-tools as root, or install the package strace")
    return path


def _short(path: str) -> str:
    """Return a path of a file of code without the folder that it is imported from."""
    for folder in sorted((SOURCE, *sys.path), key=len, reverse=True):
        if folder and path.startswith(f"{folder}/"):
            return path[len(folder) + 1 :]
    return path


_CALLS = "a function of these files is called more often, or one that they call is new"
_HOPS = "a call goes to a thread, or back, that went nowhere before: see asyncstate/load/threads.py"
_SYSCALLS = "see which they are: strace -f -y .venv/bin/asyncstate apply … of a tree of one state"

COUNTS: dict[str, Count] = {
    "modules of asyncstate, imported for one state": Count(
        lambda: imported("wide", ours=True),
        0,
        "see who imports them: -X importtime; import them where they are used, or merge",
    ),
    "modules of others, imported for one state": Count(
        lambda: imported("wide", ours=False), 0, "see who imports them: -X importtime; import them where they are used"
    ),
    "regular expressions, compiled for one state": Count(
        lambda: compiled("patterns", "wide"), 0, "asyncstate/pattern.py compiles them on first use"
    ),
    "texts, compiled as code for one state": Count(
        lambda: compiled("texts", "wide"), 0, "asyncstate/value.py makes classes without: see there"
    ),
    "calls of Python functions, a state that does nothing": Count(lambda: called("calls", "wide", 200), 1, _CALLS),
    "calls of Python functions, a file.managed": Count(lambda: called("calls", "files", 100), 1, _CALLS),
    # That both pipes are closed and the program has ended is seen in one look at it, or in three: two calls each.
    "calls of Python functions, a cmd.run": Count(lambda: called("calls", "commands", 100), 6, _CALLS),
    "thread hops, a state that does nothing": Count(lambda: called("hops", "wide", 200), 0.1, _HOPS),
    "thread hops, a file.managed": Count(lambda: called("hops", "files", 100), 0.1, _HOPS),
    "thread hops, a cmd.run": Count(lambda: called("hops", "commands", 100), 0.1, _HOPS),
    # What waits for a part of a second, such as a flush, comes a few times more in a slow run.
    "syscalls, a file.managed": Count(lambda: syscalls("files", 50), 0.5, _SYSCALLS),
    "syscalls, a cmd.run": Count(lambda: syscalls("commands", 50), 0.5, _SYSCALLS),
    "bytes of the journal, a state that does nothing": Count(
        lambda: journal("wide", 1000), 1, "see what a row and its event keep: asyncstate/journal/entry.py"
    ),
}


# What is made of it --------------------------------------------------------------------------------------------------


def total(parts: Parts) -> float:
    """Return the count that parts make."""
    return round(sum(parts.values()), 2)


def least(count: Count, limit: float) -> Parts:
    """Take a count; if it is over a limit, take it again, and return the lowest."""
    parts = count.take()
    for _ in range(TURNS - 1):
        if total(parts) <= limit + count.slack:
            break
        profiled.cache_clear()
        parts = min(parts, count.take(), key=total)
    return parts


def over(name: str, count: Count, limit: Limit, parts: Parts) -> list[str]:
    """Return the lines that say that a count is over its limit; none where it is not."""
    if total(parts) <= limit.limit + count.slack:
        return []
    grown = {part: number - limit.parts.get(part, 0) for part, number in parts.items()}
    suspects = sorted((part for part, more in grown.items() if more > LEAST), key=lambda part: (-grown[part], part))
    lines = [f"over budget: {name}: {total(parts):g}, and the limit is {limit.limit:g}"]
    lines += [f"    +{grown[part]:g}  {part}" for part in suspects[:SUSPECTS]]
    if len(suspects) > SUSPECTS:
        lines.append(f"    and {len(suspects) - SUSPECTS} more")
    return [*lines, f"  {count.advice}"]


def check(limits: Mapping[str, Limit], counts: Mapping[str, Count], python: str) -> int:
    """Print each count beside its limit, then what is over; return the exit code."""
    failed = []
    print(f"{'count':<56}{'measured':>10}{'limit':>10}")
    for name, count in counts.items():
        limit = limits[name]
        parts = least(count, limit.limit)
        print(f"{name:<56}{total(parts):>10g}{limit.limit:>10g}", flush=True)
        failed += over(name, count, limit, parts)
        if total(parts) < limit.limit - count.slack - LEAST:
            print("    it is lower now: nox -s budget -- --record makes that the limit")
    if failed:
        print("\n" + "\n".join(failed))
        if python != PYTHON:
            print(f"The limits are those of Python {python}, and this is {PYTHON}.")
        print("Make it cheaper. If it is worth it: nox -s budget -- --record --because 'why', and commit budget.json.")
    return 1 if failed else 0


def recorded(limits: Mapping[str, Limit], counts: Mapping[str, Count], because: str) -> Iterator[tuple[str, Limit]]:
    """Yield the counts of today as limits. One that rises, beyond the slack, gets ``because``, and must."""
    for name, count in counts.items():
        old = limits.get(name)
        parts = least(count, old.limit) if old else count.take()
        if old is None or total(parts) < old.limit:
            yield name, Limit(total(parts), old.because if old else "", parts)
        elif not over(name, count, old, parts):
            yield name, old._replace(parts=parts)
        elif because:
            yield name, Limit(total(parts), because, parts)
        else:
            said = over(name, count, old, parts)
            raise SystemExit("\n".join([*said, "A limit rises with a reason: --because 'why'"]))


def counts_of(commit: str) -> dict[str, Parts]:
    """Take the counts of a commit of this repository, with the packages of others that are installed now."""
    archive = subprocess.run(["git", "-C", str(HERE.parent), "archive", commit], check=True, stdout=subprocess.PIPE)
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(name, filter="data")
        command = [sys.executable, str(HERE / "budget.py"), "--json"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, "BUDGET_SOURCE": name})
    found: dict[str, Parts] = json.loads(done.stdout)
    return found


def compare(before: Mapping[str, Parts], counts: Mapping[str, Count]) -> Iterator[str]:
    """Yield a line for each count, as it was and as it is, and for each of its parts that differs."""
    yield f"{'count':<56}{'before':>10}{'now':>10}"
    for name, count in counts.items():
        old, new = before[name], count.take()
        yield f"{name:<56}{total(old):>10g}{total(new):>10g}"
        for part in sorted({*old, *new}):
            more = new.get(part, 0) - old.get(part, 0)
            if abs(more) > LEAST:
                yield f"    {more:+g}  {part}"


def read() -> tuple[str, dict[str, Limit]]:
    """Return the limits, and the Python with which they were taken."""
    held: dict[str, Any] = json.loads(LIMITS.read_bytes()) if LIMITS.exists() else {"python": PYTHON, "counts": {}}
    return held["python"], {name: Limit(**limit) for name, limit in held["counts"].items()}


def main() -> int:
    """Check or record; return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="make the counts of today the limits")
    parser.add_argument("--because", default="", metavar="REASON", help="why a limit may rise")
    parser.add_argument("--json", action="store_true", help="print the parts of each count, and compare with no limit")
    parser.add_argument("--beside", metavar="COMMIT", help="compare with the counts of a commit, not with the limits")
    options = parser.parse_args()
    python, limits = read()
    profiled("wide", 1)  # once before all: now everything is compiled
    profiled.cache_clear()
    if options.json:
        print(json.dumps({name: count.take() for name, count in COUNTS.items()}))
        return 0
    if options.beside:
        print(*compare(counts_of(options.beside), COUNTS), sep="\n")
        return 0
    if not options.record:
        return check(limits, COUNTS, python)
    new = {name: limit._asdict() for name, limit in recorded(limits, COUNTS, options.because)}
    LIMITS.write_text(json.dumps({"python": PYTHON, "counts": new}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
