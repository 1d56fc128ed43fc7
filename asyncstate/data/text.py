"""Functions on text: patterns, case, numbers, sizes, and the lines around an error, marked like Salt's."""

from __future__ import annotations

import fnmatch
import re
import shlex
import uuid as uuids
from collections.abc import Hashable, Sequence
from typing import Any, Final

from asyncstate.pattern import lazy_pattern

_NAMESPACE: Final = uuids.UUID("91633EBF-1C86-5E33-935A-28061F4B480E")  # Salt's, for the same values of `uuid`
_SIZE: Final = lazy_pattern(r"(?P<value>[0-9.]*)\s*(?P<unit>.*)$")
_UNITS: Final = "bkmgtpezy"

MARKER: Final = "    <======================"
_AROUND: Final = 5


def _flags(ignorecase: bool, multiline: bool) -> int:
    return (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)


def _groups(found: re.Match[str] | None) -> tuple[Any, ...] | None:
    """Return the groups of a match, the whole match if the pattern has none, None without a match."""
    if found is None:
        return None
    return found.groups() or (found.group(),)


def regex_search(txt: str, rgx: str, ignorecase: bool = False, multiline: bool = False) -> tuple[Any, ...] | None:
    """Return the groups of the first match anywhere in the text."""
    return _groups(re.search(rgx, txt, _flags(ignorecase, multiline)))


def regex_match(txt: str, rgx: str, ignorecase: bool = False, multiline: bool = False) -> tuple[Any, ...] | None:
    """Return the groups of a match at the start of the text."""
    return _groups(re.match(rgx, txt, _flags(ignorecase, multiline)))


def regex_replace(txt: str, rgx: str, val: str, ignorecase: bool = False, multiline: bool = False) -> str:
    """Replace every match; ``val`` may refer to groups by number."""
    return re.sub(rgx, val, txt, flags=_flags(ignorecase, multiline))


def regex_escape(value: str) -> str:
    """Quote the characters that are special in a pattern."""
    return re.escape(value)


def matches(txt: str, rgx: str, ignorecase: bool = False, multiline: bool = False) -> bool:
    """Return whether the pattern matches at the start of the text (the ``match`` test)."""
    return re.match(rgx, txt, _flags(ignorecase, multiline)) is not None


def quote(txt: str) -> str:
    """Quote for a POSIX shell."""
    return shlex.quote(txt)


def skip(_data: Any) -> str:
    """Return an empty string for any value."""
    return ""


def to_bool(val: Any) -> bool:
    """Return whether the value means true: ``yes``, ``1``, ``true``, a positive number, a container with content."""
    if isinstance(val, bool):
        return val
    if isinstance(val, str):
        return val.lower() in ("yes", "1", "true")
    if isinstance(val, int):
        return val > 0
    return not isinstance(val, Hashable) and len(val) > 0


