"""The roots of a tree: folders by environment, from an option."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from asyncstate.config.values import base_directory, convert, prefix_of
from asyncstate.errors import ConfigError
from asyncstate.logs.loggers import get_logger

log: Final = get_logger(__name__)

Roots = dict[str, list[str]]
ROOT_OPTIONS = ("file_roots", "pillar_roots")
DEFAULT_ROOTS = {"file_roots": "/srv/salt", "pillar_roots": "/srv/pillar"}


def normalise_roots(option: str, value: Any, origin: str) -> Roots:
    """Make every root an absolute path, with ``~`` and globs expanded. A single root need not be a list.

    Without any, the result is the default root of ``base``.
    """
    if isinstance(value, Mapping):
        value = {name: [roots] if isinstance(roots, str) else (roots or []) for name, roots in value.items()}
    roots_by_env: dict[str | int | float, list[str]] = convert(
        option, value, dict[str | int | float, list[str]], origin
    )
    base = base_directory(origin)
    roots = {
        str(saltenv): [path for root in named for path in _expand_root(root, base)]
        for saltenv, named in roots_by_env.items()
    }
    return roots or {"base": [DEFAULT_ROOTS[option]]}


def _expand_root(root: str, base: str) -> list[str]:
    path = os.path.abspath(os.path.join(base, os.path.expanduser(root)))
    if {*"*?["}.isdisjoint(path):
        return [path]
    import glob  # noqa: PLC0415 - hardly any configuration has globs in its roots

    return sorted(glob.glob(path)) or [path]


def check_roots(option: str, saltenv: str, roots: list[str], origin: str) -> None:
    """Raise ConfigError if no root of an environment exists; warn of each that does not."""
    if saltenv == "__env__" or roots == [DEFAULT_ROOTS[option]]:
        return
    missing = [root for root in roots if not os.path.isdir(root)]
    if missing and len(missing) == len(roots):
        what = "is not a directory" if os.path.exists(missing[0]) else "no such directory"
        raise ConfigError(
            f"{prefix_of(origin)}{option}: environment {saltenv!r}: {', '.join(missing)}: {what}. "
            "Create it, or name the directory that contains the tree (relative paths start at "
            f"{base_directory(origin)})."
        )
    for root in missing:
        log.warning(
            "%s%s: %s (environment %r) does not exist and is left out", prefix_of(origin), option, root, saltenv
        )
