"""Differences between containers or networks: ``{section: {item: {"old": …, "new": …}}}``."""

from __future__ import annotations

from typing import Any

_STATIC = ("Aliases", "Links", "IPAMConfig")
_AUTOMATIC = ("IPAddress", "Gateway", "GlobalIPv6Address", "IPv6Gateway")

Differences = dict[str, Any]


def containers(first: dict[str, Any], second: dict[str, Any], ignore: tuple[str, ...] = ()) -> Differences:
    """Return how the settings of two containers differ. A missing and an empty value are the same."""
    found: Differences = {}
    for section in ("Config", "HostConfig"):
        one, other = first[section], second[section]
        for item in [*one, *(each for each in other if each not in one)]:
            old, new = one.get(item), other.get(item)
            if item not in ignore and _differ(item, old, new, first["Name"], second["Name"]):
                found.setdefault(section, {})[item] = {"old": old, "new": new}
    return found


def container_networks(first: dict[str, Any], second: dict[str, Any]) -> Differences:
    """Return how the networks of two containers differ: connected or not, and the arguments of each connection."""
    before, after = _networks(first), _networks(second)
    found: Differences = {}
    for name in sorted({*before, *after}):
        changes = _connection(before.get(name), after.get(name), first, second)
        if changes:
            found[name] = changes
    return found


def networks(current: dict[str, Any], wanted: dict[str, Any]) -> Differences:
    """Return how a network differs from the ``wanted`` settings; others are not compared."""
    found: Differences = {}
    for item, new in wanted.items():
        old = current.get(item)
        if item == "IPAM":
            changes = _ipam(old or {}, new)
        elif item == "Options":
            changes = {
                key: {"old": (old or {}).get(key), "new": value}
                for key, value in new.items()
                if (old or {}).get(key) != value
            }
        else:
            changes = {} if (not old and not new) or old == new else {"old": old, "new": new}
        if changes:
            found[item] = changes
    return found


def _differ(item: str, old: Any, new: Any, first: str, second: str) -> bool:
    if item == "OomKillDisable" or old is None or new is None:
        return bool(old) != bool(new)
    if item == "Links":
        old, new = sorted(_scrubbed(old, first)), sorted(_scrubbed(new, second))
    elif item == "Ulimits":
        old, new = sorted(old, key=_by_limit), sorted(new, key=_by_limit)
    elif item == "Env":
        old, new = sorted(old), sorted(new)
    return bool(old != new)


def _scrubbed(links: list[str], name: str) -> list[str]:
    """Return links without the name of their container."""
    return [link.replace(f"{name}/", "/", 1) for link in links]


def _by_limit(limit: dict[str, Any]) -> tuple[Any, ...]:
    return limit.get("Name"), limit.get("Hard", 0), limit.get("Soft", 0)


def _networks(container: dict[str, Any]) -> dict[str, Any]:
    return (container.get("NetworkSettings") or {}).get("Networks") or {}


def _connection(
    before: dict[str, Any] | None, after: dict[str, Any] | None, first: dict[str, Any], second: dict[str, Any]
) -> Differences:
    changes: Differences = {}
    for key in ("Aliases", "Links"):
        old, new = _given(before, key, first), _given(after, key, second)
        if old != new:
            changes[key] = {"old": old, "new": new}
    return {**changes, **_addresses(before, after)}


def _given(connection: dict[str, Any] | None, key: str, container: dict[str, Any]) -> list[str] | None:
    """Return an argument of a connection without the host name and ID that the daemon adds."""
    own = {container["Config"].get("Hostname"), container["Id"][:12]} if key == "Aliases" else set()
    return sorted(each for each in (connection or {}).get(key) or () if each not in own) or None


def _addresses(before: dict[str, Any] | None, after: dict[str, Any] | None) -> Differences:
    old, new = (before or {}).get("IPAMConfig") or None, (after or {}).get("IPAMConfig") or None
    if before is not None and after is not None and old is None and new is None:
        return {}
    changes: Differences = {}
    for connection, fixed, side in ((before, old, "old"), (after, new, "new")):
        other = "new" if side == "old" else "old"
        if connection is not None and fixed is None:
            changes |= {key: {side: connection[key], other: None} for key in _AUTOMATIC if connection.get(key)}
    if old != new:
        changes["IPAMConfig"] = {"old": old, "new": new}
    automatic = (before is not None and old is None) or (after is not None and new is None)
    if automatic and not any(key in changes for key in _AUTOMATIC):
        changes["IPConfiguration"] = {"old": _kind(before, old), "new": _kind(after, new)}
    return changes


def _kind(connection: dict[str, Any] | None, fixed: Any) -> str:
    return "not connected" if connection is None else "static" if fixed else "automatic"


def _ipam(current: dict[str, Any], wanted: dict[str, Any]) -> Differences:
    changes: Differences = {}
    for key, new in wanted.items():
        old = current.get(key)
        if key == "Config":
            old, new = _pools(old), _pools(new)
        if (old or new) and old != new:
            changes[key] = {"old": old, "new": new}
    return changes


def _pools(pools: Any) -> list[dict[str, Any]]:
    cleaned = [{key: value for key, value in pool.items() if value} for pool in pools or ()]
    return sorted(cleaned, key=lambda pool: sorted(map(str, pool.items())))
