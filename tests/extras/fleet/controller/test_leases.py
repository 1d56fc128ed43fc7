"""A host is lost after three missed signs of life that would have been heard."""

import asyncio

from fake_host import VirtualLoop
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet.controller.leases import Leases

PULSE = 5.0


def play(scenario):
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(scenario)


async def pass_by(leases, seconds, *, signs=(), heard=True):
    """Let time pass; return who was newly lost meanwhile, with the seconds of silence."""
    lost = []
    for _ in range(int(seconds)):
        await asyncio.sleep(1)
        if heard:
            for host in signs:
                leases.renewed(host, PULSE)
            leases.attend(1.0)
            lost += leases.newly_lost(["a", "b"])
    return lost


def test_a_host_is_lost_after_three_intervals_and_until_its_next_sign():
    async def scenario():
        leases = Leases()
        leases.expect(["a", "b"])
        assert await pass_by(leases, 10, signs=["a", "b"]) == []
        assert await pass_by(leases, 14, signs=["b"]) == []
        assert await pass_by(leases, 10, signs=["b"]) == [("a", 15.0)]
        assert leases.lost == {"a"}
        assert leases.renewed("b", PULSE) is False
        assert leases.renewed("a", PULSE) is True
        assert (leases.lost, leases.silence("a")) == (set(), 0.0)

    play(scenario())


def test_a_host_that_was_never_heard_has_thirty_seconds():
    async def scenario():
        leases = Leases()
        leases.expect(["a", "b"])
        assert await pass_by(leases, 29, signs=["b"]) == []
        assert await pass_by(leases, 1, signs=["b"]) == [("a", 30.0)]

    play(scenario())


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 300)), max_size=5))
def test_nobody_is_lost_for_what_could_not_be_heard(times):
    """``times``: seconds in which hosts are heard, but for ``b``, and in which nobody is.

    Up to five seconds in which nobody is heard are no silence of the board: they count against ``b``.
    """

    async def scenario():
        leases = Leases()
        leases.expect(["a", "b"])
        for with_ears, without in times:
            await pass_by(leases, 1, signs=["a", "b"])
            assert await pass_by(leases, with_ears, signs=["a"]) == []
            await pass_by(leases, without, heard=False)
            assert await pass_by(leases, 2, signs=["a"]) == []
        lost = await pass_by(leases, 31, signs=["a"])
        assert [host for host, _ in lost] == ["b"]

    play(scenario())


def test_a_host_that_was_lost_before_stays_lost_while_nobody_is_heard():
    async def scenario():
        leases = Leases()
        leases.expect(["a", "b"])
        await pass_by(leases, 30, signs=["b"])
        await pass_by(leases, 100, heard=False)
        assert await pass_by(leases, 5, signs=["b"]) == []
        assert leases.lost == {"a"}
        assert leases.silence("a") == 135

    play(scenario())
