"""Images: listing, pulling, loading, building and removing them."""

from __future__ import annotations

import json
import time
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

from ._engine import NotFound, call


def images(all: bool = False) -> dict[str, dict[str, Any]]:
    """Return the daemon's facts about the images, by ID."""
    return {each["Id"]: each for each in call("images", all=all)}


def list_tags() -> list[str]:
    """Return the names of all images, ``name:tag``.

    CLI Example::

        asyncstate call docker.list_tags
    """
    return sorted({tag for each in images().values() for tag in each.get("RepoTags") or ()})


def inspect_image(name: str) -> dict[str, Any]:
    """Return the daemon's facts about an image. CommandExecutionError if there is none."""
    found: dict[str, Any] = call("inspect_image", name)
    return found


def resolve_image_id(name: str) -> str | bool:
    """Return the ID of an image, False if there is none of this name."""
    try:
        return str(inspect_image(name)["Id"])
    except NotFound:
        return False


def resolve_tag(name: str) -> str | bool:
    """Return the first full name of an image, or its ID if it has none; False if there is no such image."""
    try:
        found = inspect_image(name)
    except NotFound:
        return False
    return str(next(iter(found.get("RepoTags") or ()), found["Id"]))


def pull(image: str, client_timeout: Any = None, insecure_registry: bool = False) -> dict[str, Any]:
    """Pull an image, ``latest`` if no tag is given; return the ``Layers`` that were pulled and those that existed.

    ``insecure_registry`` is accepted and ignored: it belongs to the daemon's configuration.

    CLI Example::

        asyncstate call docker.pull debian:12
    """
    started = time.monotonic()
    name, tag = _name_and_tag(image)
    events = call("pull", name, tag=tag, stream=True, decode=True, client_timeout=client_timeout)
    _raise_errors(events)
    layers: dict[str, list[str]] = {}
    outcome: dict[str, Any] = {}
    for event in events:
        status = event.get("status", "")
        kind = {"Already exists": "Already_Pulled", "Pull complete": "Pulled"}.get(status)
        if kind and event["id"] not in layers.setdefault(kind, []):
            layers[kind].append(event["id"])
        elif status.startswith("Status: "):
            outcome["Status"] = status.removeprefix("Status: ")
    outcome |= {"Layers": layers} if layers else {}
    return {"Time_Elapsed": time.monotonic() - started, "retcode": 0, **outcome}


def load(path: str, repository: str | None = None, tag: str | None = None) -> dict[str, Any]:
    """Load images from an archive that ``docker save`` made; a single one gets the name ``repository:tag``."""
    if bool(repository) != bool(tag):
        raise InvocationError("If tagging, both a repository and tag are required")
    started = time.monotonic()
    local = __salt__["cp.cache_file"](path)
    if not local or not filesystem.is_file(local):
        raise CommandExecutionError(f"Source file {path} does not exist")
    before = images(all=True)
    with filesystem.open_read(local) as file:
        events = call("load_image", file)
    _raise_errors(events or ())
    new = [each for each in images(all=True) if each not in before]
    outcome: dict[str, Any] = {"Path": path, "Layers": [each.removeprefix("sha256:")[:12] for each in new]}
    if repository:
        if len(new) == 1:
            call("tag", new[0], repository, tag=tag)
            outcome["Image"] = f"{repository}:{tag}"
        else:
            outcome["Warning"] = f"{len(new)} images were loaded, so none was tagged"
    return {"Time_Elapsed": time.monotonic() - started, **outcome}


def build(path: str, repository: str, tag: str | None = None, dockerfile: str | None = None) -> dict[str, Any]:
    """Build an image from a folder of this machine and name it ``repository:tag``."""
    started = time.monotonic()
    name = f"{repository}:{tag or 'latest'}"
    filesystem.require_unshared(path, "docker build")
    events = call("build", path=path, tag=name, dockerfile=dockerfile, rm=True, decode=True)
    _raise_errors(events)
    number = inspect_image(name)["Id"].removeprefix("sha256:")[:12]
    return {"Time_Elapsed": time.monotonic() - started, "Id": number, "Image": name}


def rmi(*names: str, force: bool = False, prune: bool = True) -> dict[str, Any]:
    """Remove images; return the removed ``Layers`` and ``Tags``, and ``Errors`` if there were any."""
    layers, tags = images(all=True), list_tags()
    errors = []
    for name in names:
        try:
            call("remove_image", inspect_image(name)["Id"], force=force, noprune=not prune)
        except CommandExecutionError as error:
            errors.append(str(error))
    left, left_tags = images(all=True), list_tags()
    gone = {
        "Layers": [each for each in layers if each not in left],
        "Tags": [each for each in tags if each not in left_tags],
        "retcode": 1 if errors else 0,
    }
    return {**gone, "Errors": errors} if errors else gone


def _name_and_tag(image: str) -> tuple[str, str | None]:
    """Split an image into name and tag; a digest stays with the name."""
    if "@" in image:
        return image, None
    head, slash, last = image.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{head}{slash}{name}", tag or "latest"


def _raise_errors(events: Any) -> None:
    """Raise the error in a stream of events, if there is one."""
    for event in events:
        message = json.loads(event) if isinstance(event, (str, bytes)) else event
        if "error" in message:
            raise CommandExecutionError(str(message["error"]))