def to_num(text: Any) -> Any:
    """Return the text as an int or float, or unchanged if it is no number."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def is_hex(value: Any) -> bool:
    """Return whether the text is a hexadecimal number."""
    try:
        int(value, 16)
    except (TypeError, ValueError):
        return False
    return True


def contains_whitespace(text: str) -> bool:
    """Return whether any character is white space."""
    return any(character.isspace() for character in text)


def to_bytes(s: str | bytes | bytearray, encoding: str | Sequence[str] | None = None, errors: str = "strict") -> bytes:
    """Encode text in the first encoding that works (default: UTF-8); bytes stay. Raises TypeError for anything else."""
    if isinstance(s, (bytes, bytearray)):
        return bytes(s)
    if not isinstance(s, str):
        raise TypeError(f"expected str, bytes, or bytearray not {type(s)}")
    if encoding is None:
        return s.encode("utf-8", errors)
    *others, last = encodings_of(encoding)
    for each in others:
        try:
            return s.encode(each, errors)
        except UnicodeEncodeError:
            continue
    return s.encode(last, errors)


def encodings_of(encoding: str | Sequence[str] | None) -> Sequence[str]:
    """Return the encodings to try, in order: UTF-8 if none is given. Raises ValueError for an empty list."""
    if encoding is None:
        return ("utf-8",)
    encodings = (encoding,) if isinstance(encoding, str) else encoding
    if not encodings:
        raise ValueError("encoding cannot be empty")
    return encodings


def human_to_bytes(size: Any, default_unit: str = "B", handle_metric: bool = False) -> int:
    """Return the bytes in ``2MB``, ``1.5 GiB``: powers of 1024, or of 1000 for ``MB`` with ``handle_metric``.

    Returns 0 for text that is not a size.
    """
    found = _SIZE.match(str(size).strip())
    if found is None:
        return 0
    unit = found["unit"].lower() or default_unit.lower()
    value = to_num(found["value"])
    metric = re.match(r"[kmgtpezy]b$", unit) is not None
    if isinstance(value, str) or not (metric or re.match(r"(b|[kmgtpezy](ib)?)$", unit)):
        return 0
    power = _UNITS.index(unit[0])
    return int(value * (10 ** (power * 3) if metric and handle_metric else 2 ** (power * 10)))


def to_snake_case(camel_input: str) -> str:
    """``fooBarBaz`` to ``foo_bar_baz``."""
    neighbours = zip(f" {camel_input}", camel_input, f"{camel_input[1:]} ", strict=False)
    return "".join(
        f"_{letter.lower()}" if at and letter.isupper() and (before.islower() or after.islower()) else letter.lower()
        for at, (before, letter, after) in enumerate(neighbours)
    )


def to_camelcase(snake_input: str, uppercamel: bool = False) -> str:
    """``foo_bar_baz`` to ``fooBarBaz``, or to ``FooBarBaz`` with ``uppercamel``."""
    head, *tail = snake_input.split("_")
    return "".join([head.capitalize() if uppercamel else head, *(word.capitalize() for word in tail)])


def uuid(val: str | bytes) -> str:
    """Return a UUID that depends only on the value."""
    return str(uuids.uuid5(_NAMESPACE, val.decode() if isinstance(val, bytes) else val))


def _listed(value: Any, expressions: list[Any]) -> bool:
    return any(expr_match(value, expression) for expression in expressions)


def expr_match(line: Any, expr: Any) -> bool:
    """Return whether a name matches a shell pattern or, completely, a regular expression; False if it is not text."""
    if not (isinstance(line, str) and isinstance(expr, str)):
        return False
    if fnmatch.fnmatch(line, expr):
        return True
    try:
        return re.match(rf"\A{expr}\Z", line) is not None
    except re.error:
        return False


def _as_list(value: Any, what: str) -> list[Any]:
    if not value:
        return []
    if isinstance(value, str):
        return [value]
    if not hasattr(value, "__iter__"):
        raise TypeError(f"Expecting iterable {what}, but got {type(value).__name__} ({value})")
    return list(value)


def check_whitelist_blacklist(value: Any, whitelist: Any = None, blacklist: Any = None) -> bool:
    """Return whether the value is allowed: in the whitelist, if there is one, and not in the blacklist."""
    refused = _as_list(blacklist, "blacklist")
    allowed = _as_list(whitelist, "whitelist")
    if refused and _listed(value, refused):
        return False
    return _listed(value, allowed) if allowed else True


def excerpt_around(text: str, line: int, around: int = _AROUND, marker: str = MARKER) -> str:
    """Return up to ``around`` lines on each side of ``line`` (1-based), which is marked, between two ``---``.

    For a line beyond the end, by which some parsers report the end, return the whole text.
    """
    lines = text.splitlines()
    if line > len(lines) or line < 1:
        return text
    first = max(0, line - around - 1)
    last = min(len(lines), line + around)
    shown = lines[first:last]
    shown[line - 1 - first] += marker
    if first > 0:
        shown.insert(0, "[...]")
    if last < len(lines):
        shown.append("[...]")
    return "\n".join(["---", *shown, "---"])
