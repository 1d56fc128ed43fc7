"""Secrets: the set of texts a runtime must not show. It grows while templates are rendered."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, MutableSet
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

from asyncstate.errors import AsyncStateError
from asyncstate.redact.redactor import Redactor


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
