"""Many simulated hosts on a real server: the rows of one host, no hop lost, bounded memory of the controller."""

import asyncio
import json
import subprocess
import sys

import pytest
from fake_station import comparable

from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.controller.event_stream import Observer
from asyncstate.extras.fleet.nats.server import reload
from asyncstate.extras.fleet.signing import OperatorSigner, OperatorVerifier
from asyncstate.report.recorded import RecordedReport
from asyncstate.run.engine import Engine, RunOptions


@pytest.fixture
def simulated(checkout, monkeypatch):
    """The simulated hosts of the benchmark."""
    monkeypatch.syspath_prepend(str(checkout / "benchmarks"))
    import simulated_fleet

    yield simulated_fleet
    sys.modules.pop("simulated_fleet", None)


class Reports(Observer):
    def __init__(self):
        self.of = {}

    def begun(self, host, attempt):
        self.of[host] = RecordedReport()

    def event(self, host, event):
        self.of[host].on_event(event)

    def rows(self):
        """Rows by host and ID."""
        return {
            (host, tag.split("_|-")[1]): row
            for host, recorded in self.of.items()
            for tag, row in recorded.report().rows.items()
        }


async def run_fleet(simulated, shape, fleet, folder):
    """Run a fleet with all agents on this loop; return its end, rows, and what was called in which order."""
    plan = await simulated.plan_of_a_host(shape, folder)
    names = await asyncio.to_thread(fleet.folder.enrol_all, shape.names)
    await reload(fleet.folder)
    calls, ready, reports = [], asyncio.Semaphore(0), Reports()
    agents = [
        asyncio.ensure_future(
            simulated.agent_of(
                shape,
                number,
                plan,
                board=fleet.board(own),
                verifier=OperatorVerifier(own.operators),
                ready=ready.release,
                calls=calls,
            ).serve()
        )
        for number, own in enumerate(names)
    ]
    try:
        for _ in agents:
            await ready.acquire()
        async with fleet.board() as board:
            signer = OperatorSigner(fleet.folder.operator().signs)
            end = await Controller(board, signer, "scale", Request(target="h*"), reports).drive()
    finally:
        for each in agents:
            each.cancel()
        await asyncio.wait(agents)
    return end, reports.rows(), calls


async def run_alone(simulated, shape, folder):
    """Run the same states on one host, one after the other; return the rows by host and ID."""
    states = {
        f"{shape.names[host]}-s{state}": [
            *([f"{shape.names[host]}-s{state - 1}"] if state else []),
            *(f"{shape.names[other]}-s{number}" for other, number in shape.waits_for(host, state)),
        ]
        for host in range(shape.hosts)
        for state in range(shape.states)
    }
    plan = await simulated.compiled(states, folder)
    report = await Engine(plan, simulated.SleepingDispatch(plan, shape), RunOptions(run_id="alone")).run()
    return {tuple(tag.split("_|-")[1].split("-")): row for tag, row in report.rows.items()}


def without_hosts(rows):
    """Rows in which the IDs and the comments do not name hosts; states to blame count once."""
    text = json.dumps({f"{host} {id_}": row for (host, id_), row in rows.items()})
    for host, _ in rows:
        text = text.replace(f"{host}-", "")
    found = comparable(json.loads(text))
    for row in found.values():
        if isinstance(row["comment"], list):
            row["comment"] = sorted(set(row["comment"]))
    return found


@pytest.mark.parametrize(("kind", "failing"), [("chain", 13), ("fan_in", 0)])
async def test_a_fleet_of_twenty_does_what_one_host_would_do(simulated, own_fleet, tmp_path, kind, failing):
    shape = simulated.Shape(kind, hosts=20, states=20, length=7, failing=failing)
    end, rows, calls = await run_fleet(simulated, shape, own_fleet, str(tmp_path))
    assert end.exit_code == (2 if failing else 0)
    assert len(rows) == 400
    assert without_hosts(rows) == without_hosts(await run_alone(simulated, shape, str(tmp_path)))
    place = {call: number for number, call in enumerate(calls)}
    assert len(place) == len(calls)
    for host, name in enumerate(shape.names):
        for state in range(shape.states):
            for other, number in shape.waits_for(host, state):
                if (name, f"s{state}") in place:
                    assert place[shape.names[other], f"s{number}"] < place[name, f"s{state}"]


def benchmark(checkout, tmp_path, *arguments):
    """Run the benchmark and return its output. It checks the rows and the exit code itself."""
    done = subprocess.run(
        [sys.executable, str(checkout / "benchmarks" / "fleet.py"), *arguments],
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_critical_path_of_a_chain(simulated):
    shape = simulated.Shape("chain", hosts=25, states=30, seconds=2.0, length=10)
    assert shape.critical_path() == (pytest.approx(2.0 * (30 + 9)), 9)
    assert shape._replace(kind="fan_in").critical_path() == (pytest.approx(2.0 * 60), 1)
    assert shape._replace(kind="independent").critical_path() == (pytest.approx(60.0), 0)


def test_what_a_controller_holds_grows_with_hosts_at_most_linearly(simulated):
    import fleet_memory

    few, many = (fleet_memory.measure(hosts, 30, traced=True) / hosts for hosts in (40, 200))
    assert many < 1.1 * few


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_fleet_of_a_hundred_hosts(checkout, tmp_path):
    said = benchmark(checkout, tmp_path, "100", "--states", "20", "--seconds", "1.5", "--shape", "chain")
    assert "chain: 100 hosts x 20 states" in said
