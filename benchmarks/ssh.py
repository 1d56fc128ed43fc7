"""What a state costs over ssh, above a local run: no-op states on one host, on loopback, with OpenSSH's sshd.

Both runs are those of the same machine; a local run is `asyncstate apply`'s. The difference of their wall times, as
their reports say them, by the number of states, is what the fleet's protocol and the stream add. So it is with the CPU
(user and system): of this process, the operator's, and of the host's runner, without sshd's.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "extras" / "support"))
import sshd  # type: ignore[import-not-found]

from asyncstate import Settings, StateRuntime
from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.ssh.connection import Ways
from asyncstate.extras.fleet.ssh.roster import RosterHost
from asyncstate.extras.fleet.ssh.session import Session, Unsigned


class Cost(NamedTuple):
    """Seconds of a run: on the clock, of this process's CPU, and of the runner's."""

    wall: float
    here: float
    there: float = 0.0


def used_below(folder: str) -> float:
    """Return the seconds of CPU that the programs of a server of ssh have used: those whose TMPDIR is in its folder."""
    total = 0.0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if f"TMPDIR={folder}/".encode() in (entry / "environ").read_bytes():
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


async def local(settings: Settings) -> Cost:
    """Return what a local run costs."""
    async with StateRuntime(settings) as runtime:
        begun, used = time.perf_counter(), time.process_time()
        await runtime.apply(["many"])
        return Cost(time.perf_counter() - begun, time.process_time() - used)


async def over_ssh(settings: Settings, host: RosterHost, known: str) -> Cost:
    """Return what a run costs on a host that is connected, from its offer to its last report."""
    folder = os.path.dirname(known)
    async with Session([host], settings, "*", Ways(known_hosts=(known,))) as session:
        if session.failed:
            raise SystemExit(str(session.failed))
        before = used_below(folder)
        begun, used = time.perf_counter(), time.process_time()
        request = Request(target="*", sls=("many",))
        end = await Controller(session.board, Unsigned(), os.urandom(4).hex(), request).drive()
        if end.exit_code:
            raise SystemExit(str(end))
        wall, here = time.perf_counter() - begun, time.process_time() - used
        return Cost(wall, here, used_below(folder) - before)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    if sshd.program() is None:
        print("there is no sshd: .ci/server-tools unpacks Debian's")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tree").mkdir()
        (folder / "tree" / "many.sls").write_text("".join(f"s{n}:\n  test.nop: []\n" for n in range(asked.states)))
        settings = Settings(
            file_roots={"base": [f"{name}/tree"]},
            pillar_roots={"base": [name]},
            cachedir=f"{name}/cache",
            state_dir=f"{name}/state",
        )
        key = sshd.keygen(folder / "id")
        server = sshd.Sshd(folder / "host", key).start()
        try:
            known = folder / "known_hosts"
            known.write_text(server.known_hosts_line)
            host = RosterHost(id="a1", host="127.0.0.1", port=server.port, user=sshd.USER, priv=str(key))
            here = min(asyncio.run(local(settings)) for _ in range(asked.runs))
            there = min(asyncio.run(over_ssh(settings, host, str(known))) for _ in range(asked.runs))
        finally:
            server.stop()
    wall = (there.wall - here.wall) / asked.states * 1000
    cpu = (there.here + there.there - here.here) / asked.states * 1000
    print(f"{asked.states} states: local {here.wall:.2f} s, over ssh {there.wall:.2f} s: {wall:.3f} ms a state more")
    print(
        f"CPU: local {here.here:.2f} s; over ssh {there.here:.2f} s operator, {there.there:.2f} s runner: "
        f"{cpu:.3f} ms a state more"
    )
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
