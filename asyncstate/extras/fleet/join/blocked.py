"""Blocked hosts: hosts that cannot begin, as their states wait for states of a host that does not begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.requisite import RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.extras.fleet.join.targets import Need
    from asyncstate.extras.fleet.protocol import HostPlan

_PREREQ = RequisiteKind.PREREQ.value


def without_blocked(
    plans: Mapping[str, HostPlan], needs: Iterable[Need], blocked: Mapping[str, str]
) -> tuple[list[Need], dict[str, str]]:
    """Return the needs of the hosts that can begin, and the reasons why the others cannot.

    ``blocked`` are the first of them: their states wait for hosts without a plan, or for a missing target. A host that
    waits for a blocked host is blocked as well, unless other hosts meet the same need.
    """
    left = list(needs)
    found = dict(blocked)
    fresh = set(found)
    touching: dict[str, list[int]] = {}
    for number, need in enumerate(left):
        for host in {need.of[0], *(host for host, _ in need.targets)}:
            touching.setdefault(host, []).append(number)
    while fresh:
        host = min(fresh)
        fresh.discard(host)
        for number in touching.get(host, ()):
            need = left[number]
            targets = tuple(each for each in need.targets if each[0] not in found)
            waits: list[tuple[str, int]] = []
            if need.of[0] not in found and not targets:
                waits = [need.of]
            elif need.of[0] in found and need.kind == _PREREQ:  # its action, which comes before the targets, never runs
                waits = list(targets)
            for after in waits:
                if after[0] not in found:
                    place = plans[after[0]].states[after[1]].place
                    found[after[0]] = f"its state {place} waits for host {host}, which does not begin"
                    fresh.add(after[0])
            left[number] = msgspec.structs.replace(need, targets=targets)
    return [need for need in left if need.of[0] not in found and need.targets], found
