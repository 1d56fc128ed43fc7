"""However a program that uses the library ends a run: nothing of a call that was cut off is left.

The table of ends of the library, as `test_endings` has those of the command line.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from cut_site import COMPILING, Site, table

from asyncstate.guard.event_loop import LOOP_CLOSED, PROGRAM_ENDED
from asyncstate.journal.store import Journal
from asyncstate.model.result import GAVE_UP

PROGRAM = Path(sys.executable).with_name("asyncstate")
DRIVER = Path(__file__).parents[1] / "support" / "ending_program.py"


@pytest.fixture
def site(tmp_path, concurrency):
    with Site(tmp_path, concurrency) as site:
        yield site


class Way(NamedTuple):
    """How a program that uses the library ends a run: what it sees of it, and whether running calls are cut off."""

    ended: str
    code: int | None
    why: str = ""
    cuts: bool = True
    number: int = 0


WAYS = {
    "finished": Way("returned", 0, cuts=False),
    "stop": Way("returned", 125, "enough", cuts=False),
    "cancel": Way("returned", 125, "enough"),
    "time-out": Way("returned", 124, "out of time after 6 seconds"),
    "exception in the block": Way("ValueError", 125, GAVE_UP),
    "asyncio.timeout": Way("TimeoutError", None, GAVE_UP),
    "task cancelled": Way("CancelledError", None, GAVE_UP),
    "task cancelled twice": Way("CancelledError", None, GAVE_UP),
    "sibling fails": Way("ExceptionGroup", None, GAVE_UP),
    "sibling exits": Way("SystemExit", None, GAVE_UP),
    "Ctrl-C": Way("KeyboardInterrupt", None, GAVE_UP, number=signal.SIGINT),
    "generator closed": Way("returned", None, GAVE_UP),
    "runtime closed": Way("returned", 125, "its runtime was closed"),
    "observer fails": Way("returned", 0, cuts=False),
    "observer exits": Way("returned", 0, cuts=False),
    "observer interrupts": Way("returned", 0, cuts=False),
    "observer out of memory": Way("returned", 0, cuts=False),
    "observer hangs for a while": Way("returned", 0, cuts=False),
    "reader hangs": Way("returned", 0, cuts=False),
    "loop closed": Way("returned", 125, LOOP_CLOSED),
    "loop never closed": Way("returned", None, LOOP_CLOSED),
    "program ends": Way("returned", None, PROGRAM_ENDED),
}


def begin(site, name):
    return site.start([sys.executable, DRIVER, name, site.salt, site.cache, site.concurrency, site.pids])


def assert_told(site, process, name, way):
    """What the program says of the end, and what it has left."""
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out, errors) == (0, "", "")
    told = json.loads((site.pids / "told").read_text())
    assert (told["ended"], told["code"]) == (way.ended, way.code)
    if name not in ("loop never closed", "program ends"):
        assert (told["zombies"], told["descriptors"]) == ([], 0)
    if not way.cuts:
        site.until_let_go()
    assert site.left() == []


@table(
    WAYS, [("finished", 8), ("Ctrl-C", 8), ("task cancelled twice", 1), ("runtime closed", 1), ("observer exits", 1)]
)
def test_an_end_of_the_library_leaves_nothing(site, name):
    way = WAYS[name]
    process = begin(site, name)
    if name != "time-out":
        site.under_way(process)
    if way.number:
        process.send_signal(way.number)
    if "hangs for" in name:
        site.go()
        site.hear(process, "hanging")
    site.let("act")
    if not way.cuts:
        site.go()
    assert_told(site, process, name, way)
    assert site.survivor()
    assert site.is_free()
    assert site.journaled() == [f"cancelled: {way.why}" if way.why else "finished"]


BEFORE_A_RUN = {
    "task cancelled": Way("CancelledError", None),
    "asyncio.timeout": Way("TimeoutError", None),
    "sibling fails": Way("ExceptionGroup", None),
    "Ctrl-C": Way("KeyboardInterrupt", None, number=signal.SIGINT),
    "loop closed under apply": Way("returned", None),
    "loop closed under compile": Way("returned", None),
    "program ends": Way("returned", None),
}


@pytest.mark.parametrize("concurrency", [1])
@pytest.mark.parametrize(
    "name",
    [
        each if each in ("task cancelled", "loop closed under compile") else pytest.param(each, marks=pytest.mark.slow)
        for each in BEFORE_A_RUN
    ],
)
def test_compiling_that_is_cut_off_leaves_nothing(site, name):
    way = BEFORE_A_RUN[name]
    site.write(COMPILING, anew=True)
    process = begin(site, name)
    site.hear(process, "pipe", "compiling")
    if way.number:
        process.send_signal(way.number)
    site.let("act")
    assert_told(site, process, name, way)
    assert site.is_free()


GREEDY = """
def eats(name):
    kept = []
    while True:
        kept.append(bytearray(1 << 24))

async def eats_on_the_loop(name):
    eats(name)
"""


def test_states_that_take_all_memory_fail_alone(tmp_path):
    (tmp_path / "_states").mkdir()
    (tmp_path / "_states" / "own.py").write_text(GREEDY)
    (tmp_path / "all.sls").write_text(
        "one: own.eats\ntwo: own.eats_on_the_loop\nthree:\n  cmd.run:\n    - name: echo on\n    - onfail: [own: one, own: two]\n"
    )
    environ = os.environ | {f"ASYNCSTATE_{name}": str(tmp_path / name) for name in ("CACHEDIR", "STATE_DIR")}
    limit = 500 << 20
    done = subprocess.run(
        [PROGRAM, "apply", "all", "--file-root", tmp_path, "--out", "json", "-j", "8"],
        env={**environ, "HOME": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    rows = {row["__id__"]: row for row in json.loads(done.stdout).values()}
    assert [rows[name]["result"] for name in ("one", "two", "three")] == [False, False, True]
    assert all("MemoryError" in rows[name]["comment"] for name in ("one", "two"))
    assert [entry.ending for entry in Journal.open(str(tmp_path / "STATE_DIR")).runs()] == ["finished"]
    assert os.listdir(tmp_path / "CACHEDIR" / "remains") == []
