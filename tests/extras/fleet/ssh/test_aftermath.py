"""A killed runner leaves nothing behind."""

import asyncio
import os
import signal

import pytest

from asyncstate.extras.fleet.protocol import Options
from asyncstate.extras.fleet.ssh import aftermath
from asyncstate.guard.lock import RunLock


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_runner_that_is_killed_leaves_no_folder_no_program_and_no_notes(place, number):
    mark = place.folder / "mark"
    place.write("tree/slow.sls", "slow:\n  cmd.run:\n    - name: echo $$ > {{ pillar.mark }}; exec sleep 600\n")
    place.write("tree/next.sls", "after:\n  test.nop:\n    - require:\n      - {host: a1, cmd: slow}\n")
    place.write("tree/top.sls", "base:\n  'a1': [slow]\n  'b1': [next]\n")
    host, other = await place.host("a1"), await place.host("b1")
    run = asyncio.ensure_future(place.apply(options=Options(pillar={"mark": str(mark)})))
    await place.wait_for(lambda: mark.exists() and mark.read_text().strip())
    (runner,) = host.runners()
    os.kill(runner, number)
    _, end = await run
    assert end.exit_code == 2
    assert "Host a1 is lost" in place.gathered.comments()["b1"]["after"]
    if number == signal.SIGKILL:
        assert "the runner was killed by signal 9: is the memory of this host too small?" in place.said[0]
    assert (host.left, other.left) == ([], [])
    assert mark.read_text().strip() not in os.listdir("/proc")
    assert sorted(os.listdir(host.lock_dir)) == ["remains", "run.lock"]
    assert os.listdir(host.lock_dir / "remains") == []


async def test_a_runner_whose_loader_is_killed_clears_up_itself(place):
    mark, go = place.folder / "mark", place.folder / "go"
    place.write("tree/app.sls", f"a:\n  cmd.run:\n    - name: touch {mark}; while [ ! -e {go} ]; do sleep 0.05; done\n")
    host = await place.host("a1")
    run = asyncio.ensure_future(place.apply("app"))
    await place.wait_for(mark.exists)
    host.programs[0].kill()
    go.touch()
    _, end = await run
    assert end.exit_code == 0
    await place.wait_for(lambda: not host.left)


def test_a_lock_that_another_run_holds_is_left_to_it(tmp_path):
    folder, lock_dir = tmp_path / "runner", tmp_path / "lock"
    folder.mkdir()
    aftermath.clear(str(folder))
    aftermath.note_lock_dir(str(folder), str(lock_dir))
    aftermath.clear(str(folder))
    assert not lock_dir.exists()
    with RunLock(str(lock_dir)) as held:
        aftermath.clear(str(folder))
        assert held.holder().pid == os.getpid()
