"""Timers on the event loop."""

from __future__ import annotations

import asyncio

import pytest
from fake_host import run_virtual

from asyncstate.guard.event_loop import Timer


def calls_of(seconds, length, *, repeat=False, error=False):
    """When a timer calls during a block of so many seconds, and the ten after it."""
    times = []

    async def main():
        loop = asyncio.get_running_loop()
        try:
            with Timer(seconds, lambda: times.append(loop.time()), repeat=repeat):
                await asyncio.sleep(length)
                if error:
                    raise ValueError
        finally:
            await asyncio.sleep(10)

    run_virtual(main())
    return times


def test_it_calls_once_when_the_time_is_over():
    assert calls_of(3, 10) == [pytest.approx(3)]


def test_it_calls_again_and_again():
    assert calls_of(3, 10, repeat=True) == [pytest.approx(3), pytest.approx(6), pytest.approx(9)]


@pytest.mark.parametrize(("seconds", "repeat"), [(5, False), (5, True), (None, False), (None, True)])
def test_it_never_calls_after_its_block_nor_without_a_time(seconds, repeat):
    assert calls_of(seconds, 4, repeat=repeat) == []


def test_it_raises_what_the_block_raises_as_it_is():
    with pytest.raises(ValueError, match=r"^$"):
        calls_of(5, 1, error=True)


def test_one_that_raises_is_called_again():
    calls = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)

        def call():
            calls.append(1)
            raise ValueError

        with Timer(1, call, repeat=True):
            await asyncio.sleep(3.5)

    run_virtual(main())
    assert len(calls) == 3
