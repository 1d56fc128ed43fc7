"""The text of a managed file from arguments of the state: contents, contents_pillar, contents_grains."""

from __future__ import annotations

import os
from typing import Any

from asyncstate.data.edits import contents_text
from asyncstate.dunders import __env__, __salt__

from .arguments import string_list

_MISSING = object()


class ContentsError(Exception):
    """The contents cannot be determined; the message is the row's comment."""


def requested_contents(
    contents: Any,
    contents_pillar: Any,
    contents_grains: Any,
    *,
    delimiter: str = ":",
    newline: bool = True,
    allow_empty: bool = True,
    template: str | None = None,
    context: dict[str, Any] | None = None,
    defaults: dict[str, Any] | None = None,
) -> str | bytes | None:
    """Return the contents to write, rendered if there is a ``template``; None if the state has none, or null."""
    if contents_pillar is not None:
        wanted, origin = (
            _lookup("pillar.get", "Pillar", contents_pillar, delimiter),
            f"contents_pillar {contents_pillar}",
        )
    elif contents_grains is not None:
        wanted, origin = (
            _lookup("grains.get", "Grain", contents_grains, delimiter),
            f"contents_grains {contents_grains}",
        )
    else:
        wanted, origin = contents, "'contents'"
    if wanted is None:  # not given, or a key without a value
        return None
    if not allow_empty and not wanted:
        raise ContentsError(
            f"{origin} value would result in empty contents. Set allow_empty to True to allow the managed file to be "
            "empty."
        )
    text = _as_lines(wanted, newline=newline, binary=not template)
    if not template or isinstance(text, bytes):
        return text
    rendered = __salt__["file.apply_template_on_contents"](
        text, template=template, context=context, defaults=defaults, saltenv=str(__env__)
    )
    if not isinstance(rendered, str):
        raise ContentsError(rendered.get("comment") or "Error while applying template on contents")
    return rendered


def _lookup(function: str, kind: str, keys: Any, delimiter: str) -> Any:
    values = []
    for key in keys if isinstance(keys, list) else [keys]:
        value = __salt__[function](key, _MISSING, delimiter=delimiter)
        if value is _MISSING:
            raise ContentsError(f"{kind} {key} does not exist")
        values.append(value)
    return os.linesep.join(map(str, values)) if isinstance(keys, list) else values[0]


def _as_lines(wanted: Any, *, newline: bool, binary: bool) -> str | bytes:
    """Return text with uniform line endings, and one at its end if ``newline``; bytes that are no text stay."""
    try:
        parts = string_list(wanted)
    except UnicodeDecodeError:
        if not binary:
            raise ContentsError(
                "Contents specified by contents/contents_pillar/contents_grains appears to be binary data, and as will "
                "not be able to be treated as a Jinja template."
            ) from None
        return bytes(wanted)
    if not parts:
        raise ContentsError(
            "Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, and "
            "is not binary data. SLS is likely malformed."
        )
    return contents_text(parts, newline=newline)
