"""Hides secrets in everything that leaves the engine.

`Secrets` is the growing set of secrets a runtime knows. `Redactor` is an immutable snapshot of it that hides them in
texts, values, tags and rows. `RedactedPlan` does so for everything that names the states of one plan.

A text is searched once, whatever the number of secrets. Secrets are compared only where four characters of the text are
the first four of a secret (for a longer secret, where sixteen characters are its first sixteen). (One regular
expression of 3,000 alternatives takes a hundred times as long to compile, and three times as long to search.)
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableSet
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakValueDictionary

from asyncstate.dunders import NOT_TOLD
from asyncstate.errors import AsyncStateError
from asyncstate.model.chunk import fresh
from asyncstate.model.result import RUN_NUM, STATE_RAN
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from asyncstate.errors import Issue

_K = TypeVar("_K")

MASK: Final = "**********"
"""The text that replaces a secret."""

_URL_PASSWORD: Final = lazy_pattern(r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*://[^\s/@:'\"?#]*:)[^\s/'\"]+@", re.IGNORECASE)
_URL_TOKEN: Final = lazy_pattern(r"\b(https?://)[\w.~%!$&*+,;=-]{20,}@", re.IGNORECASE)
_DEEPEST: Final = 100
_REMEMBERED: Final = 20_000
_SHORT_TEXT: Final = 400
_LONG_START: Final = 16
"""The length of the prefix that tells longer secrets apart: private keys begin alike, and so do tokens of one kind."""

SCHEMA: Final = frozenset({"name", "changes", "result", "comment", "__id__", "__sls__", RUN_NUM}) | frozenset(
    {"start_time", "duration", STATE_RAN, NOT_TOLD, "skip_watch", "skip_req", "warnings", "pchanges", "sub_state_run"}
)
"""Keys of a row that the engine and its readers know by name: they are never hidden."""
_MEASURED: Final = frozenset({"result", RUN_NUM, "start_time", "duration", STATE_RAN, NOT_TOLD})
_PLAINEST: Final = SCHEMA - {"pchanges", "sub_state_run", "warnings"}
_TIME_OF_DAY: Final = lazy_pattern(r"\d\d:\d\d:\d\d(\.\d+)?")
_NUMBERS: Final = frozenset({bool, int, float, type(None)})
_FLAT: Final = 4
"""Levels of a row that needs no search."""
_PLAIN: Final = frozenset({bool, float, type(None)})


class Redactor:
    """Hides a fixed set of secrets. Safe to share between threads.

    Secrets of four characters and more are hidden wherever they occur, in every form of `forms`; shorter ones only
    where they are a whole text. Unknown passwords in URLs (``scheme://user:password@``) are hidden, too.
    """

    __slots__ = ("_lengths", "_long", "_seen", "_short", "_telling")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._telling: set[str] = set()
        self._short: set[str] = set()
        self._lengths: dict[tuple[str, ...], tuple[int, ...]] = {}
        self._long: dict[str, tuple[int, ...]] = {}
        self._seen: dict[str, str] = {}
        for secret in secrets:
            self._learn(secret)

    def _learn(self, secret: str) -> None:
        from asyncstate.redact.forms import TELLING, forms  # noqa: PLC0415 - many runs have no secret

        if 0 < len(secret.strip()) < TELLING:
            self._short.add(secret.strip())
        new = forms(secret) - self._telling
        self._telling |= new
        for form in new:
            start = tuple(form[:TELLING])
            if len(form) < _LONG_START:
                _put(self._lengths, start, len(form))
            else:
                self._lengths.setdefault(start, ())
                _put(self._long, form[:_LONG_START], len(form))

    def knowing(self, secrets: Iterable[str]) -> Redactor:
        """Return a redactor that hides ``secrets`` as well."""
        other = Redactor()
        other._telling, other._short = set(self._telling), set(self._short)
        other._lengths, other._long = dict(self._lengths), dict(self._long)
        for secret in secrets:
            other._learn(secret)
        return other

    def text(self, text: str) -> str:
        """Return ``text`` with `MASK` in place of each secret; secrets that touch become one mask."""
        if self.harmless(text):
            return text
        shown = self._seen.get(text)
        if shown is None:
            shown = self._hide(text)
            if len(text) <= _SHORT_TEXT:
                if len(self._seen) >= _REMEMBERED:
                    self._seen.clear()
                self._seen[text] = shown
        return shown

    def harmless(self, text: str) -> bool:
        """Whether a text, and every part of it, needs no search: no secrets are known and it has no ``@``."""
        return not self._telling and not self._short and "@" not in text

    def _hide(self, text: str) -> str:
        if self._short and text.strip() in self._short:
            return MASK
        starts = self._lengths.keys()
        # The text beside a mask may, together with its asterisks, be another secret.
        while starts and not starts.isdisjoint(zip(text, text[1:], text[2:], text[3:], strict=False)):
            shown = self._without(text)
            if shown == text:
                break
            text = shown
        return _without_passwords(text) if "://" in text and "@" in text else text

    def _without(self, text: str) -> str:
        """Replace each stretch of secrets by a mask, with the asterisks beside it, so that a mask is always whole."""
        shown: list[str] = []
        end = 0
        for at, start in enumerate(zip(text, text[1:], text[2:], text[3:], strict=False)):
            short = self._lengths.get(start)
            if short is None:
                continue
            for length in (*self._long.get(text[at : at + _LONG_START], ()), *short):
                if length <= len(text) - at and text[at : at + length] in self._telling:
                    begin, stop = _with_asterisks(text, at, at + length)
                    if begin > end or not shown:
                        shown.append(text[end:begin])
                    end = max(end, stop)
                    break
        shown.append(text[end:])
        return MASK.join(shown)

    def value(self, value: Any) -> Any:
        """Return a copy of plain data with the secrets hidden in all its texts, keys included.

        Different keys stay different. Data nested deeper than a hundred levels becomes ``...``, as does data that
        contains itself.
        """
        return self._value(value, 0)

    def _value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self.text(value)
        if kind in _PLAIN:
            return value
        if kind is dict and not value:
            return {}
        if kind is int:
            return MASK if self._telling and str(value) in self._telling else value
        if isinstance(value, str):
            return self.text(str(value))
        if isinstance(value, (bytes, bytearray, memoryview)):
            raw = bytes(value)
            shown = self.text(text := raw.decode("utf-8", "surrogateescape"))
            return value if shown == text else shown
        if not isinstance(value, (Mapping, AbstractSet, list, tuple)):
            return value
        if depth >= _DEEPEST:
            return "..."
        if isinstance(value, Mapping):
            pairs = ((self._value(key, _DEEPEST), self._value(item, depth + 1)) for key, item in value.items())
            return distinct(pairs) if value else {}
        items = sorted(value, key=str) if isinstance(value, AbstractSet) else value
        return [self._value(item, depth + 1) for item in items]

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of a row with the secrets hidden. The keys of `SCHEMA` and measured values stay."""
        if self.leaves(row):
            return {**row, "changes": fresh(row["changes"])}
        shown: dict[str, Any] = {}
        for key, item in row.items():
            seen = item if key in _MEASURED and _measured(item) else self._value(item, 0)
            if key in SCHEMA:
                shown[key] = seen
            else:
                shown[_unlike(shown, self._value(key, _DEEPEST))] = seen
        return shown

    def leaves(self, row: Mapping[str, Any]) -> bool:
        """Whether a row surely has nothing to hide: no secrets are known, and it has no URL with a password."""
        if self._telling or self._short or not row.keys() <= _PLAINEST:
            return False
        changes = row.get("changes")
        for item in row.values():
            if type(item) is str:
                if "@" in item:
                    return False
            elif type(item) not in _NUMBERS and item is not changes:
                return False
        return type(changes) is dict and (not changes or _has_no_url(changes))

    def issue(self, issue: Issue) -> Issue:
        """Return an issue with the secrets hidden."""
        return issue._replace(message=self.text(issue.message), file=self.text(issue.file), hint=self.text(issue.hint))

    def error(self, error: AsyncStateError) -> None:
        """Hide secrets in the texts of an error of this package, and remove its cause, whose text could show them."""
        for key, item in list(vars(error).items()):
            if key == "issues":
                vars(error)[key] = tuple(self.issue(issue) for issue in item)
            elif isinstance(item, (str, dict, list)):
                vars(error)[key] = self.value(item)
        error.args = tuple(self.text(item) if isinstance(item, str) else item for item in error.args)
        error.__cause__, error.__suppress_context__ = None, True


def _has_no_url(data: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether changes, of few levels, are without ``@``, so contain no URL with a password."""
    if depth > _FLAT:
        return False
    for key, item in data.items():
        kind = type(item)
        if type(key) is not str or "@" in key or (kind is str and "@" in item):
            return False
        if kind is dict:
            if item and not _has_no_url(item, depth + 1):
                return False
        elif kind is list:
            if set(map(type, item)) - {str} or "@" in "".join(item):
                return False
        elif kind is not str and kind not in _NUMBERS:
            return False
    return True


def _put(lengths: dict[_K, tuple[int, ...]], start: _K, length: int) -> None:
    """Add a length to the lengths of the secrets that begin with ``start``, the longest first."""
    known = lengths.get(start, ())
    if length not in known:
        lengths[start] = tuple(sorted((*known, length), reverse=True))


def _measured(item: object) -> bool:
    """Whether a value is a number or a time that the engine measured: these are never hidden."""
    return type(item) in _NUMBERS or (isinstance(item, str) and _TIME_OF_DAY.fullmatch(item) is not None)


def distinct(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a dict of pairs whose keys may be equal after redaction: the second ``x`` becomes ``x (2)``, and so on."""
    found: dict[Any, Any] = {}
    for key, item in pairs:
        found[_unlike(found, key)] = item
    return found


def _unlike(known: Mapping[Any, Any], key: Any) -> Any:
    unique, number = key, 1
    while unique in known:
        number += 1
        unique = f"{key} ({number})"
    return unique


def _with_asterisks(text: str, begin: int, end: int) -> tuple[int, int]:
    while begin > 0 and text[begin - 1] == "*":
        begin -= 1
    while end < len(text) and text[end] == "*":
        end += 1
    return begin, end


def _without_passwords(text: str) -> str:
    """Hide the password between ``user:`` and ``@`` in URLs, and user names so long that they must be tokens."""
    return _URL_TOKEN.sub(rf"\1{MASK}@", _URL_PASSWORD.sub(rf"\1{MASK}@", text))


class Secrets(MutableSet[str]):
    """Texts that must not be shown. Any thread may add to it at any time; readers always see a consistent set."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._texts = dict.fromkeys(texts)
        self.texts: Mapping[str, None] = self._texts
        """The texts at any time, for frequent checks whether there are any."""
        self.changes: int = len(self._texts)
        """The number of changes so far: a redactor is out of date if it was made before the last one."""
        self._compiled: tuple[int, frozenset[str], Redactor] = (0, frozenset(), Redactor())
        _all[id(self)] = self

    def add(self, value: str) -> None:
        """Hide ``value`` from now on. Plugins may also pass bytes and numbers."""
        if not isinstance(value, str):
            raw: object = value
            value = raw.decode("utf-8", "surrogateescape") if isinstance(raw, (bytes, bytearray)) else str(raw)
        with self._lock:
            if value not in self._texts:
                self._texts[value] = None
                self.changes += 1

    def discard(self, value: str) -> None:
        """Show ``value`` again."""
        with self._lock:
            if value in self._texts:
                del self._texts[value]
                self.changes += 1

    def __contains__(self, value: object) -> bool:
        return value in self._texts

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(tuple(self._texts))

    def __len__(self) -> int:
        return len(self._texts)

    @contextmanager
    def kept_out_of_errors(self) -> Iterator[None]:
        """Hide these texts in every `AsyncStateError` that leaves the block."""
        try:
            yield
        except AsyncStateError as error:
            self.redactor.error(error)
            raise

    @property
    def redactor(self) -> Redactor:
        """A snapshot of the secrets known now: the same object as long as the set does not change."""
        changes, _, redactor = self._compiled
        if self.changes == changes:
            return redactor
        with self._lock:
            changes, texts, redactor = self._compiled
            if self.changes != changes:
                now = frozenset(self._texts)
                redactor = redactor.knowing(now - texts) if texts <= now else Redactor(now)
                self._compiled = (self.changes, now, redactor)
        return redactor


_all: Final[WeakValueDictionary[int, Secrets]] = WeakValueDictionary()
_NO_SECRETS: Final = (Redactor(),)


def all_redactors() -> tuple[Redactor, ...]:
    """Return redactors for all secrets that the runtimes of this process know now; always at least one redactor."""
    known = (reference() for reference in _all.valuerefs())
    return tuple(secrets.redactor for secrets in known if secrets) or _NO_SECRETS
