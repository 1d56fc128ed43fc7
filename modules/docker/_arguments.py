"""Translation of container arguments from Salt's names and forms to the library docker's."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import InvocationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

log = logging.getLogger(__name__)

_ALIASES = {
    "cmd": "command",
    "cpuset": "cpuset_cpus",
    "dns_option": "dns_opt",
    "env": "environment",
    "expose": "ports",
    "interactive": "stdin_open",
    "ipc": "ipc_mode",
    "label": "labels",
    "memory": "mem_limit",
    "memory_swap": "memswap_limit",
    "publish": "port_bindings",
    "publish_all": "publish_all_ports",
    "restart": "restart_policy",
    "rm": "auto_remove",
    "sysctl": "sysctls",
    "security_opts": "security_opt",
    "ulimit": "ulimits",
    "user_ns_mode": "userns_mode",
    "volume": "volumes",
    "workdir": "working_dir",
}
_OF_CONTAINER = (
    "command hostname user detach stdin_open tty ports environment volumes network_disabled entrypoint working_dir"
    " domainname mac_address labels stop_signal healthcheck stop_timeout runtime platform"
).split()
_OF_HOST = (
    "binds port_bindings publish_all_ports links privileged dns dns_search dns_opt volumes_from network_mode"
    " restart_policy cap_add cap_drop devices device_cgroup_rules extra_hosts read_only pid_mode ipc_mode security_opt"
    " ulimits log_config mem_limit memswap_limit mem_reservation kernel_memory mem_swappiness cgroup_parent group_add"
    " cpu_quota cpu_period blkio_weight shm_size cpu_shares oom_kill_disable tmpfs oom_score_adj sysctls userns_mode"
    " uts_mode pids_limit isolation auto_remove storage_opt init init_path volume_driver cpu_count cpu_percent"
    " nano_cpus cpuset_cpus cpuset_mems mounts"
).split()


def translated(given: dict[str, Any], skip: Any = None, *, validate_ips: bool = True) -> tuple[dict[str, Any], ...]:
    """Return the arguments of ``create_container`` and those of ``create_host_config``.

    ``skip``: True, or the names of arguments that are passed on as they are. InvocationError names every invalid
    argument. Unknown ones are ignored with a warning, as in Salt.
    """
    arguments: dict[str, Any] = {}
    for key, value in given.items():
        name = _ALIASES.get(key, key)
        if name in arguments:
            raise InvocationError(f"{name} is given twice, under this name and another one")
        if value is not None:
            arguments[name] = value
    skipped = set(_words(skip)) if skip is not True else set(arguments)
    skipped = {_ALIASES.get(each, each) for each in skipped}
    wrong = {}
    for name, value in arguments.items():
        if name in _FORMS and name not in skipped:
            try:
                arguments[name] = _FORMS[name](value)
            except (InvocationError, ValueError, TypeError, AttributeError) as error:
                wrong[name] = str(error)
    if validate_ips and "extra_hosts" not in skipped and "extra_hosts" not in wrong:
        wrong |= _wrong_addresses(arguments.get("extra_hosts") or {})
    if arguments.get("port_bindings") is not None and arguments.get("publish_all_ports"):
        wrong["port_bindings"] = "Cannot be used when publish_all_ports=True"
    if arguments.get("hostname") is not None and arguments.get("network_mode") == "host":
        wrong["hostname"] = "Cannot be used when network_mode=host"
    if wrong:
        raise InvocationError("Invalid input. " + "; ".join(f"{name}: {words}" for name, words in wrong.items()))
    _complete(arguments, skipped)
    if unknown := sorted(set(arguments) - {*_OF_CONTAINER, *_OF_HOST}):
        log.warning("These arguments are not known to docker and are ignored: %s", ", ".join(unknown))
    return (
        {name: arguments[name] for name in _OF_CONTAINER if name in arguments},
        {name: arguments[name] for name in _OF_HOST if name in arguments},
    )


def _complete(arguments: dict[str, Any], skipped: set[str]) -> None:
    """Add derived arguments: volumes for binds, open ports for published ones, the logging from two arguments."""
    if "binds" in arguments and "binds" not in skipped:
        binds = arguments["binds"]
        targets = [each["bind"] for each in binds.values()] if isinstance(binds, dict) else _bound(binds)
        arguments["volumes"] = sorted({*arguments.get("volumes", ()), *targets})
    if "port_bindings" in arguments and "port_bindings" not in skipped:
        opened = [_open_port(each) for each in arguments["port_bindings"]]
        known = arguments.get("ports", [])
        arguments["ports"] = [*known, *(each for each in opened if each not in known)]
    driver, options = arguments.pop("log_driver", None), arguments.pop("log_opt", None)
    if "log_config" not in arguments and (driver is not None or options is not None):
        arguments["log_config"] = {"Type": driver or "none", "Config": options or {}}


def _bound(binds: list[str]) -> list[str]:
    return [parts[1] for parts in (each.split(":") for each in binds) if len(parts) > 1]


def _open_port(port: Any) -> Any:
    """Return a port in the form of ``create_container``: a number, or number and protocol."""
    number, _, protocol = str(port).partition("/")
    return (int(number), protocol) if protocol and protocol != "tcp" else int(number)


def _words(value: Any) -> list[Any]:
    """Return a list, or a text split at its commas."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return list(value)
    return [each.strip() for each in str(value).split(",") if each.strip()]


def _texts(value: Any) -> list[str]:
    return [str(each) for each in _words(value)]


def _pairs(delimiter: str) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for each in [value] if isinstance(value, dict) else _words(value):
            items = each.items() if isinstance(each, dict) else [_pair(str(each), delimiter)]
            found |= {str(key): None if text is None else str(text) for key, text in items}
        return found

    return read


