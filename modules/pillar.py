"""The ``pillar`` execution module: reading the pillar that this runtime compiled.

Mappings and lists are returned as new copies, as in Salt 3008: a template's changes to them stay in that template. The
pillar is compiled once in a run, so ``saltenv`` and ``pillarenv`` are accepted and have no effect.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import jinja2

from asyncstate.data import merging, paths
from asyncstate.dunders import __opts__, __pillar__
from asyncstate.errors import CommandExecutionError

log = logging.getLogger(__name__)

_NOT_GIVEN: Any = object()


def get(
    key: str,
    default: Any = _NOT_GIVEN,
    merge: bool = False,
    merge_nested_lists: bool | None = None,
    delimiter: str = ":",
    pillarenv: str | None = None,
    saltenv: str | None = None,
    unmask: bool | None = None,
) -> Any:
    """Return the value under a colon path, or ``default``.

    ``merge`` merges the value over a ``default`` that is a mapping, or appends it to one that is a list. Without a
    default, a missing key returns an empty string, or raises KeyError with the option ``pillar_raise_on_missing``. A
    default that is undefined in a template is an error there, whether it is needed or not.
    """
    if isinstance(default, jinja2.Undefined):
        str(default)  # raises, unless the configuration has allow_undefined
    found = merging.fresh(paths.traverse(__pillar__, key, paths.MISSING, delimiter))
    if merge:
        merged = _merged(key, default, found, merge_nested_lists)
        if merged is not paths.MISSING:
            return merged
    if found is not paths.MISSING:
        return found
    if default is not _NOT_GIVEN:
        return default
    if __opts__.get("pillar_raise_on_missing"):
        raise KeyError(f"Pillar key not found: {key}")
    return ""


fetch = get


def item(*args: str, default: Any = "", delimiter: str = ":", **_: Any) -> dict[str, Any]:
    """Return the values under several colon paths."""
    missing = "" if default is None else default
    return {key: merging.fresh(paths.traverse(__pillar__, key, missing, delimiter or ":")) for key in args}


def items(*args: str, pillar: Mapping[str, Any] | None = None, **_: Any) -> dict[str, Any]:
    """Return the whole pillar, with ``pillar`` on top; or, given names, the same as `item`."""
    if args:
        return item(*args)
    everything: dict[str, Any] = merging.fresh(dict(__pillar__))
    if pillar:
        merging.update(everything, pillar)
    return everything


def ext(external: Any, pillar: Mapping[str, Any] | None = None, unmask: bool | None = None) -> dict[str, Any]:
    """Return the whole pillar, with ``pillar`` on top, and log that external pillars are not run."""
    names = ", ".join(map(str, external)) if isinstance(external, Mapping) else str(external)
    log.warning("External pillars are not run: %s", names)
    return items(pillar=pillar)


def data(*args: str, **kwargs: Any) -> dict[str, Any]:
    """Return the same as `items`."""
    return items(*args, **kwargs)


def ls(*args: str, **kwargs: Any) -> list[str]:
    """Return the top-level keys."""
    return list(items(*args, **kwargs))


def obfuscate(*args: str, **kwargs: Any) -> Any:
    """Return the same as `items` with the type of every value in its place."""
    return _types(items(*args, **kwargs))


def raw(key: str | None = None, unmask: bool | None = None) -> Any:
    """Return the pillar, or what it has under one top-level key ({} if nothing)."""
    return merging.fresh(__pillar__.get(key, {}) if key else dict(__pillar__))


def keys(key: str, delimiter: str = ":", unmask: bool | None = None) -> list[Any]:
    """Return the keys of the mapping under a colon path. KeyError without one, ValueError if it is something else."""
    found = paths.traverse(__pillar__, key, paths.MISSING, delimiter)
    if found is paths.MISSING:
        raise KeyError(f"Pillar key not found: {key}")
    if not isinstance(found, Mapping):
        raise ValueError(f"Pillar value in key {key} is not a dict")  # noqa: TRY004 - Salt's
    return list(found)


def filter_by(
    lookup_dict: Mapping[Any, Any],
    pillar: str,
    merge: Mapping[Any, Any] | None = None,
    default: str = "default",
    base: str | None = None,
) -> Any:
    """Do the same as ``grains.filter_by``, with the pillar value under a colon path."""
    return merging.filter_by(lookup_dict, paths.traverse(__pillar__, pillar, []), merge, default, base)


def file_exists(path: str, saltenv: str | None = None) -> bool:
    """Return whether a file is among the pillar roots."""
    roots = __opts__.get("pillar_roots")
    if not roots:
        raise CommandExecutionError("No pillar_roots found. Are you running this on the master?")
    if saltenv:
        roots = {saltenv: roots.get(saltenv, [])}
    return any(os.path.isfile(os.path.join(folder, path)) for folders in roots.values() for folder in folders)


def _merged(key: str, default: Any, found: Any, merge_lists: bool | None) -> Any:
    """Return the default with the value merged in, or MISSING (logged) if they cannot be merged."""
    if isinstance(default, dict):
        value = {} if found is paths.MISSING else found
        if isinstance(value, Mapping):
            lists = __opts__.get("pillar_merge_lists", False) if merge_lists is None else merge_lists
            return merging.update(merging.fresh(default), value, merge_lists=bool(lists))
    elif isinstance(default, list):
        value = [] if found is paths.MISSING else found
        if isinstance(value, list):
            return default + [entry for entry in value if entry not in default]
    else:
        log.error("pillar.get: the default for %s must be a dict or list to merge. Merge will be skipped.", key)
        return paths.MISSING
    log.error(
        "pillar.get: the default for %s is a %s, but the pillar value is a %s. Merge will be skipped.",
        key,
        type(default).__name__,
        type(found).__name__,
    )
    return paths.MISSING


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _types(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_types(entry) for entry in value]
    return f"<{type(value).__name__}>"
