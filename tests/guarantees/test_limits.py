"""Bounds: memory a state, descriptors, and what applies leave behind in a program that makes thousands of them."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager

import pytest
from tables import beside

from asyncstate import Settings, StateRuntime

TABLES = beside(__file__)

KIB_A_STATE = {"wide": 3.0, "chain": 5.0, "layered": 5.0, "fan_in": 5.0, "fan_out": 5.0}
"""The bounds that docs/guarantees.md promises, and those of shapes between the two."""


@pytest.fixture
def memory(checkout, monkeypatch):
    """The benchmark of memory."""
    monkeypatch.syspath_prepend(str(checkout / "benchmarks"))
    monkeypatch.delitem(sys.modules, "trees", raising=False)  # tests have a module of that name, too
    import memory

    yield memory
    for name in ("memory", "trees"):
        sys.modules.pop(name, None)


def grows(memory, shape, count):
    return memory.above(memory.apply(shape, count), memory.apply("wide", 1), count).kib


def test_the_peak_of_a_large_program_is_not_that_of_the_one_it_starts(memory):
    large = bytearray(b"x" * (256 << 20))
    assert memory.apply("wide", 1).kib < len(large) >> 10


@pytest.mark.timeout(600)
def test_memory_of_a_few_thousand_states_is_bounded(memory):
    assert any(grows(memory, "layered", 3000) <= 5.0 for _ in range(3)), "chance can only add to a peak"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shape", KIB_A_STATE)
def test_memory_a_state_is_bounded(memory, shape):
    assert grows(memory, shape, 20_000) <= KIB_A_STATE[shape]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shape", KIB_A_STATE)
def test_a_hundred_thousand_states(memory, shape):
    assert grows(memory, shape, 100_000) <= KIB_A_STATE[shape]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shape", [*KIB_A_STATE, "watch"])
def test_ten_times_the_states_take_ten_times_the_memory(memory, shape):
    start = memory.apply("wide", 1)
    small, large = (memory.above(memory.apply(shape, count), start) for count in (2000, 20_000))
    assert large.kib / small.kib <= 12.5


@pytest.mark.parametrize(
    "shape",
    ["layered", *(pytest.param(each, marks=pytest.mark.slow) for each in (*KIB_A_STATE, "watch") if each != "layered")],
)
async def test_ten_times_the_states_take_ten_times_the_calls(memory, tmp_path, shape):
    """What is counted, calls of functions, is the same on a slow machine and on a busy one."""
    start, small, large = [await calls(memory.trees, tmp_path / str(count), shape, count) for count in (100, 200, 1100)]
    assert (large - start) / (small - start) <= 10.4


async def calls(trees, folder, shape, count):
    """Return how many functions are called on the way from the text of a tree to its report."""
    settings = Settings(file_roots={"base": [str(trees.write(shape, count, folder))]}, journal="off", **folders(folder))
    number = 0

    def counted(_frame, event, _argument):
        nonlocal number
        number += event in {"call", "c_call"}

    @contextmanager
    def counting():
        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            yield
        finally:
            sys.setprofile(before)

    def compiled(runtime):
        with counting():
            return runtime.compile_sync(["bench"])

    async with StateRuntime(settings) as runtime:
        plan = await asyncio.to_thread(compiled, runtime)
        with counting():
            async with runtime.run(plan, events=False, lock=False) as run:
                pass
    assert len(run.report.rows) == count
    assert run.report.ok
    return number


def folders(folder):
    return {"cachedir": str(folder / "cache"), "state_dir": str(folder / "state")}


def commands(tmp_path, count, descriptors):
    root = tmp_path / "srv"
    root.mkdir()
    sls = "".join(f"c{i}:\n  cmd.run:\n    - name: 'sleep 0.2; echo {i}'\n" for i in range(count))
    (root / "many.sls").write_text(sls)
    settings = ["--file-root", str(root), "-j", "200", "--out", "json"]
    program = [sys.executable, "-m", "asyncstate", "apply", "many", *settings]
    return subprocess.run(
        ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *program],
        capture_output=True,
        check=False,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "ASYNCSTATE_CACHEDIR": str(tmp_path / "cache"),
            "ASYNCSTATE_STATE_DIR": str(tmp_path / "state"),
        },
    )


def all_ran(done, count):
    rows = json.loads(done.stdout)
    assert [row["comment"] for row in rows.values() if row["result"] is not True] == []
    assert sorted(int(row["changes"]["stdout"]) for row in rows.values()) == list(range(count))


def test_commands_queue_for_descriptors(tmp_path):
    done = commands(tmp_path, 60, 64)
    all_ran(done, 60)
    assert b"states ran at once, not 200: this process may have 64 open files" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("descriptors", [48, 64, 1024])
def test_a_thousand_commands_queue_for_descriptors(tmp_path, descriptors):
    all_ran(commands(tmp_path, 1000, descriptors), 1000)


CHEAP = TABLES["cheap"]

WORKING = (
    CHEAP
    + """
