"""Steps that share hosts take turns, in the order of their start; others run concurrently."""

import asyncio

from fake_host import VirtualLoop
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncstate.extras.fleet.orchestration.host_queue import HostQueue

STEPS = st.lists(
    st.tuples(st.frozensets(st.sampled_from("abcd"), max_size=3), st.floats(0, 3), st.floats(0, 3)), max_size=8
)


def play(scenario):
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(asyncio.wait_for(scenario, 3600))


@settings(max_examples=60)
@given(STEPS, st.sets(st.integers(0, 7)))
def test_hosts_have_one_step_at_a_time_in_the_order_of_steps(steps, cancelled):
    async def scenario():
        turns, under_way, begun = HostQueue(), set(), []

        async def step(number, hosts, seconds_to_find, seconds):
            async def find():
                await asyncio.sleep(seconds_to_find)
                return sorted(hosts)

            async with turns.turn(find) as found:
                assert found == sorted(hosts)
                assert under_way.isdisjoint(hosts)
                under_way.update(hosts)
                begun.append(number)
                try:
                    await asyncio.sleep(seconds)
                finally:
                    under_way.difference_update(hosts)

        tasks = [asyncio.create_task(step(number, *each)) for number, each in enumerate(steps)]
        await asyncio.sleep(1)
        for number in cancelled:
            if number < len(tasks):
                tasks[number].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled():
                task.result()
        return begun

    begun = play(scenario())
    for place, number in enumerate(begun):
        for later in begun[place + 1 :]:
            assert number < later or steps[number][0].isdisjoint(steps[later][0])
    assert set(range(len(steps))) - set(begun) <= cancelled


def test_steps_on_other_hosts_run_beside_each_other():
    async def scenario():
        turns = HostQueue()

        async def step(host):
            async def find():
                return [host]

            async with turns.turn(find):
                await asyncio.sleep(10)

        begun = asyncio.get_running_loop().time()
        await asyncio.gather(*map(step, "abc"))
        return asyncio.get_running_loop().time() - begun

    assert play(scenario()) < 11


def test_a_step_that_finds_no_hosts_for_an_error_holds_nobody_up():
    async def scenario():
        turns = HostQueue()

        async def trouble():
            raise ValueError("no such target")

        async def find():
            return ["a"]

        try:
            async with turns.turn(trouble):
                raise AssertionError
        except ValueError:
            pass
        async with turns.turn(find) as found:
            return found

    assert play(scenario()) == ["a"]
