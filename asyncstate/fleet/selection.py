"""Which hosts an operator means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import FleetError
from asyncstate.nearest import nearest
from asyncstate.sources.matchers import Matcher

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES: Final = re.compile(r"(?:L@)?[^\s@*?\[\]()]+")
_SHOWN: Final = 20


class Selection:
    """Finds hosts by target expressions. ``grains`` has all hosts that were ever there, ``nodegroups`` named ones."""

    def __init__(self, grains: Mapping[str, Mapping[str, Any]], nodegroups: Mapping[str, Any]) -> None:
        self._grains = grains
        self._nodegroups = nodegroups

    def fits(self, expression: str, host: str) -> bool:
        """Whether a host fits a compound target."""
        options = {"id": host, "nodegroups": self._nodegroups}
        return Matcher(options, dict(self._grains.get(host, {})), {}).compound(expression)

    def targets(self, target: str) -> list[str]:
        """Return the hosts of a run. Raises FleetError, which names the nearest, if there is none."""
        hosts = {host for host in self._grains if self.fits(target, host)}
        if _NAMES.fullmatch(target):  # a host that is named is meant, even if it has never been seen
            hosts |= set(target.removeprefix("L@").split(",")) - {""} if not hosts or target.startswith("L@") else set()
        if hosts and (hosts & self._grains.keys() or target.startswith("L@")):
            return sorted(hosts)
        near = nearest(target, list(self._grains))
        shown = ", ".join(sorted(self._grains)[:_SHOWN])
        known = f"known are {shown}" if self._grains else "no host has ever been there"
        raise FleetError(f"no host fits the target {target!r}: {f'did you mean {near!r}?' if near else known}")

    def canaries(self, expression: str, hosts: Sequence[str]) -> tuple[str, ...]:
        """Return those of the hosts of a run that go first; none for "". Raises FleetError if none of them fits."""
        found = tuple(host for host in hosts if self.fits(expression, host)) if expression else ()
        if expression and not found:
            near = nearest(expression, hosts)
            hint = f"did you mean {near!r}?" if near else f"the run is on {', '.join(hosts[:_SHOWN])}"
            raise FleetError(f"no host of the run fits canary {expression!r}: {hint}")
        return found
