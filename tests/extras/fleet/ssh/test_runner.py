"""The runner on its host: the lock that all runs of the host share."""

import asyncio
import os

import pytest

from asyncstate.errors import LockHeld
from asyncstate.extras.fleet.protocol import Options
from asyncstate.guard.lock import RunLock


async def test_a_run_waits_for_the_lock_of_other_runs_on_the_host_and_names_its_holder(place):
    place.write("tree/app.sls", "a:\n  test.succeed_with_changes: []\n")
    host = await place.host("a1")
    async with RunLock(str(host.lock_dir)):
        _, end = await place.apply("app", request={"patience": 0.5})
    assert end.hosts["a1"].exit_code == 2
    assert f"another run on this host (process {os.getpid()}, since" in end.hosts["a1"].why
    _, end = await place.apply("app")
    assert end.exit_code == 0
    assert os.listdir(host.lock_dir) == ["run.lock"] or sorted(os.listdir(host.lock_dir)) == ["remains", "run.lock"]
    assert host.left == []


async def test_a_dry_run_takes_no_lock(place):
    place.write("tree/app.sls", "a:\n  test.succeed_with_changes: []\n")
    host = await place.host("a1")
    async with RunLock(str(host.lock_dir)):
        _, end = await place.apply("app", options=Options(test=True), request={"patience": 0.5})
    assert end.exit_code == 0


@pytest.mark.parametrize("own", [True, False])
async def test_other_runs_on_the_host_are_kept_out_while_one_goes_on(place, own):
    own_dir = place.folder / "own"
    host = await place.host("a1", minion_opts={"cachedir": str(own_dir)} if own else {})
    lock_dir = own_dir if own else host.lock_dir
    mark, go = place.folder / "mark", place.folder / "go"
    place.write("tree/app.sls", f"a:\n  cmd.run:\n    - name: touch {mark}; while [ ! -e {go} ]; do sleep 0.05; done\n")
    run = asyncio.ensure_future(place.apply("app"))
    await place.wait_for(mark.exists)
    with pytest.raises(LockHeld) as caught:
        RunLock(str(lock_dir)).__enter__()
    assert [caught.value.pid] == host.runners()
    go.touch()
    _, end = await run
    assert end.exit_code == 0


async def test_a_host_whose_configuration_cannot_be_read_says_so(place):
    host = await place.host("a1")
    place.write("a1/.config/asyncstate/config.yaml", "concurrency: many\n")
    session, end = await place.apply("app")
    assert end is None
    assert "where other runs of this host have their lock is not known" in session.failed["a1"]
    assert "config.yaml" in session.failed["a1"]
    assert host.left == []
