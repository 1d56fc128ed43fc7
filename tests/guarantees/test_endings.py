"""Ends of runs: nothing of an interrupted call is left, and no reader can hold the run up.

The table of ends of the command line, for one state at a time and for eight, with real processes. What is left is
looked for in the whole machine, by a mark in the environment, not only where it should be.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from cut_site import COMPILING, ENDLESS, FAILING, FIRST, LIMITED, STUCK, Site, table

from asyncstate.model.result import NEVER_ENDED

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = Path(sys.executable).with_name("asyncstate")


@pytest.fixture
def site(tmp_path, concurrency):
    with Site(tmp_path, concurrency) as site:
        yield site


class End(NamedTuple):
    """What ends a run, its exit code, why the journal says that it ended, and whether running calls are cut off.

    ``adds`` are further states, ``at_once`` those that are under way with the others. ``missing`` are the standard
    streams that are closed from the beginning. ``told`` is in the output.
    """

    code: int
    act: Callable[[Session], None] = lambda _: None
    cuts: bool = False
    words: tuple[str, ...] = ()
    streams: str = ""
    missing: tuple[int, ...] = ()
    adds: str = ""
    at_once: tuple[str, ...] = ()
    ending: str = "finished"
    told: str = ""
    grace: str = "0.2"


class Session:
    """A run of the command line, and the outside ends of its streams."""

    def __init__(self, site: Site, end: End) -> None:
        self.site = site
        command = [PROGRAM, "apply", "all", "--file-root", site.salt, "-j", site.concurrency, *end.words]
        streams = {}
        self.master = theirs = -1
        if end.streams == "terminal":
            self.master, theirs = pty.openpty()
            streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
            streams["preexec_fn"] = lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        elif end.streams == "full":
            theirs = os.open("/dev/full", os.O_WRONLY)
            streams = {"stdout": theirs}
        elif end.missing:
            streams["preexec_fn"] = lambda: [os.close(number) for number in end.missing]
        self.process = site.start(command, **streams)
        if theirs >= 0:
            os.close(theirs)

    def signals(self, *numbers: int) -> None:
        """Send signals; where Ctrl-C is among them, each when the last one has been answered."""
        for number in numbers:
            self.process.send_signal(number)
            if signal.SIGINT in numbers:
                word = f"{signal.Signals(number).name}: "
                assert any(word in line for line in iter(self.process.stderr.readline, ""))

    def third(self) -> None:
        self.signals(signal.SIGINT, signal.SIGINT)
        self.process.send_signal(signal.SIGINT)

    def types(self, *keys: bytes) -> None:
        """Type keys, each when the last one has been answered."""
        for key in keys:
            os.write(self.master, key)
            seen = b""
            while b"SIGINT: " not in seen:
                seen += os.read(self.master, 4096)

    def rests(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        self.site.go()
        self.process.send_signal(signal.SIGCONT)

    def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1

    def close(self, *names: str) -> None:
        for name in names:
            getattr(self.process, name).close()

    def ended(self) -> tuple[str, str]:
        """Return what it wrote, when it has ended."""
        if self.master >= 0:
            self.process.wait(120)
            os.close(self.master)
            return "", ""
        open_streams = [stream for stream in (self.process.stdout, self.process.stderr) if stream and not stream.closed]
        if len(open_streams) == 2:
            return self.process.communicate(timeout=120)
        said = [stream.read() for stream in open_streams]
        self.process.wait(120)
        return "", "".join(said)


def signalled(*numbers: int, code: int = 0, **more) -> End:
    why = signal.Signals(numbers[0]).name
    fields = {"cuts": True, "ending": f"cancelled: {why}", **more}
    return End(code or 128 + numbers[-1], lambda run: run.signals(*numbers), **fields)


OUT_OF_TIME = "out of time after 6 seconds"
ENDS = {
    "finished": End(0),
    "a state fails": End(2, adds=FAILING),
    "failhard": End(2, words=("--failhard",), adds=FAILING, ending="failhard", told="failing"),
    "a state runs out of time": End(2, adds=LIMITED, told="did not end within 1 seconds"),
    "one Ctrl-C": signalled(signal.SIGINT, cuts=False),
    "two Ctrl-C": signalled(signal.SIGINT, signal.SIGINT),
    "three Ctrl-C": End(130, Session.third, cuts=True, ending="cancelled: SIGINT"),
    "Ctrl-C at a terminal": End(130, lambda run: run.types(b"\x03", b"\x03"), cuts=True, streams="terminal", ending="cancelled: SIGINT"),
    "a state never ends": End(2, adds=ENDLESS, ending=f"cancelled: {NEVER_ENDED}", told="own.waits: held-up"),
    "SIGTERM": signalled(signal.SIGTERM),
    "two SIGTERM": signalled(signal.SIGTERM, signal.SIGTERM),
    "SIGTERM, then Ctrl-C": signalled(signal.SIGTERM, signal.SIGINT, code=143, grace="600"),
    "SIGTERM, and a call that cannot be stopped": signalled(
        signal.SIGTERM, adds=STUCK, at_once=("stuck",), told="which cannot be stopped"
    ),
    "SIGHUP": signalled(signal.SIGHUP),
    "SIGQUIT": signalled(signal.SIGQUIT),
    "SIGUSR1": signalled(signal.SIGUSR1),
    "stopped and continued": End(0, Session.rests),
    "time-out": End(124, cuts=True, words=("--timeout", "6"), ending=f"cancelled: {OUT_OF_TIME}"),
    "closed terminal": End(129, Session.hang_up, cuts=True, streams="terminal", ending="cancelled: SIGHUP"),
    "stdout closed": End(0, lambda run: run.close("stdout")),
    "stderr closed": End(0, lambda run: run.close("stderr")),
    "both closed": End(0, lambda run: run.close("stdout", "stderr")),
    "without stdin": End(0, missing=(0,)),
    "without stdout": End(74, missing=(1,), told="could not be written: it is closed"),
    "without stderr": End(0, missing=(2,)),
    "without any stream": End(74, missing=(0, 1, 2)),
    "stdout full": End(74, streams="full", told="could not be written: No space left on device"),
}  # fmt: skip


@table(
    ENDS,
    [
        ("two Ctrl-C", 8),
        ("SIGTERM", 1),
        ("closed terminal", 1),
        ("both closed", 8),
        ("failhard", 8),
        ("a state never ends", 8),
    ],
)
def test_an_end_of_the_command_line_leaves_nothing(site, name):
    end = ENDS[name]
    site.environ["ASYNCSTATE_GRACE_SECONDS"] = end.grace
    if end.at_once and site.concurrency == 1:
        site.write(FIRST, end.adds, anew=True)
    else:
        site.write(end.adds)
    run = Session(site, end)
    if name != "time-out":
        site.under_way(run.process, *end.at_once)
    end.act(run)
    if not end.cuts:
        site.go()
    out, errors = run.ended()
    assert run.process.returncode == end.code, (out, errors)
    assert "Traceback" not in errors
    assert end.told in out + errors
    if not end.cuts:
        site.until_let_go()
    assert site.left() == []
    assert site.survivor()
    assert site.is_free()
    assert site.journaled() == [end.ending]


@pytest.mark.parametrize(
    "concurrency", [pytest.param(1, marks=pytest.mark.slow), pytest.param(8, marks=pytest.mark.slow)]
)
def test_a_kill_in_the_grace_period_is_told_and_the_next_run_clears(site):
    site.environ["ASYNCSTATE_GRACE_SECONDS"] = "600"
    run = Session(site, End(0))
    site.under_way(run.process)
    run.process.send_signal(signal.SIGTERM)
    assert any("SIGTERM: " in line for line in iter(run.process.stderr.readline, ""))
    run.process.kill()
    run.process.wait(60)  # what it was doing may hold its output open
    assert site.journaled() == ["killed"]
    assert site.is_free()  # to take the lock clears
    processes = [one for one in site.left() if one.startswith("process ")]
    assert len(processes) >= site.concurrency  # what it was doing goes on
    # The notes name these processes until they have ended; the log is the journal of this run until another one is kept.
    kept = [str(path) for place in ("cache/remains/*.notes", "state/journal/*.log") for path in site.base.glob(place)]
    assert [one for one in site.left() if one not in processes] == kept
    assert len(kept) == 2


@pytest.mark.parametrize("concurrency", [1])
@pytest.mark.parametrize("words", [(), ("--test",)])
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_while_the_tree_is_compiled_leaves_nothing(site, number, words):
    site.write(COMPILING, anew=True)
    run = Session(site, End(0, words=words))
    site.hear(run.process, "pipe", "compiling")
    run.process.send_signal(number)
    out, errors = run.ended()
    assert (run.process.returncode, out) == (128 + number, "")
    assert errors == f"asyncstate: ended by {number.name}\n"
    assert site.left() == []
    assert site.is_free()
    assert not (site.base / "state").exists() or site.journaled() == []


BY_ITSELF = """#!py
import subprocess

