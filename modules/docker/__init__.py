"""The ``docker`` execution module: containers, images and networks of a Docker daemon, through the library docker.

The daemon is that of the option ``docker.url``, of the variable DOCKER_HOST, or of this machine. If it refuses a
request, a CommandExecutionError has its message.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from ._comparison import container_networks as _container_networks
from ._containers import (
    compare_containers,
    create,
    exists,
    inspect_container,
    kill,
    list_containers,
    ps,
    rename,
    restart,
    rm,
    signal,
    start,
    state,
    stop,
)
from ._engine import call as _call
from ._images import (
    build,
    images,
    inspect_image,
    list_tags,
    load,
    pull,
    resolve_image_id,
    resolve_tag,
    rmi,
)
from ._networks import (
    check_network,
    connect_container_to_network,
    connected,
    create_network,
    disconnect_container_from_network,
    inspect_network,
    networks,
    remove_network,
)

__all__ = [
    "build",
    "check_network",
    "compare_container_networks",
    "compare_containers",
    "connect_container_to_network",
    "connected",
    "create",
    "create_network",
    "disconnect_container_from_network",
    "exists",
    "images",
    "inspect_container",
    "inspect_image",
    "inspect_network",
    "kill",
    "list_containers",
    "list_tags",
    "load",
    "networks",
    "ps",
    "pull",
    "remove_network",
    "rename",
    "resolve_image_id",
    "resolve_tag",
    "restart",
    "rm",
    "rmi",
    "signal",
    "start",
    "state",
    "stop",
    "version",
]


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the library docker is installed."""
    if importlib.util.find_spec("docker") is None:
        return False, "The Python library docker is not installed: pip install 'docker>=7.1'"
    return True


def version() -> dict[str, Any]:
    """Return the version of the daemon, as text and as numbers (``VersionInfo``).

    CLI Example::

        asyncstate call docker.version
    """
    version: dict[str, Any] = _call("version")
    numbers = version.get("Version", "").partition("+")[0].split(".")
    return {**version, "VersionInfo": tuple(int(each) for each in numbers if each.isdigit())}


def compare_container_networks(first: Any, second: Any) -> dict[str, Any]:
    """Return how the networks of two containers (given by name or as `inspect_container` returns them) differ."""
    details = [each if isinstance(each, dict) else inspect_container(each) for each in (first, second)]
    return _container_networks(details[0], details[1])
