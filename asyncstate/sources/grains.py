"""Grains: facts about this machine, read from files and system calls.

No program is run and no name server is queried, so gathering takes about a millisecond. Names and values are Salt's;
facts that Salt gets only from programs (``dmidecode``, ``lspci``, ``lvm``) are read from ``/sys`` or left out. Left
out are also ``ca_truststore`` and ``zmqversion``, which are facts about Salt's own libraries.
"""

from __future__ import annotations

import fnmatch
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from asyncstate import filesystem
from asyncstate.data import SALT_VERSION
from asyncstate.data.merging import merged_deeply
from asyncstate.errors import ConfigError, PathRefused, meant_for_program, place_in_plugin
from asyncstate.logs import get_logger
from asyncstate.model.encode import plain
from asyncstate.sources import grains_hardware, grains_os

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

log: Final = get_logger(__name__)

_SYSTEM_GRAINS = "/etc/salt/grains"


def core_grains(root: str = "/") -> dict[str, Any]:
    """Return the grains of Salt's ``core`` and ``extra`` grain modules on Linux.

    ``root`` is the folder that contains ``etc``, ``proc`` and ``sys``; facts about the process are always those of this
    process.
    """
    grains: dict[str, Any] = {}
    grains |= grains_os.kernel_grains()
    grains |= grains_os.distribution_grains(root)
    grains |= grains_os.release_grains(grains)
    grains["osarch"] = grains_os.package_architecture(grains["os_family"], grains["cpuarch"], root)
    grains |= grains_os.init_grains(root)
    grains |= grains_hardware.cpu_grains(root)
    grains |= grains_hardware.memory_grains(root)
    grains |= grains_hardware.firmware_grains(root)
    grains |= grains_hardware.virtual_grains(root)
    grains |= grains_hardware.disk_grains(root)
    grains |= grains_hardware.gpu_grains(root)
    grains |= grains_hardware.boot_grains(root)
    grains |= grains_hardware.name_grains(grains["nodename"], root)
    grains |= grains_hardware.address_grains(grains["fqdn"], root)
    grains |= _process_grains()
    grains |= grains_os.locale_grains()
    return grains


def _process_grains() -> dict[str, Any]:
    uid, gid = os.geteuid(), os.getegid()
    path = os.environ.get("PATH", "").strip()
    return {
        "cwd": _working_directory(),
        "gid": gid,
        "groupname": _group_name(gid),
        "package": None,
        "path": path,
        "pid": os.getpid(),
        "ps": "ps -efHww",
        "pythonexecutable": sys.executable,
        "pythonpath": list(sys.path),
        "pythonversion": list(sys.version_info),
        "saltpath": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "saltversion": ".".join(str(part) for part in SALT_VERSION),
        "saltversioninfo": list(SALT_VERSION),
        "shell": os.environ.get("SHELL", "/bin/sh"),
        "systempath": path.split(os.pathsep),
        "uid": uid,
        "username": _user_name(uid),
    }


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # removed in the meantime
        return ""


def _user_name(uid: int) -> str:
    import pwd  # noqa: PLC0415 - missing outside Unix

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_name(gid: int) -> str:
    import grp  # noqa: PLC0415 - missing outside Unix

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def gather(
    opts: Mapping[str, Any],
    custom: Mapping[str, Callable[..., Any]] | None = None,
    override: Mapping[str, Any] | None = None,
    core: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return all grains. Later sources override earlier ones, in the order of Salt 3008.

    1. core grains: ``core``, or those of this machine if it is None
    2. the functions of ``_grains`` modules
    3. the static ``grains`` file beside the configuration, or ``/etc/salt/grains``
    4. the ``grains`` option
    5. ``override``, the grains of the command line

    Later keys replace earlier ones; with ``grains_deep_merge`` mappings are merged. ``grains_blacklist`` contains globs
    of names to leave out of the first three. With ``grains_alone``, the only grains are ``override`` and the ID. A
    custom function may have a parameter ``grains``, the grains gathered so far; a failing one is logged and skipped,
    as in Salt. Raises ConfigError if the static file is not a YAML mapping.
    """
    deep = bool(opts.get("grains_deep_merge"))
    if opts.get("grains_alone"):
        return {**_identity_grains(opts), **(override or {})}
    blocked = opts.get("grains_blacklist") or ()
    grains: dict[str, Any] = {}

    def add(more: Mapping[str, Any], blocked: Any = ()) -> None:
        nonlocal grains
        kept = {key: value for key, value in more.items() if not any(fnmatch.fnmatch(key, glob) for glob in blocked)}
        grains = merged_deeply(grains, kept) if deep else grains | kept

    add(core_grains() if core is None else core, blocked)
    add(_identity_grains(opts))
    for name, function in (custom or {}).items():
        add(_custom_grains(name, function, grains), blocked)
    add(static_grains(opts), blocked)
    add(opts.get("grains") or {})
    add(override or {})
    return grains


def _identity_grains(opts: Mapping[str, Any]) -> dict[str, Any]:
    if not opts.get("id"):
        return {}
    import hashlib  # noqa: PLC0415 - start-up time

    digest = int(hashlib.sha256(opts["id"].encode()).hexdigest(), 16)
    domain = {"append_domain": opts["append_domain"]} if "append_domain" in opts else {}
    return {"id": opts["id"], "server_id": digest % 2**31, "master": opts.get("master", "salt"), **domain}


def _custom_grains(name: str, function: Callable[..., Any], grains: dict[str, Any]) -> dict[str, Any]:
    import inspect  # noqa: PLC0415 - needed only for custom grains

    try:
        wants_grains = "grains" in inspect.signature(function).parameters
        found = function(grains=grains) if wants_grains else function()
        if isinstance(found, dict):
            return dict(found)
    except BaseException as error:  # a failing grain must not stop the run; Salt logs it too
        if meant_for_program(error):
            raise
        place = place_in_plugin(error)
        said = f"{type(error).__name__}: {plain(error)}{f' ({place})' if place else ''}"
        log.warning("Custom grain function %s failed and is left out: %s", name, said)
        log.debug("Custom grain function %s failed", name, exc_info=True)
        return {}
    log.debug("Custom grain function %s gave %s, not a mapping", name, type(found).__name__)
    return {}


def static_grains(opts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the static grains file: ``grains`` beside the configuration, else /etc/salt/grains.

    Returns {} if there is none. Raises ConfigError, which names the file and the line, if it is not a YAML mapping.
    """
    beside = os.path.join(os.path.dirname(opts.get("conf_file") or _SYSTEM_GRAINS), "grains")
    for path in dict.fromkeys((beside, _SYSTEM_GRAINS)):
        if os.path.isfile(path):
            return load_grains_file(path)
    return {}


def load_grains_file(path: str) -> dict[str, Any]:
    """Read a YAML file of grains. Raises ConfigError, which names the file and the line of a syntax error."""
    from asyncstate.config.files import parse_yaml  # noqa: PLC0415 - most machines have no such file

    try:
        content = parse_yaml(filesystem.read_input(path), path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the grains: {error.strerror}") from None
    except PathRefused as error:
        raise ConfigError(f"{path}: cannot read the grains: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of grains, got {type(content).__name__}")
    return content
