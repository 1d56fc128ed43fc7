"""What a state costs over ssh, above a local run: no-op states on one host, on loopback, with OpenSSH's sshd.

Both runs are those of the same machine; a local run is `asyncstate apply`'s. The difference of their wall times, as
their reports say them, by the number of states, is what the fleet's protocol and the stream add.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import sshd  # type: ignore[import-not-found]

from asyncstate import Settings, StateRuntime
from asyncstate.fleet.controller import Controller, Request
from asyncstate.fleet.ssh.connection import Ways
from asyncstate.fleet.ssh.roster import RosterHost
from asyncstate.fleet.ssh.session import Session, Unsigned


async def local(settings: Settings) -> float:
    """Return the seconds of a local run."""
    async with StateRuntime(settings) as runtime:
        begun = time.perf_counter()
        await runtime.apply(["many"])
        return time.perf_counter() - begun


async def over_ssh(settings: Settings, host: RosterHost, known: str) -> float:
    """Return the seconds of a run on a host that is connected, from its offer to its last report."""
    async with Session([host], settings, "*", Ways(known_hosts=(known,))) as session:
        if session.failed:
            raise SystemExit(str(session.failed))
        begun = time.perf_counter()
        request = Request(target="*", sls=("many",))
        end = await Controller(session.board, Unsigned(), os.urandom(4).hex(), request).drive()
        if end.exit_code:
            raise SystemExit(str(end))
        return time.perf_counter() - begun


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
    more = (there - here) / asked.states * 1000
    print(f"{asked.states} states: local {here:.2f} s, over ssh {there:.2f} s: {more:.3f} ms a state above a local run")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
