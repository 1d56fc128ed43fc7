"""YAML spelling of a word: plain if that reads back as the same text, else quoted."""

from __future__ import annotations

import re
from functools import lru_cache

from asyncstate.data.yaml import load_yaml
from asyncstate.data.yaml.write import double_quoted
from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.index import DIRECTIVES

_LONGEST = 1000
"""The longest key that YAML reads on one line."""
_TEMPLATE = re.compile(r"\{[{%#]")


def spelled(text: str, style: str = "") -> str:
    """Write a text as a scalar that is right in block and in flow YAML.

    ``style`` are the quotation marks it is to have, if any.
    """
    if style == '"' or not text.isprintable():
        return double_quoted(text)
    if style == "'" or not _stands_alone(text):
        return f"'{text.replace(chr(39), chr(39) * 2)}'"
    return text


def unsayable(text: str) -> str:
    """Return why a text cannot be an ID, "" if it can."""
    if not text.strip():
        return "an ID is not empty"
    odd = next((letter for letter in text if not letter.isprintable()), "")
    if odd:
        return f"an ID has no control characters: U+{ord(odd):04X} is one"
    if found := _TEMPLATE.search(text):
        return f"{found[0]!r} begins a template"
    if text in DIRECTIVES:
        return f"{text!r} is a word of the language"
    if text.startswith("__"):
        return "IDs that begin with two underscores are asyncstate's own"
    if len(text) > _LONGEST:
        return f"it has {len(text)} characters, and YAML reads no key of more than {_LONGEST}"
    return ""


@lru_cache(maxsize=64)
def _stands_alone(text: str) -> bool:
    """Return whether a plain text reads back as itself: as a key and as a value, in block and in flow style."""
    try:
        block = load_yaml(f"{text}: 1\nk:\n- {text}\n- k: {text}\n")
        flow = load_yaml(f"[{text}, {{k: {text}}}, {{{text}: 1}}, k: {text}]")
    except AsyncStateError:
        return False
    return bool(block == {text: 1, "k": [text, {"k": text}]} and flow == [text, {"k": text}, {text: 1}, {"k": text}])
