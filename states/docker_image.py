"""The ``docker_image`` states: images of a Docker daemon, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError

from . import _docker_names, _resources

if TYPE_CHECKING:
    from collections.abc import Mapping


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the execution module is available."""
    if "docker.version" in __salt__:
        return True
    return False, "The Python library docker is not installed: pip install 'docker>=7.1'"


def present(
    name: str,
    tag: Any = None,
    build: str | None = None,
    load: str | None = None,
    force: bool = False,
    insecure_registry: bool = False,
    client_timeout: Any = None,
    dockerfile: str | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that an image exists: pulled, built from the folder ``build``, or loaded from the archive ``load``.

    ``force`` pulls, builds or loads it even if the name exists; the state has changes only if the image differs.

    Example::

        nginx:
          docker_image.present:
            - tag: '1.27'
    """
    if "sls" in kwargs:
        return failed(name, "Images cannot be built by states ('sls') here; use 'build' with a Dockerfile.")
    if build and load:
        return failed(name, "Only one of 'build', 'load', or 'sls' is permitted.")
    if (build or load) and not tag:
        return failed(name, "The 'tag' argument is required if any one of 'build', 'load', or 'sls' is used.")
    image = f"{name}:{tag}" if tag else str(name)
    action = "built" if build else "loaded" if load else "pulled"
    try:
        before = __salt__["docker.resolve_image_id"](image)
    except AsyncStateError as error:
        return failed(name, str(error))
    if before and not force:
        return unchanged(name, f"Image {image} already present")
    if is_dry_run():
        return would_change(name, f"Image {image} will be {action}")
    try:
        if build:
            done = __salt__["docker.build"](path=build, repository=name, tag=str(tag), dockerfile=dockerfile)
        elif load:
            done = __salt__["docker.load"](path=load, repository=name, tag=str(tag))
        else:
            options = {"insecure_registry": insecure_registry, "client_timeout": client_timeout}
            done = __salt__["docker.pull"](image, **options)
        after = __salt__["docker.resolve_image_id"](image)
    except AsyncStateError as error:
        return failed(name, _problem(action, build or load or "", image, error))
    if not after:
        return failed(name, f"Failed to inspect image '{image}' after it was {action}: there is none of this name")
    if before == after:
        return unchanged(name, f"Image '{name}' was {action}, but there were no changes")
    return changed(name, f"Image '{image}' was {action}", done)


def absent(name: str | None = None, images: list[str] | None = None, force: bool = False) -> Row:
    """Make sure that an image, or each of several ``images``, does not exist.

    Example::

        nginx:1.26:
          docker_image.absent: []
    """
    if not name and not images:
        return failed(name, "One of 'name' and 'images' must be provided")
    targets = [str(each) for each in images] if images is not None else [str(name)]
    try:
        found = [__salt__["docker.resolve_tag"](target) for target in targets]
        tags = [str(tag) for tag in found if tag is not False]
        if not tags:
            single = f"Image {name} is not present"
            comment = single if len(targets) == 1 else "All specified images are not present"
            return unchanged(name, comment)
        if is_dry_run():
            several = f"The following images will be removed: {', '.join(tags)}"
            comment = f"Image {tags[0]} will be removed" if len(tags) == 1 else several
            return would_change(name, comment)
        removed = __salt__["docker.rmi"](*tags, force=force)
        left = [tag for tag in tags if __salt__["docker.resolve_tag"](tag) is not False]
    except AsyncStateError as error:
        return failed(name, str(error))
    if not left:
        several = f"The following images were removed: {', '.join(tags)}"
        comment = f"Image {tags[0]} was removed" if len(tags) == 1 else several
        return changed(name, comment, removed)
    if len(left) < len(tags):
        comment = f"The following image(s) failed to be removed: {', '.join(left)}"
        return failed(name, comment, removed)
    comment = "None of the specified images were removed"
    if removed.get("Errors"):
        comment += f". The following errors were encountered: {'; '.join(removed['Errors'])}"
    return failed(name, comment)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of an image state: images; the folder or archive they are made from, the registry."""
    name, tag = low.get("name", ""), low.get("tag")
    images = [*_docker_names.listed(low.get("images")), f"{name}:{tag}" if tag else name]
    writes = [_docker_names.image(each) for each in images if each]
    if low.get("fun") == "absent":
        writes.append("docker:images")  # containers do not reliably name the image that they were made from
        return {"reads": ["service:docker"], "writes": writes}
    sources = [*_resources.files(low.get("build"), below="/**"), *_resources.fetched(low.get("load"))]
    sources += _resources.files(low.get("dockerfile"))
    return {"reads": ["service:docker", *sources, *_docker_names.REGISTRY], "writes": writes}


def _problem(action: str, source: str, image: str, error: Exception) -> str:
    what = {
        "built": f"building {source} as {image}",
        "loaded": f"loading {source} as {image}",
        "pulled": f"pulling {image}",
    }[action]
    return f"Encountered error {what}: {error}"
