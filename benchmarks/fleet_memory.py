"""What the controller of a fleet holds of its hosts: ``python benchmarks/fleet_memory.py [HOSTS]… [--states N]``.

Plans as they come from hosts in chains of ten, joined, with a sealed go for each. No server and no agent takes part, so
this is the memory that grows with hosts, by itself; each number of hosts has a process of its own. Without
``--traced``, the growth of the resident memory; with it, what Python has allocated.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import msgspec
from simulated_fleet import Shape, plan_of_a_host

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.pool import Pool
from asyncstate.extras.fleet.host.partition import host_plan
from asyncstate.extras.fleet.join.join import join
from asyncstate.extras.fleet.nkeys import OPERATOR, KeyPair
from asyncstate.extras.fleet.protocol import HostPlan, decode, encode
from asyncstate.extras.fleet.signing import OperatorSigner
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan


def resident() -> float:
    """Return the resident memory of this process in KiB."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


def measure(hosts: int, states: int, *, traced: bool) -> float:
    """Return the KiB that plans and goes of so many hosts take."""
    shape = Shape("chain", hosts, states)
    with tempfile.TemporaryDirectory() as folder:
        plan = asyncio.run(plan_of_a_host(shape, folder))
    signer, pool = OperatorSigner(KeyPair.new(OPERATOR).seed), Pool()

    def told(host: int) -> bytes:
        own = msgspec.structs.replace(plan, remote=shape.remote(host))
        return encode(
            host_plan(own, RedactedPlan(own, Secrets()), run="r", host=shape.names[host], nonce=os.urandom(16).hex())
        )

    told(0)
    gc.collect()
    before = resident()
    if traced:
        tracemalloc.start()
    plans = {name: pool.plan(decode(told(host), HostPlan)) for host, name in enumerate(shape.names)}
    goes = join(plans, lambda expression: [expression] if expression in plans else []).goes
    held = {host: signer.seal(encode(go), subjects.go(host, "r")) for host, go in goes.items()}
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] / 1024 if traced else resident() - before
    tracemalloc.stop()
    assert len(held) == hosts
    return grown


def main() -> None:
    """Measure each number of hosts."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", nargs="*", type=int, default=[100, 300, 1000], help="numbers of hosts (100 300 1000)")
    parser.add_argument("--states", type=int, default=100, help="states a host (100)")
    parser.add_argument("--traced", action="store_true", help="what Python allocates, in place of resident memory")
    asked = parser.parse_args()
    if len(asked.hosts) == 1:
        grown = measure(asked.hosts[0], asked.states, traced=asked.traced)
        each = grown / asked.hosts[0]
        print(f"{asked.hosts[0]} hosts x {asked.states} states: {grown / 1024:.1f} MiB, {each:.1f} KiB a host")
        return
    for hosts in asked.hosts:
        flags = ["--states", str(asked.states), *(["--traced"] if asked.traced else [])]
        subprocess.run([sys.executable, __file__, str(hosts), *flags], check=True)


if __name__ == "__main__":
    main()
