"""The choice of the event loop for the command line."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time

import pytest
from messages import said

from asyncstate.cli import event_loop
from asyncstate.cli.event_loop import Ending, loop_factory, run_on
from asyncstate.cli.interrupts import Interrupted, in_words
from asyncstate.errors import ConfigError


async def kind_of_loop():
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


@pytest.fixture
def without_uvloop(monkeypatch):
    monkeypatch.setattr(event_loop, "find_spec", lambda name: None)


@pytest.mark.feature("F139")
@pytest.mark.parametrize(("wanted", "loop"), [("auto", "uvloop"), ("uvloop", "uvloop"), ("asyncio", "asyncio")])
def test_where_uvloop_is_installed_it_is_taken_unless_asyncio_is_wanted(wanted, loop):
    assert run_on(wanted, kind_of_loop) == loop


@pytest.mark.feature("F139")
def test_without_uvloop_asyncio_does(without_uvloop):
    assert loop_factory("auto") is None
    assert run_on("auto", kind_of_loop) == "asyncio"


def test_uvloop_that_must_be_there_and_is_not(without_uvloop):
    with pytest.raises(ConfigError, match=r"pip install 'uvloop>=0.21'"):
        run_on("uvloop", kind_of_loop)


@pytest.mark.parametrize("wanted", ["asyncio", "uvloop"])
def test_a_signal_while_the_loop_starts_loses_no_coroutine(wanted, monkeypatch):
    """Before it runs, a coroutine that is thrown away is an un-awaited one, with a warning on standard error."""
    of = event_loop._Cancellation.of

    def late(cancellation, main):
        coroutine = of(cancellation, main)
        signal.raise_signal(signal.SIGTERM)
        return coroutine

    monkeypatch.setattr(event_loop._Cancellation, "of", late)
    ran = []

    async def main():
        ran.append(True)

    with in_words(), pytest.raises(Interrupted, match="SIGTERM"):
        run_on(wanted, main)
    assert not ran


@pytest.mark.parametrize("wanted", ["asyncio", "uvloop"])
def test_a_signal_after_the_last_step_is_not_lost(wanted):
    async def main():
        asyncio.current_task().add_done_callback(lambda _: signal.raise_signal(signal.SIGTERM))

    with pytest.raises(Interrupted, match="SIGTERM"), in_words():
        run_on(wanted, main)


def test_a_signal_cancels_what_runs_and_is_told_when_it_has_ended():
    ended = []

    async def main():
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with in_words(), pytest.raises(Interrupted, match="SIGTERM"):
        run_on("asyncio", main)
    assert ended


@pytest.mark.parametrize("wanted", ["asyncio", "auto"])
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_task_that_somebody_left_on_the_loop_does_not_end_the_program(wanted, error, caplog):
    async def stray():
        raise error

    async def main():
        left = asyncio.ensure_future(stray())
        await asyncio.wait([left])
        return "the end"

    with in_words():
        assert run_on(wanted, main) == "the end"
    gc.collect()  # asyncio names the task, too, as soon as it is collected: here, and not in another test's output
    assert said("stray-task", error=error.__name__) in caplog.text


def test_what_ends_the_program_itself_still_does():
    async def main():
        raise SystemExit(3)

    with in_words(), pytest.raises(SystemExit):
        run_on("asyncio", main)


def test_a_cancellation_that_no_signal_asked_for_is_told():
    async def main():
        asyncio.current_task().cancel()
        await asyncio.Event().wait()

    with in_words(), pytest.raises(RuntimeError, match=said("cancelled-by-plugin")):
        run_on("asyncio", main)


@pytest.mark.parametrize("wanted", ["asyncio", "uvloop"])
def test_a_signal_wakes_a_loop_that_waits(wanted):
    """One that another thread receives interrupts nothing in this one."""

    def signalled():
        time.sleep(0.2)  # the loop waits by then, if not, nothing is proven
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    async def main():
        threading.Thread(target=signalled).start()
        await asyncio.Event().wait()

    with in_words(), pytest.raises(Interrupted, match="SIGTERM"):
        run_on(wanted, main)


@pytest.mark.parametrize("wanted", ["asyncio", "uvloop"])
def test_a_plugin_that_stops_the_loop_does_not_end_the_program(wanted, caplog):
    async def main():
        for _ in range(3):
            asyncio.get_running_loop().stop()
            await asyncio.sleep(0)
        return "whole"

    assert run_on(wanted, main) == "whole"
    assert said("stopped-by-plugin") in caplog.text


NEVER = 3600.0


class FakeRun:
    def __init__(self):
        self.told = []
        self.cancelled = asyncio.Event()

    def stop(self, reason):
        self.told.append(f"stop {reason}")

    def cancel(self, reason):
        self.told.append(f"cancel {reason}")
        self.cancelled.set()


@pytest.mark.parametrize(
    ("signals", "told"),
    [
        (["SIGINT"], ["stop SIGINT"]),
        (["SIGINT", "SIGINT", "SIGINT"], ["stop SIGINT", "cancel SIGINT"]),
        (["SIGQUIT", "SIGINT"], ["cancel SIGQUIT"]),
        (["SIGTERM", "SIGTERM", "SIGHUP"], ["stop SIGTERM"]),
        (["SIGTERM", "SIGINT"], ["stop SIGTERM", "cancel SIGINT"]),
        (["SIGINT", "SIGTERM"], ["stop SIGINT"]),
        (["SIGTERM", "SIGQUIT"], ["stop SIGTERM", "cancel SIGQUIT"]),
    ],
)
async def test_what_signals_do(signals, told):
    run, said = FakeRun(), []
    ending = Ending(run, said.append, NEVER)
    for name in signals:
        ending.signalled(name)
    ending.over()
    assert run.told == told
    assert len(said) == len(told)


@pytest.mark.parametrize("first", ["SIGTERM", "SIGINT"])
async def test_a_program_waits_no_longer_than_the_grace_period(first):
    run, said = FakeRun(), []
    ending = Ending(run, said.append, 0.0)
    for name in dict.fromkeys([first, "SIGTERM"]):
        ending.signalled(name)
    await asyncio.wait_for(run.cancelled.wait(), 30)
    ending.signalled("SIGINT")
    ending.over()
    assert run.told == [f"stop {first}", "cancel SIGTERM"]
    assert said[-1] == "0 s after SIGTERM: cancelling what runs."


async def test_nothing_is_cancelled_after_the_end():
    run = FakeRun()
    ending = Ending(run, lambda _: None, 0.0)
    ending.signalled("SIGTERM")
    ending.over()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert run.told == ["stop SIGTERM"]
