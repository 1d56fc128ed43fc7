"""Networks: listing, making and removing them, connecting containers."""

from __future__ import annotations

from typing import Any

from asyncstate.errors import InvocationError

from . import _comparison
from ._engine import NotFound, call

_POOL = ("subnet", "iprange", "gateway", "aux_addresses")
_OF_NETWORK = "driver options check_duplicate internal labels enable_ipv6 attachable scope ingress".split()
_ALIASES = {"driver_opts": "options", "opt": "options", "ip_range": "iprange", "aux_address": "aux_addresses"}


def networks(names: list[str] | None = None, ids: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the daemon's facts about the networks, all or those named.

    CLI Example::

        asyncstate call docker.networks
    """
    found: list[dict[str, Any]] = call("networks", names=names, ids=ids)
    return found


def inspect_network(name: str) -> dict[str, Any]:
    """Return the daemon's facts about a network. CommandExecutionError if there is none."""
    found: dict[str, Any] = call("inspect_network", name)
    return found


def create_network(name: str, **options: Any) -> dict[str, Any]:
    """Create a network; `network_arguments` describes the options.

    CLI Example::

        asyncstate call docker.create_network inner subnet=10.1.0.0/24 gateway=10.1.0.1
    """
    created: dict[str, Any] = call("create_network", name, **network_arguments(options))
    return created


def remove_network(name: str) -> bool:
    """Remove a network that no container is connected to."""
    call("remove_network", name)
    return True


def connect_container_to_network(container: str, net_id: str, **options: Any) -> bool:
    """Connect a container to a network; ``aliases``, ``links``, ``ipv4_address`` and ``ipv6_address`` are optional."""
    call("connect_container_to_network", container, net_id, **options)
    return True


def disconnect_container_from_network(container: str, network_id: str) -> bool:
    """Disconnect a container from a network."""
    call("disconnect_container_from_network", container, network_id)
    return True


def connected(name: str) -> list[str]:
    """Return the names of the running containers that are connected to a network."""
    return [each["Name"] for each in (inspect_network(name).get("Containers") or {}).values()]


def check_network(name: str, **options: Any) -> dict[str, Any] | None:
    """Return how a network differs from these options, {} if it does not; None if there is none of this name."""
    arguments = network_arguments(options)
    try:
        current = inspect_network(name)
    except NotFound:
        return None
    wanted: dict[str, Any] = {}
    words = {"driver": "Driver", "internal": "Internal", "enable_ipv6": "EnableIPv6", "attachable": "Attachable"}
    for option, key in words.items():
        if option in arguments:
            wanted[key] = arguments[option]
    for option, key in (("labels", "Labels"), ("options", "Options"), ("ipam", "IPAM")):
        if arguments.get(option):
            wanted[key] = arguments[option]
    return _comparison.networks(current, wanted)


def network_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the library's ``create_network``. InvocationError for unknown ones.

    ``driver``, ``options``, ``internal``, ``labels``, ``enable_ipv6``, ``attachable``, ``scope``, ``ingress``; and for
    the addresses ``subnet``, ``iprange``, ``gateway`` and ``aux_addresses``, or several of them in ``ipam_pools``.
    """
    options = {_ALIASES.get(key, key): value for key, value in given.items() if value is not None}
    driver, settings = options.pop("ipam_driver", None), options.pop("ipam_opts", None)
    pools = [_pool(each) for each in _pools(options.pop("ipam_pools", None))]
    own = {key: options.pop(key) for key in _POOL if key in options}
    if own:
        pools.append(_pool(own))
    ipam = options.pop("ipam", None)
    if unknown := sorted(set(options) - set(_OF_NETWORK)):
        raise InvocationError(f"Unknown arguments of a network: {', '.join(unknown)}")
    for key in ("options", "labels"):
        if key in options:
            options[key] = _texts(options[key])
    if ipam is None and (pools or driver or settings):
        ipam = {"Driver": driver or "default", "Config": pools}
        ipam |= {"Options": settings} if settings else {}
    return {**options, "ipam": ipam} if ipam is not None else options


def _pools(given: Any) -> list[dict[str, Any]]:
    """Return address pools, each of them given as a dict or as a list of dicts."""
    pools = [] if given is None else given if isinstance(given, list) else [given]
    parts = [pool if isinstance(pool, list) else [pool] for pool in pools]
    if not all(isinstance(part, dict) for pool in parts for part in pool):
        raise InvocationError("ipam_pools must be a list of pools, each with lines such as 'subnet: 10.1.0.0/24'")
    return [{key: value for part in pool for key, value in part.items()} for pool in parts]


def _pool(given: dict[str, Any]) -> dict[str, Any]:
    words = {"subnet": "Subnet", "iprange": "IPRange", "gateway": "Gateway", "aux_addresses": "AuxiliaryAddresses"}
    pool = {_ALIASES.get(str(key), str(key)): value for key, value in given.items()}
    if unknown := sorted(set(pool) - set(words)):
        raise InvocationError(f"Unknown arguments of an address pool: {', '.join(unknown)}")
    if "subnet" not in pool:
        raise InvocationError("A subnet is required in each IPAM pool")
    pool_settings = {words[key]: value for key, value in pool.items()}
    if "AuxiliaryAddresses" in pool_settings:
        pool_settings["AuxiliaryAddresses"] = _texts(pool_settings["AuxiliaryAddresses"])
    return pool_settings


def _texts(value: Any) -> dict[str, str]:
    """Return a dict like ``{"a": "b"}``, given as such, as a list of such dicts, or as texts like ``a=b``."""
    found: dict[str, str] = {}
    for each in value if isinstance(value, list) else [value]:
        items = each.items() if isinstance(each, dict) else [str(each).split("=", 1)]
        found |= {str(key): _text(item) for key, item in items}
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