def run():
    subprocess.run("{child} compiling deaf".split())
    return {{}}
"""


@pytest.mark.parametrize("concurrency", [1])
@pytest.mark.parametrize(
    "words", [("check",), *(pytest.param(words, marks=pytest.mark.slow) for words in (("lint",), ("show", "lowstate")))]
)
@pytest.mark.parametrize("numbers", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_a_signal_while_a_command_only_compiles_leaves_nothing(site, numbers, words):
    site.write(BY_ITSELF, anew=True)
    process = site.start([PROGRAM, *words, "all", "--file-root", site.salt])
    site.hear(process, "compiling")
    for number in numbers:
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.2)
    assert process.communicate(timeout=120) == ("", f"asyncstate: ended by {numbers[0].name}\n")
    assert process.returncode == 128 + numbers[0]
    assert site.left() == []


FORKS = """
import asyncio
import os

def returns(name):
    os.fork()
    return {"name": name, "result": True, "changes": {}, "comment": ""}

def raises(name):
    os.fork()
    raise ValueError(name)

async def returns_async(name):
    return returns(name)

async def raises_async(name):
    return raises(name)

async def waits_async(name):
    os.fork()
    await asyncio.sleep(0.01)
    return {"name": name, "result": True, "changes": {}, "comment": ""}

def mod_aggregate(low, chunks, running):
    os.fork()
    return low

def once(name):
    with open(name, "a") as file:
        file.write("x")
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("function", ["returns", "raises", "returns_async", "raises_async", "waits_async"])
def test_a_function_that_forks_returns_in_one_process_only(site, function):
    (site.salt / "_states" / "forks.py").write_text(FORKS)
    tree = f"forks:\n  forks.{function}:\n    - aggregate: True\n"
    for number in range(3):
        tree += f"'{{work}}/{number}':\n  forks.once:\n    - order: last\n    - aggregate: True\n"
    site.write(tree, anew=True)
    process = site.start([PROGRAM, "apply", "all", "--file-root", site.salt, "-j", site.concurrency, "--out", "json"])
    out, errors = process.communicate(timeout=60)
    assert "internal error" not in errors
    assert process.returncode == (2 if function.startswith("raises") else 0), errors
    assert len(json.loads(out)) == 4
    assert [path.read_text() for path in sorted(site.work.iterdir())] == ["x", "x", "x"]
    assert site.marked() == {}
