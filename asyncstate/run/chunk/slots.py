"""Slots: ``__slot__:salt:module.function(args).path ~ text`` in an argument is replaced right before the call."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from asyncstate.logs import get_logger
from asyncstate.model.chunk import SLOT

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator, Mapping

log: logging.Logger = get_logger(__name__)

_CLOSING = {"[": "]", "{": "}", "(": ")"}


def fill_slots(
    arguments: list[Any], keywords: dict[str, Any], salt: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return both with every slot filled: in strings, and one level deep in lists and dicts, as in Salt."""
    return (
        [_fill(value, salt) for value in arguments],
        {key: _fill(value, salt) for key, value in keywords.items()},
    )


def _fill(value: Any, salt: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return evaluate(value, salt) if value.startswith(SLOT) else value
    if isinstance(value, dict):
        return {key: _fill_text(item, salt) for key, item in value.items()}
    if isinstance(value, list):
        return [
            {key: _fill_text(part, salt) for key, part in item.items()}
            if isinstance(item, dict)
            else _fill_text(item, salt)
            for item in value
        ]
    return value


def _fill_text(value: Any, salt: Mapping[str, Any]) -> Any:
    return evaluate(value, salt) if isinstance(value, str) and value.startswith(SLOT) else value


def evaluate(slot: str, salt: Mapping[str, Any]) -> Any:
    """Return the value of a slot. A malformed slot, or one with an unknown function, stays as it is, with a warning."""
    parts = slot.split(":", 2)
    call = parse_call(parts[2]) if len(parts) == 3 and parts[1] == "salt" else None
    if call is None or call[0] not in salt:
        log.warning("malformed slot, kept as text: %s", slot)
        return slot
    name, arguments, keywords = call
    value = salt[name](*arguments, **keywords)
    expression, tilde, suffix = parts[2].partition("~")
    path = expression[expression.rfind(")") + 1 :]
    if "." in path:
        from asyncstate.data.paths import traverse  # noqa: PLC0415 - few runs have slots

        value = traverse(value, path.split(".", 1)[1].strip(), delimiter=".")
    if tilde and isinstance(value, str):
        suffix = suffix.strip()
        if len(suffix) > 1 and suffix[0] == suffix[-1] and suffix[0] in "\"'":
            suffix = suffix[1:-1]
        value += suffix
    return value


def parse_call(text: str) -> tuple[str, list[str], dict[str, str]] | None:
    """Parse ``module.function(a, 'b', key=c)``; as in Salt, every argument is a string. None if it is not a call."""
    lexer = shlex.shlex(text, posix=True)
    lexer.escapedquotes = "\"'"
    try:
        words = list(lexer)
    except ValueError:
        return None
    if "(" not in words[1:]:
        return None
    opening = words.index("(")
    parsed = _parse_arguments(iter(words[opening + 1 :]))
    return None if parsed is None else ("".join(words[:opening]), *parsed)


def _parse_arguments(words: Iterator[str]) -> tuple[list[str], dict[str, str]] | None:
    """Parse up to the closing parenthesis; None if it is missing or the brackets do not match."""
    arguments: list[str] = []
    keywords: dict[str, str] = {}
    value: list[str] = []
    brackets: list[str] = []
    key = ""
    for word in words:
        if not brackets and word in {",", ")"}:
            if key:
                keywords[key] = "".join(value)
            elif value:
                arguments.append("".join(value))
            if word != ",":
                return arguments, keywords
            key, value = "", []
        elif not brackets and word == "=":
            key, value = "".join(value), []
        else:
            if word in _CLOSING:
                brackets.append(_CLOSING[word])
            elif word in _CLOSING.values() and (not brackets or word != brackets.pop()):
                return None
            value.append(word)
    return None
