"""The sections, and options outside of sections, in the ``sections`` of an ini state."""

from __future__ import annotations

from typing import Any


def touched(sections: Any) -> list[str]:
    """Return the names of sections and of options outside of sections, each once, and "" if there are such options.

    [] if there are none, or if a name or value may be read back differently.
    """
    found: dict[str, None] = {}
    if isinstance(sections, list):
        sections = dict.fromkeys(map(str, sections))
    if not isinstance(sections, dict):
        return []
    for name, inner in sections.items():
        if name:
            found[str(name)] = None
        if inner is None and name:
            continue
        if not isinstance(inner, dict):
            inner, name = {name: inner}, ""
        if not all(map(_is_plain_name, map(str, inner))) or not all(map(_is_plain_value, inner.values())):
            return []
        if not name:
            found.update({"": None, **dict.fromkeys(map(str, inner))})
    return list(found) if all(_is_plain_name(name) for name in found if name) else []


def _is_plain_name(name: str) -> bool:
    return name.isprintable() and name == name.strip() != "" and not {*name} & {*"=[]#;"}


def _is_plain_value(value: Any) -> bool:
    text = str(value)
    return text.isprintable() and text == text.strip() and not isinstance(value, (dict, list))
