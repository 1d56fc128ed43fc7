"""Names of Docker resources in footprints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Iterator

REGISTRY = (*_resources.NETWORK, "path:/etc/docker/certs.d/**", "path:~/.docker/config.json")
"""The resources that decide whether an image can be pulled."""
_TAGGED = re.compile(r".*[:@][^/]+")
_OTHERS = ("links", "volumes_from", "network_mode", "pid_mode", "ipc_mode")


def image(name: Any) -> str:
    """Return the footprint name of an image; the default tag is ``latest``."""
    text = str(name)
    return f"docker:image:{text if _TAGGED.fullmatch(text) else f'{text}:latest'}"


def listed(value: Any) -> list[str]:
    """Return names given as a list, a mapping, or a text with commas as a list."""
    return [each for each in _words(value) if each]


def needed(low: Any) -> list[str]:
    """Return the other containers and the networks to which a container is linked, or whose resources it shares."""
    found = [f"docker:network:{each}" for each in listed(low.get("networks"))]
    for key in _OTHERS:
        for each in listed(low.get(key)):
            mode, _, other = each.partition(":")
            if key in {"links", "volumes_from"}:
                found.append(f"docker:container:{mode}")
            elif mode == "container":
                found.append(f"docker:container:{other}")
            elif key == "network_mode" and mode not in {"host", "bridge", "none", "default"}:
                found.append(f"docker:network:{each}")
    return found


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (each.strip() for each in value.split(","))
    elif isinstance(value, dict):
        yield from map(str, value)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _words(each) if isinstance(each, (dict, str)) else [str(each)]
