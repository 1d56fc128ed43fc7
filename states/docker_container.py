"""The ``docker_container`` states: containers of a Docker daemon, with Salt's arguments and rows.

To compare a container with the arguments, a second container is created from them, never started, and removed. So
the settings added by the image and the daemon are known, in a dry run too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError

from . import _docker_names, _resources
from ._docker_wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN_ARGUMENTS = {"send_signal", "image", "name", "fun", "state"}


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the execution module is available."""
    if "docker.version" in __salt__:
        return True
    return False, "The Python library docker is not installed: pip install 'docker>=7.1'"


def running(
    name: str,
    image: Any = None,
    skip_translate: Any = None,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
    force: bool = False,
    watch_action: str = "force",
    start: bool = True,
    shutdown_timeout: int | None = None,
    client_timeout: Any = None,
    networks: Any = None,
    **kwargs: Any,
) -> Row:
    """Make sure that a container of this image with this configuration runs; one that differs is replaced.

    ``**kwargs``: ``environment``, ``binds``, ``port_bindings``, ``command``, ``entrypoint``, ``restart_policy``,
    ``hostname``, ``extra_hosts``, ``network_mode``, ``privileged``, ``cap_add``, ``ulimits``, ``tty``, ``interactive``
    …. It is connected to ``networks`` and no others. ``force`` always replaces it, and so does a watched change, unless
    ``watch_action`` is a signal, which ``send_signal`` sends without a watched change. With ``start`` False one that
    matches but does not run stays stopped.

    Example::

        web:
          docker_container.running:
            - image: nginx:1.27
            - port_bindings: 8080:80
            - binds: /srv/www:/usr/share/nginx/html:ro
            - environment:
              - MODE: production
            - restart_policy: always
            - networks: [inner]
    """
    if image is None:
        return failed(name, "The 'image' argument is required")
    options = {key: value for key, value in kwargs.items() if not key.startswith("__") and key not in _OWN_ARGUMENTS}
    options |= {"skip_translate": skip_translate, "validate_ip_addrs": validate_ip_addrs}
    wanted = Wanted(
        name=name,
        image=str(image),
        options={**options, "ignore_collisions": ignore_collisions, "client_timeout": client_timeout},
        networks=networks,
        force=force,
        start=start,
        signal=watch_action if kwargs.get("send_signal") else None,
        shutdown_timeout=shutdown_timeout,
    )
    try:
        wanted.fulfil()
    except AsyncStateError as error:
        wanted.fail(str(error))
    return wanted.row()


def stopped(
    name: str | None = None,
    containers: list[Any] | None = None,
    shutdown_timeout: int | None = None,
    unpause: bool = False,
    error_on_absent: bool = True,
    **kwargs: Any,
) -> Row:
    """Make sure that a container, or each of several ``containers``, does not run.

    The state fails for a paused container, unless ``unpause``, and for one that does not exist, unless
    ``error_on_absent`` is False.

    Example::

        web:
          docker_container.stopped:
            - shutdown_timeout: 30
    """
    if not name and not containers:
        return failed(name, "One of 'name' and 'containers' must be provided")
    if containers is not None and not isinstance(containers, list):
        return failed(name, "containers must be a list")
    targets = [str(each) for each in containers] if containers is not None else [str(name)]
    try:
        states = {target: _state(target) for target in targets}
    except AsyncStateError as error:
        return failed(name, str(error))

    def those(state: str | None) -> list[str]:
        return [target for target in targets if states[target] == state]

    errors = []
    if error_on_absent and those(None):
        errors.append(f"The following container(s) are absent: {', '.join(those(None))}")
    if not unpause and those("paused"):
        errors.append(f"The following container(s) are paused: {', '.join(those('paused'))}")
    if errors:
        return failed(name, ". ".join(errors))
    to_stop = those("running") + those("paused")
    if not to_stop:
        subject = f"Container '{targets[0]}' is" if len(targets) == 1 else "All specified containers are"
        return unchanged(name, f"{subject} {'absent or ' if those(None) else ''}not running")
    if is_dry_run():
        return would_change(name, f"The following container(s) will be stopped: {', '.join(to_stop)}")
    return _stop(name, to_stop, {"unpause": unpause, "timeout": shutdown_timeout})


def absent(name: str, force: bool = False) -> Row:
    """Make sure that a container does not exist; a running one is removed only with ``force``.

    Example::

        web:
          docker_container.absent:
            - force: True
    """
    try:
        before = _state(name)
        if before is None:
            return unchanged(name, f"Container '{name}' does not exist")
        if before != "stopped" and not force:
            return failed(name, "Container is running, set force to True to forcibly remove it")
        if is_dry_run():
            return would_change(name, f"Container '{name}' will be removed")
    except AsyncStateError as error:
        return failed(name, str(error))
    try:
        removed = __salt__["docker.rm"](name, force=force)
    except AsyncStateError as error:
        return failed(name, f"Failed to remove container '{name}': {error}")
    how = "Successfully" if before == "stopped" else "Forcibly"
    return changed(name, f"{how} removed container '{name}'", {"removed": removed})


def mod_watch(name: str, sfun: str | None = None, **kwargs: Any) -> Row:
    """Replace a container whose watched states have changed, or send it the signal ``watch_action``."""
    if sfun == "running":
        replaced = kwargs.get("watch_action", "force") == "force"
        return running(name, **{**kwargs, "force": replaced, "send_signal": not replaced})
    if sfun == "stopped":
        return stopped(name, **{key: value for key, value in kwargs.items() if not key.startswith("__")})
    comment = f"watch requisite is not implemented for {sfun}"
    return failed(name, comment)


_PROCESSES = f"{_resources.PROCESSES}#container:"


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a container state: containers, the image, networks and the content of bound folders."""
    name = low.get("name", "")
    reads = ["service:docker", "docker:images"]
    if low.get("image"):
        reads += [_docker_names.image(low["image"]), *_docker_names.REGISTRY]
    reads += _docker_names.needed(low)
    binds = [each.partition(":")[0] for key in ("binds", "devices") for each in _docker_names.listed(low.get(key))]
    reads += [*_resources.files(binds, below="/**"), *_resources.files(low.get("env_file"))]
    containers = [*_docker_names.listed(low.get("containers")), name]
    writes = [f"{kind}{each}" for each in containers if each for kind in ("docker:container:", _PROCESSES)]
    return {"reads": reads, "writes": writes}


def _state(name: str) -> str | None:
    """Return the state of a container, None if there is no such container."""
    return str(__salt__["docker.state"](name)) if __salt__["docker.exists"](name) else None


def _stop(name: str | None, targets: list[str], options: dict[str, Any]) -> Row:
    changes, errors = {}, []
    for target in targets:
        try:
            done = __salt__["docker.stop"](target, **options)
        except (CommandExecutionError, InvocationError) as error:
            done = {"result": False, "comment": str(error)}
        if done["result"] is True:
            changes[target] = done
        else:
            errors.append(done.get("comment") or f"Failed to stop container '{target}'")
    if errors:
        return failed(name, "; ".join(errors), changes)
    return changed(name, f"The following container(s) were stopped: {', '.join(targets)}", changes)