def _pair(word: str, delimiter: str) -> tuple[str, str | None]:
    key, found, text = word.partition(delimiter)
    if not found and delimiter == ":":
        raise InvocationError(f"'{word}' is not a name and a value with '{delimiter}' between them")
    return key, text if found else ("" if delimiter == "=" else None)


def _command(value: Any) -> Any:
    return [str(each) for each in value] if isinstance(value, list) else str(value)


def _binds(value: Any) -> Any:
    return value if isinstance(value, dict) else _texts(value)


def _volumes(value: Any) -> list[str]:
    for each in _texts(value):
        if not os.path.isabs(each):
            raise InvocationError(f"'{each}' is not an absolute path")
    return _texts(value)


def _restart_policy(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        value = next((f"{name}:{count}" for name, count in value.items()), "") if "Name" not in value else (
            f"{value['Name']}:{value.get('MaximumRetryCount', 0)}"
        )  # fmt: skip
    name, _, count = str(value).partition(":")
    if not (count or "0").isdigit():
        raise InvocationError(f"Retry count '{count}' is non-numeric")
    return {"Name": name, "MaximumRetryCount": int(count or 0)}


def _ulimits(value: Any) -> list[dict[str, Any]]:
    found = []
    for each in [value] if isinstance(value, dict) else _words(value):
        if isinstance(each, dict):
            found.append({key.capitalize(): number for key, number in each.items()})
            continue
        match = re.fullmatch(r"(\w+)=(-?\d+)(?::(-?\d+))?", str(each))
        if match is None:
            raise InvocationError(f"Ulimit definition '{each}' is not in the format type=soft_limit[:hard_limit]")
        name, soft, hard = match.groups()
        found.append({"Name": name, "Soft": int(soft), "Hard": int(hard or soft)})
    return found


def _ports(value: Any) -> list[Any]:
    found = []
    for each in _words(value):
        text, _, protocol = str(each).partition("/")
        found += [_open_port(f"{number}/{protocol}" if protocol else number) for number in _range(text)]
    return found


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    if not (first.isdigit() and (last or first).isdigit()):
        raise InvocationError(f"'{text}' is non-numeric or an invalid port range")
    found = range(int(first), int(last or first) + 1)
    if not found:
        raise InvocationError(f"Start of port range ({first}) cannot be greater than end of port range ({last})")
    return found


def _port_bindings(value: Any) -> dict[Any, Any]:
    """Parse ``ip:host:container/protocol`` in all its forms to ``{port: host side}``; ports may be ranges."""
    if isinstance(value, dict):
        return value
    bindings: dict[Any, Any] = {}
    for binding in _texts(value):
        for port, where in _bindings(binding):
            if port not in bindings:
                bindings[port] = where
            else:
                known = bindings[port] if isinstance(bindings[port], list) else [bindings[port]]
                # a port that is published twice and has no host port gets the host port of the same number
                number = int(str(port).partition("/")[0])
                bindings[port] = [number if each is None else each for each in [*known, where]]
    return bindings


def _bindings(binding: str) -> Iterator[tuple[Any, Any]]:
    *host, inner = binding.rsplit(":", 2) if not binding.startswith("[") else _bracketed(binding)
    text, _, protocol = inner.partition("/")
    ports = [f"{number}/{protocol}" if protocol not in {"", "tcp"} else number for number in _range(text)]
    if host == [""]:
        raise InvocationError(f"Empty host port in port binding definition '{binding}'")
    outer: list[int | None] = list(_range(host[-1])) if host and host[-1] else [None] * len(ports)
    if len(outer) != len(ports):
        raise InvocationError(
            f"Host port range ({host[-1]}) does not have the same number of ports as the container port range ({text})"
        )
    if len(host) == 2:
        ipaddress.ip_address(host[0])
    for port, number in zip(ports, outer, strict=True):
        if len(host) == 2:
            yield port, (host[0],) if number is None else (host[0], number)
        else:
            yield port, number


def _bracketed(binding: str) -> list[str]:
    address, _, rest = binding[1:].partition("]:")
    return [address, *rest.split(":")]


def _tmpfs(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    return {path: options for path, _, options in (each.partition(":") for each in _texts(value))}


def _wrong_addresses(hosts: dict[str, Any]) -> dict[str, str]:
    for address in hosts.values():
        if address != "host-gateway":
            try:
                ipaddress.ip_address(str(address).strip("[]"))
            except ValueError:
                return {"extra_hosts": f"'{address}' is not a valid IP address"}
    return {}


_FORMS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys("privileged tty stdin_open init read_only publish_all_ports network_disabled detach".split(), bool),
    **dict.fromkeys("auto_remove oom_kill_disable".split(), bool),
    **dict.fromkeys(
        "cap_add cap_drop devices dns dns_search dns_opt group_add security_opt volumes_from".split(), _texts
    ),
    **dict.fromkeys("hostname user domainname working_dir network_mode pid_mode ipc_mode volume_driver".split(), str),
    **dict.fromkeys("stop_timeout pids_limit cpu_shares oom_score_adj".split(), int),
    **dict.fromkeys("environment labels log_opt sysctls storage_opt".split(), _pairs("=")),
    "extra_hosts": _pairs(":"),
    "links": _pairs(":"),
    "command": _command,
    "entrypoint": _command,
    "binds": _binds,
    "volumes": _volumes,
    "restart_policy": _restart_policy,
    "ulimits": _ulimits,
    "ports": _ports,
    "port_bindings": _port_bindings,
    "tmpfs": _tmpfs,
}
