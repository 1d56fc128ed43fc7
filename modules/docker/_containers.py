"""Containers: inspecting, making, removing, starting and stopping them."""

from __future__ import annotations

from typing import Any

from asyncstate.errors import CommandExecutionError

from . import _comparison
from ._arguments import translated
from ._engine import NotFound, call
from ._images import pull, resolve_image_id

Change = dict[str, Any]

_SHUTDOWN_TIMEOUT = 10


def list_containers(all: bool = False) -> list[str]:
    """Return the names of the running containers, or of all of them.

    CLI Example::

        asyncstate call docker.list_containers all=True
    """
    return sorted(name.lstrip("/") for each in call("containers", all=all) for name in each["Names"] or ())


def ps(all: bool = False) -> dict[str, dict[str, Any]]:
    """Return the daemon's facts about the running containers, or about all of them, by ID."""
    return {each["Id"]: each for each in call("containers", all=all)}


def exists(name: str) -> bool:
    """Return whether there is a container of this name or ID."""
    try:
        inspect_container(name)
    except NotFound:
        return False
    return True


def inspect_container(name: str) -> dict[str, Any]:
    """Return the daemon's facts about a container. CommandExecutionError if there is none."""
    found: dict[str, Any] = call("inspect_container", name)
    return found


def state(name: str) -> str:
    """Return ``running``, ``paused`` or ``stopped``. CommandExecutionError if there is no such container."""
    found = inspect_container(name)["State"]
    return "paused" if found.get("Paused") else "running" if found.get("Running") else "stopped"


def create(
    image: str,
    name: str | None = None,
    start: bool = False,
    skip_translate: Any = None,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
    client_timeout: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Create a container, pulling its image if necessary, and return its ``Id`` and ``Name``.

    ``options``: ``environment``, ``binds``, ``port_bindings``, ``command``, ``restart_policy`` … in the forms of the
    states. InvocationError for invalid ones.

    CLI Example::

        asyncstate call docker.create debian:12 name=web command='sleep 60'
    """
    container, host = translated(options, skip_translate, validate_ips=validate_ip_addrs)
    if resolve_image_id(image) is False:
        pull(image, client_timeout=client_timeout)
    config = call("create_host_config", **host)
    created: dict[str, Any] = call(
        "create_container", image, name=name, host_config=config, client_timeout=client_timeout, **container
    )
    created["Name"] = name or inspect_container(created["Id"])["Name"].lstrip("/")
    if start:
        _moved(created["Name"], "start", "running")
        created["Started"] = True
    return created


def start(name: str) -> Change:
    """Start a container; return ``result`` and the ``state`` before and after."""
    if state(name) == "paused":
        return _unmoved("paused", f"Container '{name}' is paused, cannot start")
    return _moved(name, "start", "running")


def stop(name: str, timeout: int | None = None, unpause: bool = False) -> Change:
    """Stop a container, by force after ``timeout`` seconds; return ``result`` and the ``state`` before and after."""
    found = inspect_container(name)
    before = state(name)
    if timeout is None:
        timeout = found["Config"].get("StopTimeout") or _SHUTDOWN_TIMEOUT
    if before == "paused":
        if not unpause:
            return _unmoved("paused", f"Container '{name}' is paused, run with unpause=True to unpause before stopping")
        if not _moved(name, "unpause", "running")["result"]:
            return _unmoved("paused", f"Failed to unpause container '{name}'")
    # the connection must stay open longer than the daemon waits for the container
    done = _moved(name, "stop", "stopped", timeout=timeout, client_timeout=timeout + 60)
    return {**done, "state": {**done["state"], "old": before}}


def restart(name: str, timeout: int = _SHUTDOWN_TIMEOUT) -> Change:
    """Restart a container; return ``result`` and the ``state`` before and after."""
    return _moved(name, "restart", "running", timeout=timeout, client_timeout=timeout + 60)


def kill(name: str) -> Change:
    """Stop a container at once."""
    return _moved(name, "kill", "stopped")


def signal(name: str, signal: str) -> bool:
    """Send a signal to a container's first process."""
    call("kill", name, signal=signal)
    return True


def rm(
    name: str, force: bool = False, volumes: bool = False, stop: bool = False, timeout: int | None = None
) -> list[str]:
    """Remove a container, with ``stop`` after stopping it, and return the IDs of the removed ones."""
    if state(name) == "running" and not (force or stop):
        raise CommandExecutionError(f"Container '{name}' is running, use force=True to forcibly remove this container")
    before = ps(all=True)
    removes_itself = False
    if stop and not force:
        removes_itself = inspect_container(name)["HostConfig"].get("AutoRemove", False)
        _stop(name, timeout)
    if not removes_itself:
        call("remove_container", name, v=volumes, force=force)
    after = ps(all=True)
    return [each for each in before if each not in after]


def rename(name: str, new_name: str) -> bool:
    """Rename a container."""
    call("rename", name, new_name)
    return True


def compare_containers(first: str, second: str, ignore: Any = ()) -> dict[str, Any]:
    """Return how the settings of two containers differ: ``{"Config": {"Env": {"old": …, "new": …}}, …}``.

    The images are compared by ID, not by name.
    """
    names = [each.strip() for each in ignore.split(",")] if isinstance(ignore, str) else list(ignore or ())
    details = [inspect_container(each) for each in (first, second)]
    for each in details:
        each["Config"] = {**each["Config"], "Image": each["Image"]}
    return _comparison.containers(details[0], details[1], tuple(names))


def _stop(name: str, timeout: int | None) -> None:
    if state(name) != "stopped":
        stop(name, timeout, unpause=True)


def _moved(name: str, action: str, expected: str, **options: Any) -> Change:
    before = state(name)
    if action != "restart" and before == expected:
        return _unmoved(expected, f"Container '{name}' already {expected}")
    call(action, name, **options)
    try:
        after: str | None = state(name)
    except NotFound:
        after = None
    return {"result": after == expected, "state": {"old": before, "new": after}}


def _unmoved(present: str, comment: str) -> Change:
    return {"result": False, "state": {"old": present, "new": present}, "comment": comment}
