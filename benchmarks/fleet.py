"""A fleet of simulated hosts on a real server: how long a run takes, beside what it must take, and what it costs.

``python benchmarks/fleet.py [HOSTS]… [--states N] [--seconds S] [--processes P] [--shape chain|fan_in|independent]``

The agents are real ones, many in a process; their states sleep. The server is `asyncstate fleet up`, the controller has
a process of its own. What a run must take is the longest path through the joined graph (the critical path), and for
each hop on it from host to host, and from and to the controller, one message. Two more parties measure a message while
the run goes on: from before it is written until its reader has it. All processes share this machine's processors; the
processor seconds do not depend on that.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simulated_fleet import Shape, agent_of, plan_of_a_host

from asyncstate.extras.fleet import credentials, subjects
from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.controller.event_stream import Observer
from asyncstate.extras.fleet.nats.access import STREAMS
from asyncstate.extras.fleet.nats.board import NatsBoard
from asyncstate.extras.fleet.nats.connection import Connection
from asyncstate.extras.fleet.nats.folder import Folder
from asyncstate.extras.fleet.nats.server import running
from asyncstate.extras.fleet.signing import OperatorSigner, OperatorVerifier
from asyncstate.model.event import ChunkFinished, RunFinished

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.fleet.controller.event_stream import HostEnd
    from asyncstate.extras.fleet.protocol import HostPlan
    from asyncstate.model.event import AnyEvent

SHAPES = ("chain", "fan_in", "independent")
_OWN_HOPS = 4
"""Messages of a run that all wait for: offer, plan, go, last report."""
_PROBES = ("probe-a", "probe-b")
_BETWEEN_PROBES = 0.25
_VARZ = "$SYS.REQ.SERVER.PING.VARZ"


class Program:
    """A process of this benchmark; it says ``ready`` on a line of its own, and at its end what it measured."""

    def __init__(self, *arguments: str, home: str) -> None:
        environ = {**os.environ, "HOME": home, "ASYNCSTATE_STATE_DIR": f"{home}/state"}
        self._process = subprocess.Popen(
            [sys.executable, *arguments], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    async def line(self) -> str:
        """Return its next line. Raises RuntimeError if it ended before."""
        assert self._process.stdout is not None
        said = (await asyncio.to_thread(self._process.stdout.readline)).strip()
        if not said:
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()}")
        return said

    @property
    def cpu(self) -> float:
        """Processor seconds so far."""
        return cpu_of(self._process.pid)

    def end(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.communicate()


def cpu_of(pid: int) -> float:
    """Return the processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int | str) -> float:
    """Return the resident memory of a process in MiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def size_of(folder: Path) -> int:
    """Return the bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# the processes


async def serve(shape: Shape, folder: str, url: str, hosts: range) -> None:
    """Be the agents of some hosts, until killed."""
    plan = await plan_of_a_host(shape, folder)
    left = len(hosts)

    def ready() -> None:
        nonlocal left
        left -= 1
        if not left:
            print("ready", flush=True)

    gate = asyncio.Semaphore(20)

    async def one(host: int) -> None:
        async with gate:
            own = credentials.read(f"{folder}/{shape.names[host]}.creds")
            began = asyncio.Event()

            def there() -> None:
                began.set()
                ready()

            board, verifier = NatsBoard(url, own, patient=True), OperatorVerifier(own.operators)
            agent = agent_of(shape, host, plan, board=board, verifier=verifier, ready=there)
            task = asyncio.ensure_future(agent.serve())
            waiting = asyncio.ensure_future(began.wait())
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        await task

    await asyncio.gather(*map(one, hosts))


class Times(Observer):
    """When what happened, and how much. It keeps nothing of a row."""

    def __init__(self) -> None:
        self.plans = self.begun_at = self.states = self.events = 0
        self.whys: dict[str, str] = {}
        self.memory: dict[str, float] = {}
        self.at: dict[str, float] = {}

    def planned(self, host: str, plan: HostPlan) -> None:  # noqa: ARG002 - the observer's interface
        """Count plans."""
        self.plans += 1
        self._note("plans")

    def begun(self, host: str, attempt: int) -> None:  # noqa: ARG002 - the observer's interface
        """Note the first host that reports."""
        if "begun" not in self.at:
            self._note("begun")

    def event(self, host: str, event: AnyEvent) -> None:  # noqa: ARG002 - the observer's interface
        """Count states."""
        self.events += 1
        self.states += isinstance(event, ChunkFinished)
        if isinstance(event, RunFinished):
            self._note("ended")

    def ended(self, host: str, end: HostEnd) -> None:
        """Say what failed."""
        if end.why:
            self.whys.setdefault(end.why, host)

    def _note(self, what: str) -> None:
        self.at[what] = time.monotonic()
        self.memory[what] = memory_of("self")


