"""Parsing of dates in almost any format, formatting, and days since 1970: the unit of the ages of accounts."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, Final

from asyncstate.pattern import lazy_pattern

_MONTHS: Final = dict(zip("jan feb mar apr may jun jul aug sep oct nov dec".split(), range(1, 13), strict=True))
_WEEKDAYS: Final = dict(zip("mon tue wed thu fri sat sun".split(), range(7), strict=True))
_MONTH: Final = rf"(?P<month_name>{'|'.join(_MONTHS)})[a-z]*\.?"
_WEEKDAY: Final = rf"(?P<weekday>{'|'.join(_WEEKDAYS)})[a-z]*"
_UNIT: Final = r"(?P<unit>sec|second|min|minute|hour|day|week|fortnight|month|year)"

_PATTERNS: Final = tuple(
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        r"@(?P<stamp>-?\d+(?:\.\d+)?)",
        r"(?P<year>\d{4})-?W(?P<week>\d{2})(?:-?(?P<day_of_week>[1-7]))?(?!\d)",
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)",
        r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})(?!\d)",
        r"(?P<day>\d{1,2})[-.](?P<month>\d{1,2})[-.](?P<year>\d{4})(?!\d)",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[-\s]*{_MONTH}(?:[-,\s]+(?P<year>\d{{4}})(?!\d|:))?",
        rf"{_MONTH}[-\s]+(?P<year>\d{{4}})(?!\d|:)",
        rf"{_MONTH}[-\s]+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:)(?:,?\s*(?P<year>\d{{4}})(?!\d|:))?",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?!\d)",
        r"(?P<year>\d{4})-(?P<month>\d{2})(?!\d)",
        r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?)?\s*(?P<half>[ap])\.?m\.?(?![a-z])",
        r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?",
        r"(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})?(?!\d)",
        r"(?P<word>now|today|midnight|noon|tomorrow|yesterday)(?![a-z])",
        rf"(?P<turn>last|next|this)\s+{_WEEKDAY}",
        rf"(?P<count>last|next|[-+]?\s*\d+)\s*{_UNIT}s?(?![a-z])(?P<ago>\s+ago)?",
        _WEEKDAY,
        r"(?P<zone>Z|UTC|GMT|[-+]\d{2}:?\d{2})(?![a-z0-9])",
    )
)
_UNITS: Final = {
    "sec": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "week": 604800,
    "fortnight": 1209600,
}


class _Reading:
    """The parts of a date read from a text so far."""

    def __init__(self, now: dt.datetime) -> None:
        self.date = now.date()
        self.time: dt.time | None = None
        self.now = now
        self.starts_day = False
        self.seconds = 0
        self.months = 0
        self.weekday: tuple[str, int] | None = None

    def take(self, found: dict[str, str | None]) -> None:
        """Add the parts that one pattern found."""
        if stamp := found.get("stamp"):
            moment = dt.datetime.fromtimestamp(float(stamp), dt.UTC)
            self.date, self.time = moment.date(), moment.time()
        elif week := found.get("week"):
            day = int(found["day_of_week"] or 1)
            self.date = dt.date.fromisocalendar(int(found["year"] or 0), int(week), day)
            self.starts_day = True
        elif found.get("day") or found.get("month") or found.get("month_name"):
            self._take_date(found)
        elif hour := found.get("hour"):
            self._take_time(int(hour), found)
        elif word := found.get("word"):
            self._take_word(word.lower())
        elif unit := found.get("unit"):
            self._take_offset(unit.lower(), found)
        elif weekday := found.get("weekday"):
            self.weekday = ((found.get("turn") or "").lower(), _WEEKDAYS[weekday.lower()])
            self.starts_day = True

    def _take_date(self, found: dict[str, str | None]) -> None:
        month_name = (found.get("month_name") or "").lower()
        month = _MONTHS[month_name] if month_name else int(found["month"] or 1)
        year = int(found["year"] or self.now.year) if "year" in found else self.now.year
        first = dt.date(year, month, 1)
        self.date = first + dt.timedelta(days=int(found.get("day") or 1) - 1)
        self.starts_day = True

    def _take_time(self, hour: int, found: dict[str, str | None]) -> None:
        if half := found.get("half"):
            hour = hour % 12 + (12 if half.lower() == "p" else 0)
        self.time = dt.time(hour, int(found.get("minute") or 0), int(found.get("second") or 0))

    def _take_word(self, word: str) -> None:
        if word == "noon":
            self.time = dt.time(12)
        elif word != "now":
            self.seconds += {"tomorrow": 86400, "yesterday": -86400}.get(word, 0)
            self.starts_day = True

    def _take_offset(self, unit: str, found: dict[str, str | None]) -> None:
        text = (found["count"] or "").lower().replace(" ", "")
        count = {"last": -1, "next": 1}.get(text) or int(text or 0)
        if found.get("ago"):
            count = -count
        if unit in ("month", "year"):
            self.months += count * (12 if unit == "year" else 1)
        else:
            self.seconds += count * _UNITS[unit]

    def moment(self) -> dt.datetime:
        """Return the date and time, by the wall clock."""
        time = self.time or (dt.time() if self.starts_day else self.now.time())
        years, month = divmod(self.date.month - 1 + self.months, 12)
        first = dt.date(self.date.year + years, month + 1, 1)
        day = dt.datetime.combine(first, time) + dt.timedelta(days=self.date.day - 1, seconds=self.seconds)
        if self.weekday is None:
            return day
        turn, wanted = self.weekday
        ahead = (wanted - day.weekday()) % 7
        if turn == "next" and ahead == 0:
            ahead = 7
        if turn == "last":
            ahead = ahead - 7
        return day + dt.timedelta(days=ahead)


def read_date(text: str, now: dt.datetime) -> dt.datetime | None:
    """Return the date and time of a text such as ``10 Sep 2000 12:30`` or ``+1 week``; None if it is not understood."""
    reading = _Reading(now)
    at = 0
    try:
        while at < len(text):
            if text[at] in " ,\t\n" or (text[at] in "tT" and text[at + 1 : at + 2].isdigit()):
                at += 1
                continue
            found = next((match for pattern in _PATTERNS if (match := pattern.match(text, at))), None)
            if found is None:
                return None
            reading.take(found.groupdict())
            at = found.end()
        return reading.moment() if text.strip() else None
    except ValueError:
        return None


def strftime(date: Any = None, format: str = "%Y-%m-%d") -> str:
    """Format a date: a datetime, a timestamp, text in any usual spelling, or None for now."""
    return _as_datetime(date).strftime(format)


def _as_datetime(date: Any) -> dt.datetime:
    if date is None:
        return dt.datetime.now()  # noqa: DTZ005 - the wall clock of this host, as in Salt
    if isinstance(date, dt.datetime):
        return date
    try:
        if isinstance(date, str):
            moment = read_date(date, dt.datetime.now())  # noqa: DTZ005
            if moment is not None:
                return moment
            date = int(date) if date.isdigit() else float(date)
        return dt.datetime.fromtimestamp(date)  # noqa: DTZ006 - the wall clock of this host, as in Salt
    except (TypeError, ValueError, OverflowError, OSError):
        raise ValueError(f"Unable to parse {date}") from None


def days_since_1970(value: Any) -> int:
    """Return a number of days, or a date YYYY-MM-DD, as days since 1970; -1 (none) for anything negative.

    Raises ValueError, with a sentence as message, for anything else.
    """
    if isinstance(value, str) and value.count("-") == 2:
        try:
            return (dt.date.fromisoformat(value) - dt.date(1970, 1, 1)).days
        except ValueError as error:
            raise ValueError(f"{value!r} is no date: {error}") from error
    try:
        return max(-1, int(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r} is no number of days") from None
