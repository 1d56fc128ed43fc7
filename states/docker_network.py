"""The ``docker_network`` states: networks of a Docker daemon, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, CommandExecutionError

from . import _docker_names

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOT_OF_NETWORKS = {"skip_translate", "ignore_collisions", "validate_ip_addrs", "name", "fun", "state"}


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the execution module is available."""
    if "docker.version" in __salt__:
        return True
    return False, "The Python library docker is not installed: pip install 'docker>=7.1'"


def present(name: str, containers: Any = None, reconnect: bool = True, **kwargs: Any) -> Row:
    """Make sure that a network exists with these settings; one that differs is made anew.

    ``**kwargs``: ``driver``, ``options``, ``internal``, ``labels``, ``enable_ipv6``, ``attachable``, and ``subnet``,
    ``gateway``, ``iprange``, ``aux_addresses``, or several of them in ``ipam_pools``. Settings that are not
    given are not compared. ``containers`` are connected to it; by default those that were connected before.

    Example::

        inner:
          docker_network.present:
            - subnet: 10.1.0.0/24
            - gateway: 10.1.0.1
            - internal: True
    """
    options = {key: value for key, value in kwargs.items() if not key.startswith("__") and key not in _NOT_OF_NETWORKS}
    try:
        differences = __salt__["docker.check_network"](name, **options)
        network = None if differences is None else __salt__["docker.inspect_network"](name)
    except AsyncStateError as error:
        return failed(name, str(error))
    if is_dry_run() and (network is None or differences):
        comment = "Network will be created" if network is None else "Network would be recreated with new config"
        return would_change(name, comment, {name: differences} if differences else None)
    if network is not None and not differences:
        comment = f"Network '{name}' already exists, and is configured as specified"
        return _connected(unchanged(name, comment), network, _listed(containers))
    changes: dict[str, Any] = {}
    left: list[str] = []
    try:
        if network is not None:
            left = _remove(network)
            changes = {name: differences, **({"disconnected": left} if left else {})}
        __salt__["docker.create_network"](name, **options)
        created = __salt__["docker.inspect_network"](name)
    except AsyncStateError as error:
        return failed(name, f"Failed to create network '{name}': {error}", changes)
    changes["created" if network is None else "recreated"] = True
    words = "created" if network is None else "was replaced with updated config"
    row = changed(name, f"Network '{name}' {words}", changes)
    again = left if containers is None and reconnect else []
    row = _connected(row, created, again, "reconnected")
    return _connected(row, created, _listed(containers))


def absent(name: str) -> Row:
    """Make sure that a network does not exist; its containers are disconnected first.

    Example::

        inner:
          docker_network.absent: []
    """
    try:
        if __salt__["docker.check_network"](name) is None:
            return unchanged(name, f"Network '{name}' already absent")
        if is_dry_run():
            return would_change(name, f"Network '{name}' will be removed")
        left = _remove(__salt__["docker.inspect_network"](name))
    except AsyncStateError as error:
        return failed(name, str(error))
    changes = {"disconnected": left} if left else {}
    return changed(name, f"Removed network '{name}'", {**changes, "removed": True})


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a network state: the network and the containers connected to it."""
    containers = [f"docker:container:{each}" for each in _docker_names.listed(low.get("containers"))]
    reads = ["service:docker", *containers]
    return {"reads": reads, "writes": [f"docker:network:{low.get('name', '')}"]}


def _remove(network: dict[str, Any]) -> list[str]:
    """Remove a network and return the names of the containers that were connected to it."""
    name = network["Name"]
    left = []
    for number, details in (network.get("Containers") or {}).items():
        container = details.get("Name") or number
        try:
            __salt__["docker.disconnect_container_from_network"](number, name)
        except CommandExecutionError as error:
            raise CommandExecutionError(f"Failed to disconnect container '{container}' : {error}") from error
        left.append(container)
    try:
        __salt__["docker.remove_network"](name)
    except CommandExecutionError as error:
        raise CommandExecutionError(f"Failed to remove network: {error}") from error
    return left


def _connected(row: Row, network: dict[str, Any], containers: list[str], word: str = "connected") -> Row:
    """Connect the containers that are not connected, and add them and the errors to the row."""
    present = {details.get("Name") for details in (network.get("Containers") or {}).values()}
    missing = [container for container in containers if container not in present]
    if not missing:
        return row
    if is_dry_run():
        return row | {"result": None, "comment": f"{row['comment']}. To be connected: {', '.join(missing)}"}
    errors, done = [], []
    for container in missing:
        try:
            __salt__["docker.connect_container_to_network"](container, network["Name"])
            done.append(container)
        except CommandExecutionError as error:
            errors.append(str(error))
    changes = {**row["changes"], word: done} if done else row["changes"]
    if errors:
        return failed(row["name"], f"{row['comment']}. {'. '.join(errors)}.", changes)
    return row | {"changes": changes}


def _listed(containers: Any) -> list[str]:
    words = containers.split(",") if isinstance(containers, str) else containers or []
    return [str(each).strip() for each in words]