async def control(folder: str, url: str, *, traced: bool) -> None:
    """Be the controller of one run, and print what it saw as one line of JSON."""
    own = credentials.read(f"{folder}/D/operator.creds")
    times = Times()
    before = memory_of("self")
    if traced:
        tracemalloc.start()
    async with NatsBoard(url, own, patient=True) as board:
        controller = Controller(board, OperatorSigner(own.signs), "bench", Request(target="h*", deadline=600), times)
        cpu, began = time.process_time(), time.monotonic()
        end = await controller.drive()
        ended = time.monotonic()
    gc.collect()
    found = {
        "exit_code": end.exit_code,
        "hosts": len(end.hosts),
        "states": times.states,
        "why": [f"{host}: {why}" for why, host in times.whys.items()][:3],
        "events": times.events,
        "wall": ended - began,
        "cpu": time.process_time() - cpu,
        "phases": {what: at - began for what, at in times.at.items()},
        "memory": {"before": before, **times.memory, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024},
        "traced": tracemalloc.get_traced_memory()[1] / 1024 if traced else 0.0,
    }
    print(json.dumps(found), flush=True)


# what is measured


class Probe:
    """Two hosts; one writes rows for the other, which notes how long each took."""

    def __init__(self, folder: str, url: str) -> None:
        self._boards = [NatsBoard(url, credentials.read(f"{folder}/{name}.creds")) for name in _PROBES]
        self.seconds: list[float] = []

    async def measure(self) -> None:
        """Measure until cancelled."""
        writer, reader = self._boards
        async with writer, reader:
            watch = reader.watch(subjects.rows(_PROBES[1], "probe"))
            number = 0
            try:
                while True:
                    key = subjects.row(_PROBES[1], _PROBES[0], "probe", str(number % 100))
                    began = time.monotonic()
                    written = asyncio.ensure_future(writer.put(key, b"%d" % number))
                    await anext(watch)
                    self.seconds.append(time.monotonic() - began)
                    if self.seconds[-1] > 1:
                        print(time.strftime("%X"), self.seconds[-1], file=sys.stderr)
                    await written
                    number += 1
                    await asyncio.sleep(_BETWEEN_PROBES)
            finally:
                await watch.aclose()


class Server(NamedTuple):
    """What the server says of itself."""

    messages: int
    data: int
    memory: float
    cpu: float

    @classmethod
    async def now(cls, folder: Folder) -> Server:
        """Ask it. Messages and bytes are those that came in and went out."""
        async with Connection(folder.server_url(), folder.control()) as connection:
            said = json.loads((await connection.request(_VARZ, b"")).data)["data"]
        pid = running(folder)
        assert pid is not None
        return cls(
            said["in_msgs"] + said["out_msgs"], said["in_bytes"] + said["out_bytes"], memory_of(pid), cpu_of(pid)
        )


class Stored(NamedTuple):
    """What the streams have."""

    messages: int
    data: int
    consumers: int

    @classmethod
    async def now(cls, folder: Folder) -> Stored:
        """Ask the server."""
        async with Connection(folder.server_url(), folder.operator()) as connection:
            found = [await connection.ask(f"stream.info.{stream.name}", b"") for stream in STREAMS]
        counted = ("messages", "bytes", "consumer_count")
        return cls(*(sum(each["state"][name] for each in found) for name in counted))


