"""The first signal stops a run; which of the later ones cancel it depends on who sends them."""

from __future__ import annotations

import asyncio

import pytest

from asyncstate.cli.ending import Ending

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
