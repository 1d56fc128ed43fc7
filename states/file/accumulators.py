"""``file.accumulated``: text collected by several states for one file.

The text is kept in ``__context__`` under the run's instance ID, separately for each runtime and run in a process.
"""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import Row, __context__, __instance_id__, __low__, failed, unchanged


def _store() -> dict[str, dict[str, Any]]:
    """Return ``{"texts": {file: {accumulator: [text, …]}}, "dependents": {file: {accumulator: [id, …]}}}``."""
    store: dict[str, dict[str, Any]] = __context__.setdefault(
        f"file.accumulated:{__instance_id__}", {"texts": {}, "dependents": {}}
    )
    return store


def accumulated_for(filename: str) -> dict[str, list[Any]]:
    """Return the texts collected for a file, by accumulator."""
    found: dict[str, list[Any]] = _store()["texts"].get(filename, {})
    return found


def accumulated_for_this_state(filename: str) -> list[Any]:
    """Return the texts of the accumulators that name the current state, or of all if none does."""
    texts = accumulated_for(filename)
    dependents = _store()["dependents"].get(filename, {})
    mine = [name for name in dependents if __low__.get("__id__") in dependents[name] and name in texts]
    return [text for name in mine or texts for text in texts[name]]


def accumulated(name: str, filename: str, text: Any, **kwargs: Any) -> Row:
    """Collect ``text`` (one or a list) for the file of a state that this one names in ``require_in`` or ``watch_in``.

    A template of that file sees it as ``accumulator[name]``; ``file.blockreplace`` adds it to its content.
    """
    if not name:
        return failed(name, "Must provide name to file.accumulated")
    if text is None:
        return failed(name, "No text supplied for accumulator")
    if not isinstance(text, (str, dict, list, tuple)):
        return failed(name, f"'text' must be a text or a list of texts, not {text!r}")
    targets = [*_requisites("require_in"), *_requisites("watch_in")]
    if not any("file" in target for target in targets):
        return failed(name, f"Orphaned accumulator {name} in {__low__['__sls__']}:{__low__['__id__']}")
    store = _store()
    ids = store["dependents"].setdefault(filename, {}).setdefault(name, [])
    for target in targets:
        ids.extend(target.values() if isinstance(target, dict) else [target])
    collected = store["texts"].setdefault(filename, {}).setdefault(name, [])
    added = []
    for chunk in [text] if isinstance(text, (str, dict)) else text:
        if chunk not in collected:
            collected.append(chunk)
            added.append(chunk)
    return unchanged(name, f"Accumulator {name} for file {filename} was charged by text" if added else "")


def _requisites(kind: str) -> list[Any]:
    return list(__low__.get(kind) or [])
