"""Barriers of a run: open once all hosts have reported the end of their states before one. It is sans-I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.extras.fleet.protocol import Go


class Barriers:
    """The barriers between the ``fleet_order`` numbers of a run; they open in rising order.

    A host whose part is over keeps none closed: nothing more begins there.
    """

    def __init__(self, goes: Mapping[str, Go]) -> None:
        self._missing: dict[int, set[str]] = {}
        self._waiting: dict[int, list[str]] = {}
        for host, go in goes.items():
            for each in go.barriers:
                missing = self._missing.setdefault(each.order, set())
                if each.before:
                    missing.add(host)
                if each.after:
                    self._waiting.setdefault(each.order, []).append(host)
        self._missing = dict(sorted(self._missing.items()))

    def reached(self, host: str, order: int) -> None:
        """Note that the states of a host before a barrier have ended."""
        self._missing.get(order, set()).discard(host)

    def over(self, host: str) -> None:
        """Note that nothing more begins on a host."""
        for missing in self._missing.values():
            missing.discard(host)

    def opened(self) -> list[tuple[int, str]]:
        """Return the barriers that have opened since the last call, with each host that waits there."""
        found: list[tuple[int, str]] = []
        while self._missing and not next(iter(self._missing.values())):
            order = next(iter(self._missing))
            del self._missing[order]
            found += [(order, host) for host in self._waiting.get(order, ())]
        return found
