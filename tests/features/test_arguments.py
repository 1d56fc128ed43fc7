"""Arguments that every state takes: conditions, retry, failhard, umask and the rest."""

import asyncio
import os
import pwd

import pytest
from messages import said

from asyncstate.model.event import StateEvent

USER = pwd.getpwuid(os.geteuid()).pw_name


@pytest.mark.feature("F087")
def test_umask(sls, tmp_path, width):
    before = os.umask(0o022)
    os.umask(before)
    tree = sls(
        f"one: {{cmd.run: [{{name: 'touch {tmp_path}/one'}}, {{umask: '077'}}]}}\n"
        f"two: {{cmd.run: [{{name: 'touch {tmp_path}/two'}}]}}\nbad: {{x.run: [{{umask: zz}}]}}\n"
    )
    rows = tree.rows(concurrency=width)
    assert rows["bad"]["comment"] == "Invalid umask: zz\n"
    assert rows["bad"]["result"] is False
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "two").stat().st_mode & 0o777 == 0o666 & ~before
    assert os.umask(before) == before


@pytest.mark.feature("F088")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_commands_run_as_another_user(sls):
    rows = sls(
        "id: {cmd.run: [{name: 'id -un'}, {runas: nobody}]}\nc: {x.run: [{onlyif: 'test $(id -un) = nobody'}, {runas: nobody}]}\n"
    ).rows()
    assert rows["id -un"]["changes"]["stdout"] == "nobody"
    assert rows["c"]["comment"] == "done"


@pytest.mark.feature("F089")
def test_events_a_state_asks_for(sls):
    tree = sls("a: {x.run: [{fire_event: true}]}\nb: {x.run: [{fire_event: my/suffix}]}\nc: x.run\n")
    events = []

    async def run():
        async with tree.runtime() as runtime:
            plan = await runtime.compile(["a"])
            async with runtime.run(plan, concurrency=1, observers=[events.append], events=False) as running:
                pass
            return running.report.run_id

    run_id = asyncio.run(run())
    found = [event for event in events if isinstance(event, StateEvent)]
    assert [event.name for event in found] == [
        f"salt/state_result/{run_id}/a/a",
        f"salt/state_result/{run_id}/my/suffix",
    ]
    assert found[0].row["name"] == "a"


@pytest.mark.feature("F094")
def test_keywords_of_the_runtime_stay_there(sls):
    tree = sls(
        "a:\n  x.run:\n"
        + "".join(
            f"    - {argument}\n"
            for argument in (
                "require: [b]", "order: 3", "failhard: false", "onlyif: 'true'", "unless: 'false'", "creates: /nowhere",
                "retry: false", "parallel: true", "reload_modules: false", f"runas: {USER}", "no_log: false", "fire_event: false",
                "saltenv: base", "umask: '022'", "check_cmd: 'true'", "exclusive: true", "footprint: {}", "lane: l", "onfail_stop: false",
                "mine: 1", "test: true",
            )
        )
        + "b: x.run\n"
    )  # fmt: skip
    tree.report()
    (kwargs,) = [kwargs for name, kwargs in tree.lows if name == "a"]
    assert {key for key in kwargs if not key.startswith("__")} == {"mine", "test"}


@pytest.mark.feature("F096")
def test_time_outs(sls, width):
    tree = sls(
        "slow: {x.run: [{sleep: 30}, {timeout: 0.05}]}\nc: {cmd.run: [{name: sleep 30}, {timeout: 0.1}]}\nok: x.run\n"
    )

    async def slow(name, sleep=0):
        await asyncio.sleep(sleep)
        return {"name": name, "result": True, "changes": {}, "comment": ""}

    tree.states["x.run"] = slow
    rows = tree.rows(concurrency=width)
    assert rows.results == {"slow": False, "sleep 30": False, "ok": True}
    assert rows["slow"]["comment"] == f"{said('timed-out', seconds='0.05')} and was stopped."
    report = sls("c: {cmd.run: [{name: sleep 31}]}\n").report(timeout=0.2, concurrency=width)
    assert report.exit_code == 124
