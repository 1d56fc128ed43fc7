"""Secrets: the set of texts a runtime must not show, growing while templates are rendered."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, MutableSet

from asyncstate.redact.redactor import Redactor


class Secrets(MutableSet[str]):
    """Texts that are not to be shown. Any thread may add to it at any time; readers always see a whole set."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._texts = frozenset(texts)
        self._compiled: tuple[frozenset[str], Redactor] = (frozenset(), Redactor())

    def add(self, value: str) -> None:
        """Hide ``value`` from now on. Plugins also give bytes and numbers."""
        if not isinstance(value, str):
            raw: object = value
            value = raw.decode("utf-8", "surrogateescape") if isinstance(raw, (bytes, bytearray)) else str(raw)
        if value not in self._texts:
            with self._lock:
                self._texts |= {value}

    def discard(self, value: str) -> None:
        """Show ``value`` again."""
        with self._lock:
            self._texts -= {value}

    def __contains__(self, value: object) -> bool:
        return value in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def redactor(self) -> Redactor:
        """The snapshot of what is known now: the same object as long as the set does not change."""
        texts, redactor = self._compiled
        now = self._texts
        if now is texts:
            return redactor
        with self._lock:
            texts, redactor = self._compiled
            now = self._texts
            if now is not texts:
                redactor = redactor.knowing(now - texts) if texts <= now else Redactor(now)
                self._compiled = (now, redactor)
        return redactor
