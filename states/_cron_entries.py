"""The crontab entries that a cron state touches, and the limits of crond programs for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RANGES = {"minute": (0, 59), "hour": (0, 23), "daymonth": (1, 31), "month": (1, 12), "dayweek": (0, 7)}
_NAMES = {
    "month": frozenset("jan feb mar apr may jun jul aug sep oct nov dec".split()),
    "dayweek": frozenset("sun mon tue wed thu fri sat".split()),
}
_SPECIAL = frozenset("@reboot @yearly @annually @monthly @weekly @daily @midnight @hourly".split())
_STEPS = re.compile(r"\*(/[1-9][0-9]?)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 900
"""Limit of bytes of a command or a value in every crond: Vixie's reads 1000 per line."""


def keys_of(low: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the keys of the entries that a state touches; [] for the whole crontab, or an entry that may be refused.

    A job is found by its identifier, or by its command if it has none: both are keys.
    """
    name, fun = str(low.get("name", "")).strip(), low.get("fun")
    if fun in {"env_present", "env_absent"}:
        fine = fun == "env_absent" or _is_fine_variable(name, low.get("value"))
        return [("env", name)] if fine else []
    if fun not in {"present", "absent"} or (fun == "present" and not _is_fine_job(name, low)):
        return []
    identifier = low.get("identifier", False)
    identifier = name if identifier is False else identifier
    keys = [("cmd", " ".join(name.split()))]
    return [*keys, ("identifier", str(identifier))] if identifier else keys


def _is_fine_job(command: str, low: Mapping[str, Any]) -> bool:
    if not _is_line(command) or not command or low.get("user") == "":
        return False
    special = low.get("special")
    if special is not None:
        return isinstance(special, str) and special in _SPECIAL
    return all(_is_fine_time(field, str(low.get(field, "*")).lower()) for field in _RANGES)


def _is_fine_time(field: str, text: str) -> bool:
    if text == "random" or _STEPS.fullmatch(text) or text in _NAMES.get(field, ()):
        return True
    low, high = _RANGES[field]
    between = "[-:]" if field != "daymonth" and text.count(":") == 1 else "-"
    for part in text.split(","):
        ends = list(_numbers(re.split(between, part)))
        if len(ends) not in {1, 2} or not low <= ends[0] <= ends[-1] <= high:
            return False
    return True


def _numbers(parts: list[str]) -> Iterator[int]:
    yield from (int(part) if part.isascii() and part.isdigit() and len(part) < 3 else -1 for part in parts)


def _is_fine_variable(name: str, value: Any) -> bool:
    text = "" if value is None else str(value)
    return bool(_VARIABLE.fullmatch(name)) and _is_line(text) and text.strip() == text and not {*text} & {*"\"'"}


def _is_line(text: str) -> bool:
    return text.isprintable() and len(text.encode("utf-8", "surrogateescape")) <= _LONGEST
