"""Static grains by colon path: the new value of a top-level grain when a path below it is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.data import merging, paths
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_value(
    grains: Mapping[str, Any], path: str, value: Any, delimiter: str, *, force: bool, destructive: bool
) -> tuple[Any, Any]:
    """Return the top-level key of ``path``, and its value with ``value`` put there. ``grains`` stay.

    A list or mapping is replaced, or replaces another value, only with ``force``. ``destructive`` removes a key whose
    new value is None. Raises CommandExecutionError for what is not replaced.
    """
    present = paths.traverse(grains, path, paths.MISSING, delimiter)
    if present is not None and not force:
        if isinstance(present, (dict, list)):
            raise CommandExecutionError(
                f"The key '{path}' exists but is a dict or a list. Use 'force=True' to overwrite."
            )
        if isinstance(value, (dict, list)) and present is not paths.MISSING:
            raise CommandExecutionError(
                f"The key '{path}' exists and the given value is a dict or a list. Use 'force=True' to overwrite."
            )
    while delimiter in path:
        path, _, step = path.rpartition(delimiter)
        above = merging.fresh(paths.traverse(grains, path, {}, delimiter))
        is_removed = value is None and destructive
        if isinstance(above, dict):
            key = paths.key_in(above, step)
            if is_removed:
                above.pop(key, None)
            else:
                above[key] = value
        elif isinstance(above, list):
            _put_into_list(path, above, step, value, is_removed=is_removed)
        elif above == step or force:
            above = {step: value}
        else:
            raise CommandExecutionError(
                f"The key '{path}' value is '{above}', which is different from the provided key '{step}'. "
                "Use 'force=True' to overwrite."
            )
        value = above
    return paths.key_in(grains, path), value


def _put_into_list(path: str, items: list[Any], step: str, value: Any, *, is_removed: bool) -> None:
    """Put a value where `paths.traverse` finds it: in mappings among the items, as an item, else in a new mapping."""
    index = paths.list_index(step)
    key = step if index is None else index
    holders = [item for item in items if isinstance(item, dict) and key in item]
    for holder in holders:
        if is_removed:
            del holder[key]
        else:
            holder[key] = value
    if holders:
        return
    if index is not None:
        if not -len(items) <= index < len(items):
            raise CommandExecutionError(f"The key '{path}' is a list of {len(items)} items, which has no item {index}.")
        items[index : index + 1 or None] = [] if is_removed else [value]
    elif not is_removed:
        places = [place for place, item in enumerate(items) if item == step] or [len(items)]
        for place in places:
            items[place : place + 1] = [{step: value}]


def takes_items(grains: Mapping[str, Any], path: str, delimiter: str = paths.DELIMITER) -> bool:
    """Return whether items can be appended at ``path``: a list is there, or can be made below mappings."""
    found = paths.traverse(grains, path, paths.MISSING, delimiter)
    if found is not paths.MISSING:
        return isinstance(found, list)
    while delimiter in path:
        path = path.rpartition(delimiter)[0]
        if not isinstance(paths.traverse(grains, path, {}, delimiter), dict):
            return False
    return True
