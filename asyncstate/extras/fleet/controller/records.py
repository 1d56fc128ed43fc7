"""Records of hosts and runs on the board, for operators."""

from __future__ import annotations

import os
import pwd
import socket
from typing import TYPE_CHECKING, Final

import anyio

from asyncstate.errors import FleetError
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.join.soundness import require_sound
from asyncstate.extras.fleet.protocol import Go, HostInfo, HostPlan, Lease, RunRecord, decode, require_fields
from asyncstate.logs import get_logger
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

    from asyncstate.extras.fleet.board import Board, Entry
    from asyncstate.extras.fleet.protocol import Signer

log: logging.Logger = get_logger(__name__)

_LONGEST: Final = 60.0
"""Seconds that `signs_of_life` listens at most."""


def operator_account() -> str:
    """Return the account that runs this program, ``ana@desk``; behind sudo, its caller. It is not authenticated."""
    try:
        account = os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        account = str(os.getuid())
    return f"{account}@{socket.gethostname()}"


async def host_infos(board: Board) -> dict[str, HostInfo]:
    """Return the description of each host that the fleet ever had."""
    found: dict[str, HostInfo] = {}
    for entry in await board.entries(subjects.host()):
        try:
            _, host = subjects.parts(entry.key)
            info = decode(entry.value, HostInfo)
            require_fields(info, run="", host=host)
        except (MessageRefused, ValueError) as error:
            log.warning("What a host says of itself at %s is refused: %s", entry.key, error)
            continue
        found[host] = info
    return found


def require_known(host: str, known: Iterable[str]) -> None:
    """Raise FleetError, with the nearest name, for a host that the fleet never had."""
    names = list(known)
    if host not in names:
        near = nearest(host, names)
        hint = f"did you mean {near!r}?" if near else "`asyncstate fleet status` lists the hosts"
        raise FleetError(f"no host {host!r} has ever been there: {hint}")


async def signs_of_life(board: Board) -> set[str]:
    """Return the hosts that renew their lease within its interval."""
    before: dict[str, Lease] = {}
    there: set[str] = set()
    for entry in await board.entries(subjects.lease()):
        lease = read_lease(entry)
        if lease is not None:
            before[lease.host] = lease
    if not before:
        return there
    listen = min(1.5 * max(lease.interval for lease in before.values()), _LONGEST)
    with anyio.move_on_after(listen):
        async for entry in board.watch(subjects.lease()):
            lease = read_lease(entry)
            if lease is not None and lease != before.get(lease.host):
                there.add(lease.host)
                if there >= before.keys():
                    return there
    # A lease renewed in time is on the board, even if this program was too busy to hear it.
    leases = map(read_lease, await board.entries(subjects.lease()))
    return there | {lease.host for lease in leases if lease is not None and lease != before.get(lease.host)}


def read_lease(entry: Entry) -> Lease | None:
    """Return the lease that a host wrote, None for anything else."""
    try:
        _, host = subjects.parts(entry.key)
        lease = decode(entry.value, Lease)
        require_fields(lease, run="", host=host)
    except (MessageRefused, ValueError) as error:
        log.warning("A lease at %s is refused: %s", entry.key, error)
        return None
    return lease


async def run_records(board: Board) -> list[RunRecord]:
    """Return the records of all runs that the board has, newest first."""
    found: list[RunRecord] = []
    for entry in await board.entries(subjects.run()):
        try:
            found.append(decode(entry.value, RunRecord))
        except MessageRefused as error:
            log.warning("The record at %s is refused: %s", entry.key, error)
    return sorted(found, key=lambda record: (-record.begun, record.run))


async def find_record(board: Board, run: str) -> RunRecord:
    """Return the record of a run, by its ID or a unique beginning. Raises FleetError, which names the nearest."""
    records = {record.run: record for record in await run_records(board)}
    fitting = [record for name, record in records.items() if name.startswith(run)]
    if run in records:
        return records[run]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise FleetError(
            f"{run!r} is the beginning of {len(fitting)} runs: {', '.join(each.run for each in fitting[:5])}"
        )
    near = nearest(run, list(records))
    hint = f"did you mean {near!r}?" if near else "`asyncstate fleet runs` lists them"
    raise FleetError(f"there is no run {run!r} on the board: {hint}")


async def joined_plans(board: Board, signer: Signer, run: str) -> tuple[dict[str, HostPlan], dict[str, Go]]:
    """Return the plans and the goes of the joined hosts of a run. Raises FleetError if there are none.

    A warning names the hosts whose plans the server has dropped.
    """
    plans: dict[str, HostPlan] = {}
    goes: dict[str, Go] = {}
    dropped: list[str] = []
    for entry in await board.entries(subjects.held(run)):
        _, _, host = subjects.parts(entry.key)
        plan = await board.get(subjects.plan(host, run))
        if plan is None:
            dropped.append(host)
        try:
            go = decode(signer.open(entry.value, entry.key), Go)
            found = decode(plan, HostPlan) if plan is not None else None
            if found is not None and found.digest == go.digest:  # else it was sent since then
                require_sound(found)
                plans[host], goes[host] = found, go
        except MessageRefused as error:
            raise FleetError(f"the plan of {host} in run {run} is refused: {error}") from None
    if dropped and goes:
        log.warning("The server has dropped the plans of these hosts of run %s: %s", run, ", ".join(sorted(dropped)))
    if not goes:
        raise FleetError(f"run {run} has no joined plans: it did not begin, or is older than the server keeps")
    return plans, goes
