"""Prefetches of file states: remote sources with a hash."""

from __future__ import annotations

from typing import Any

from .. import _fetches  # noqa: TID252 - as `states` for type checkers


def mod_prefetch(low: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the downloads of ``file.managed`` and ``file.cached``; none where the file may not be needed."""
    if low.get("fun") == "cached":
        return _fetches.of_url(low.get("name"), low.get("source_hash"), low)
    if low.get("fun") != "managed" or not low.get("source") or low.get("create") is False:
        return []
    name = str(low["name"])
    if not name.startswith("/") or low.get("contents") is not None:
        return []
    return _fetches.of_url(
        low["source"],
        low.get("source_hash"),
        low,
        verify_ssl=low.get("verify_ssl"),
        exists=name if low.get("replace") is False else None,
        has_hash=None if low.get("template") else name,
    )