file:
  file.managed:
    - name: {{ pillar['to'] }}
    - contents: same
command:
  cmd.run:
    - name: 'true'
    - unless: test -e {{ pillar['to'] }}
"""
)

TOGETHER = 20
"""Applies that run at the same time: ten thousand, one after the other, mostly wait for threads to wake up."""


@asynccontextmanager
async def new(settings):
    """Yield a function that applies with a runtime of its own each time."""

    async def apply():
        async with StateRuntime(settings) as runtime:
            return await runtime.apply(["tree"], lock=False)

    yield apply


@asynccontextmanager
async def reused(settings):
    """Yield a function that applies with one runtime."""
    async with StateRuntime(settings) as runtime:
        yield lambda: runtime.apply(["tree"], lock=False)


class Mallinfo(ctypes.Structure):
    """What glibc's malloc says of all its arenas: ``mallinfo2`` of malloc.h."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def look():
    """Return the objects, the descriptors, the threads and the memory of this process, in KiB and blocks of Python.

    It is memory in use. The resident size also has what allocators keep free: it goes up and down by MiB.
    """
    gc.collect()
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = Mallinfo
    told = ask()
    kib = (told.uordblks + told.hblkhd) // 1024
    return (
        len(gc.get_objects()),
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        kib,
        sys.getallocatedblocks(),
    )


async def curve(tmp_path, made, points, drawn=None, *, tree=CHEAP, journal="on", together=TOGETHER):
    """Return what this process holds after so many applies: objects, descriptors, threads, KiB of memory."""
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv" / "tree.sls").write_text(tree)
    settings = Settings(
        file_roots={"base": [str(tmp_path / "srv")]},
        **folders(tmp_path),
        pillar={"to": str(tmp_path / "file")},
        journal=journal,
        journal_keep_runs=10,
    )
    held = []
    applied = 0
    async with made(settings) as apply:
        for point in points:
            while applied < point:
                reports = await asyncio.gather(*(apply() for _ in range(min(together, point - applied))))
                applied += len(reports)
                assert all(report.ok for report in reports)
                del reports
            held.append(look())
            if drawn is not None:
                draw(drawn, points, held)
    return held


def draw(path, points, held):
    """Write the curve: a line for each point, and a bar for its memory."""
    most = max(kib for *_, kib, _ in held)
    lines = ["applies  objects  descriptors  threads      KiB   blocks"]
    for number, (objects, descriptors, threads, kib, blocks) in zip(points, held, strict=False):
        bar = "█" * round(50 * kib / most)
        lines.append(f"{number:>7}{objects:>9}{descriptors:>13}{threads:>9}{kib:>9}{blocks:>9}  {bar}")
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


THREADS = 1 + 2 * TOGETHER
"""Threads that a program has at most: its own, and two for each apply that runs."""


def stays(early, late, more):
    """Nothing is left behind by the applies between two parts of a curve, in whose moments calls may still end.

    ``more`` objects are no growth: other tests of this process leave some that come and go.
    """
    assert min(objects for objects, *_ in late) <= min(objects for objects, *_ in early) + more
    assert min(descriptors for _, descriptors, *_ in late) <= min(descriptors for _, descriptors, *_ in early)
    assert max(threads for _, _, threads, *_ in late) <= THREADS


@pytest.mark.parametrize("made", [new, pytest.param(reused, marks=pytest.mark.slow)])
async def test_a_few_applies_leave_nothing_behind(tmp_path, made):
    held = await curve(tmp_path, made, (*range(6, 12), *range(24, 30)), tree=WORKING, together=1)
    stays(held[:6], held[6:], 18 * 30)  # a report alone has more than 30


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("journal", ["on", "off"])
@pytest.mark.parametrize("made", [reused, new])
async def test_applies_leave_nothing_behind(tmp_path, made, journal, checkout):
    points = (200, 1000, 2000, *range(3000, 10_001, 1000))
    drawn = checkout / "build" / f"applies-{made.__name__}-journal-{journal}.txt"
    held = await curve(tmp_path, made, points, drawn, journal=journal)
    half = points.index(5000) + 1
    stays(held[1:half], held[half:], 100)
    # a leak of 1 KiB or one block an apply would be 5,000
    for which in (3, 4):
        assert min(each[which] for each in held[half:]) <= min(each[which] for each in held[1:half]) + 1000
