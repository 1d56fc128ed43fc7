"""Selection of hosts by target expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import FleetError
from asyncstate.nearest import nearest
from asyncstate.sources.matchers import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_NAMES: Final = re.compile(r"(?:L@)?[^\s@*?\[\]()]+")
_SHOWN: Final = 20
_OF_PILLAR: Final = re.compile(r"(?:^|[\s(])[IJ].?@")
_PILLAR_KINDS: Final = ("pillar", "pillar_pcre", "pillar_exact")
_NODEGROUP: Final = re.compile(r"(?:^|[\s(])N@(\S+)")

PILLAR_STAYS: Final = "asks for the pillar of hosts, which does not leave them: use grains, names or nodegroups"


class Selection:
    """Finds hosts by target expressions. ``grains`` are of all hosts that the fleet ever had, by host."""

    def __init__(self, grains: Mapping[str, Mapping[str, Any]], nodegroups: Mapping[str, Any]) -> None:
        self._grains = grains
        self._nodegroups = nodegroups

    def fits(self, expression: str, host: str) -> bool:
        """Whether a host fits a compound target."""
        options = {"id": host, "nodegroups": self._nodegroups}
        return Matcher(options, dict(self._grains.get(host, {})), {}).compound(expression)

    def among(self, expression: str, hosts: Iterable[str]) -> list[str]:
        """Return the matching hosts among these or, if none matches, among all that the fleet ever had.

        Raises FleetError as `require_sound` does.
        """
        require_sound(expression, self._nodegroups)
        found = [host for host in hosts if self.fits(expression, host)]
        return found or [host for host in self._grains if self.fits(expression, host)]

    def targets(self, target: str) -> list[str]:
        """Return the hosts of a run. Raises FleetError, which names the nearest, if there is none."""
        require_sound(target, self._nodegroups)
        hosts = {host for host in self._grains if self.fits(target, host)}
        if _NAMES.fullmatch(target):  # a named host is targeted, even if it has never been seen
            hosts |= set(target.removeprefix("L@").split(",")) - {""} if not hosts or target.startswith("L@") else set()
        if hosts and (hosts & self._grains.keys() or target.startswith("L@")):
            return sorted(hosts)
        near = nearest(target, list(self._grains))
        shown = ", ".join(sorted(self._grains)[:_SHOWN])
        known = f"known are {shown}" if self._grains else "no host has ever been there"
        raise FleetError(f"no host fits the target {target!r}: {f'did you mean {near!r}?' if near else known}")

    def canaries(self, expression: str, hosts: Sequence[str]) -> tuple[str, ...]:
        """Return the hosts of a run that go first; none for "". Raises FleetError if no host fits."""
        if expression:
            require_sound(expression, self._nodegroups)
        found = tuple(host for host in hosts if self.fits(expression, host)) if expression else ()
        if expression and not found:
            near = nearest(expression, hosts)
            hint = f"did you mean {near!r}?" if near else f"the run is on {', '.join(hosts[:_SHOWN])}"
            raise FleetError(f"no host of the run fits canary {expression!r}: {hint}")
        return found


def require_sound(expression: str, nodegroups: Mapping[str, Any]) -> None:
    """Raise FleetError for a target expression that fits no host, or others than it seems to."""
    matcher = Matcher({"nodegroups": nodegroups}, {}, {})
    if odd := matcher.mistake(expression) or matcher.surprise(expression):
        raise FleetError(f"the target {expression!r} {odd}")
    if asks_for_pillar("compound", expression, nodegroups):
        raise FleetError(f"the target {expression!r} {PILLAR_STAYS}")


def asks_for_pillar(kind: str, target: object, nodegroups: Mapping[str, Any]) -> bool:
    """Whether a target of a kind asks for the pillar of hosts, also by way of a nodegroup."""
    seen = set[str]()
    texts = {"compound": [_words(target)], "nodegroup": [f"N@{target}"]}.get(kind, [])
    asks = kind in _PILLAR_KINDS
    while texts:
        text = texts.pop()
        asks = asks or bool(_OF_PILLAR.search(text))
        for name in _NODEGROUP.findall(text):
            if name not in seen:
                seen.add(name)
                texts.append(_words(nodegroups.get(name, "")))
    return asks


def _words(expression: object) -> str:
    """Return a compound target, given as a text or a list of words, as a text."""
    return " ".join(map(str, expression)) if isinstance(expression, (list, tuple)) else str(expression)