async def measure(shape: Shape, processes: int, *, traced: bool) -> dict[str, Any]:
    """Run a fleet once."""
    with tempfile.TemporaryDirectory() as home:
        folder = Folder(f"{home}/D")
        folder.prepare("127.0.0.1:0", (), None)
        for made in folder.enrol_all([*shape.names, *_PROBES]):
            credentials.write(f"{home}/{made.name}.creds", made)
        programs: list[Program] = []
        try:
            began = time.monotonic()
            up = Program("-m", "asyncstate", "fleet", "up", "--dir", folder.path, "--listen", "127.0.0.1:0", home=home)
            programs.append(up)
            url = (await up.line()).removeprefix("ready ")
            server_start = time.monotonic() - began
            alone = await Server.now(folder)
            script, asked = str(Path(__file__)), json.dumps(shape)
            share = -(-shape.hosts // processes)
            agents = [
                Program(script, "--agents", f"{first}:{share}", "--as", asked, "--home", home, "--url", url, home=home)
                for first in range(0, shape.hosts, share)
            ]
            programs += agents
            for each in agents:
                await each.line()
            agents_start = time.monotonic() - began - server_start
            start_cpu = sum(each.cpu for each in agents)
            before, stored = await Server.now(folder), await Stored.now(folder)
            probe = Probe(home, url)
            probing = asyncio.ensure_future(probe.measure())
            arguments = ["--controller", "--home", home, "--url", url, *(["--traced"] if traced else [])]
            controller = Program(script, *arguments, home=home)
            programs.append(controller)
            waiting = asyncio.ensure_future(controller.line())
            most = 0
            while not waiting.done():
                await asyncio.wait({waiting}, timeout=5)
                if not waiting.done():
                    most = max(most, (await Stored.now(folder)).consumers)
            seen = json.loads(await waiting)
            after, full = await Server.now(folder), await Stored.now(folder)
            cpu = sum(each.cpu for each in agents) - start_cpu
            probing.cancel()
            with suppress(asyncio.CancelledError):
                await probing
            disk = size_of(Path(folder.path, "jetstream"))
        finally:
            for each in reversed(programs):
                each.end()
    return {
        **seen,
        "shape": shape,
        "load": os.getloadavg()[0],
        "message": statistics.mean(probe.seconds),
        "message_median": statistics.median(probe.seconds),
        "message_longest": max(probe.seconds),
        "server_start": server_start,
        "agents_start": agents_start,
        "agents_start_cpu": start_cpu,
        "agents_cpu": cpu,
        "server": {"alone": alone.memory, "idle": before.memory, "after": after.memory, "cpu": after.cpu - before.cpu},
        "messages": after.messages - before.messages,
        "bytes": after.data - before.data,
        "keys": full.messages - stored.messages,
        "kept": full.data - stored.data,
        "consumers": {"idle": stored.consumers, "run": most},
        "disk": disk,
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield what was measured, for people."""
    shape = found["shape"]
    path, hops = shape.critical_path()
    message = found["message"] * (hops + _OWN_HOPS)
    states = shape.hosts * shape.states
    memory = found["memory"]
    yield f"{shape.kind}: {shape.hosts} hosts x {shape.states} states of {shape.seconds} s; load {found['load']:.1f}"
    yield (
        f"  wall {found['wall']:.1f} s; critical path {path:.1f} s, {hops + _OWN_HOPS} messages of "
        f"{found['message'] * 1000:.1f} ms (median {found['message_median'] * 1000:.1f}, "
        f"longest {found['message_longest'] * 1000:.0f}): "
        f"{message:.1f} s; ratio {found['wall'] / (path + message):.2f}"
    )
    yield "  after " + ", ".join(f"{at:.1f} s {what}" for what, at in found["phases"].items())
    yield (
        f"  cpu: controller {found['cpu']:.1f} s, agents {found['agents_cpu']:.1f} s "
        f"({found['agents_cpu'] / states * 1000:.2f} ms a state), server {found['server']['cpu']:.1f} s "
        f"({found['server']['cpu'] / states * 1000:.2f} ms a state); agents' start {found['agents_start']:.1f} s, "
        f"{found['agents_start_cpu']:.1f} s cpu; server's start {found['server_start']:.1f} s"
    )
    yield (
        f"  messages {found['messages']} ({found['messages'] / states:.1f} a state), "
        f"{found['bytes'] / states:.0f} bytes a state on the wire; "
        f"{found['keys']} keys, {found['kept'] / states:.0f} bytes a state kept, {found['disk'] >> 20} MiB disk"
    )
    yield (
        f"  readers on the server: idle {found['consumers']['idle']}, in the run {found['consumers']['run']}; "
        f"its memory {found['server']['alone']:.0f} MiB alone, {found['server']['idle']:.0f} with agents, "
        f"{found['server']['after']:.0f} after"
    )
    yield (
        f"  controller's memory {memory['before']:.0f} MiB before, {memory['plans']:.0f} with plans, "
        f"{memory['begun']:.0f} at the begin, {memory['ended']:.0f} at the end, {memory['peak']:.0f} peak: "
        f"{(memory['peak'] - memory['before']) * 1024 / shape.hosts:.0f} KiB a host"
        + (f" ({found['traced'] / shape.hosts:.0f} KiB traced)" if found["traced"] else "")
    )


def main() -> None:
    """Measure each number of hosts, or be one of the processes."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", nargs="*", type=int, default=[10, 100], help="numbers of hosts (10 100)")
    parser.add_argument("--states", type=int, default=100, help="states a host (100)")
    parser.add_argument("--seconds", type=float, default=0.2, help="what a state takes (0.2)")
    parser.add_argument("--length", type=int, default=10, help="hosts in a chain (10)")
    parser.add_argument("--processes", type=int, default=4, help="processes of agents (4)")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="only this shape")
    parser.add_argument("--traced", action="store_true", help="count what the controller allocates, which slows it")
    for own in ("--agents", "--as", "--home", "--url"):
        parser.add_argument(own, help=argparse.SUPPRESS)
    parser.add_argument("--controller", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.agents:
        first, count = map(int, asked.agents.split(":"))
        shape = Shape(*json.loads(getattr(asked, "as")))
        asyncio.run(serve(shape, asked.home, asked.url, range(first, min(first + count, shape.hosts))))
        return
    if asked.controller:
        asyncio.run(control(asked.home, asked.url, traced=asked.traced))
        return
    for kind in asked.shape or SHAPES:
        for hosts in asked.hosts:
            shape = Shape(kind, hosts, asked.states, asked.seconds, asked.length)
            found = asyncio.run(measure(shape, asked.processes, traced=asked.traced))
            print(*lines(found), sep="\n", flush=True)
            if found["exit_code"] or found["states"] != hosts * asked.states:
                raise SystemExit(f"exit code {found['exit_code']}, {found['states']} rows; {'; '.join(found['why'])}")


if __name__ == "__main__":
    main()
