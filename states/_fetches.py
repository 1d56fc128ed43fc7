"""The prefetch common to several states: a URL with a hash."""

from __future__ import annotations

from typing import Any

_URL = ("http://", "https://")
_DIGITS = frozenset({32, 40, 56, 64, 96, 128})


def of_url(source: Any, source_hash: Any, low: dict[str, Any], **arguments: Any) -> list[dict[str, Any]]:
    """Return the prefetch of a source that is a URL with a literal hash; none for any other source.

    ``arguments`` tell when it is not needed, see ``cp.prefetch``. A hash in a file is not known beforehand, nor is the
    existing one of several sources.
    """
    if isinstance(source, list) and len(source) == 1:
        source = source[0]
    if isinstance(source, dict) and len(source) == 1:
        ((source, own_hash),) = source.items()
        source_hash = own_hash or source_hash
    if not isinstance(source, str) or not source.lower().startswith(_URL) or not _is_hash(source_hash):
        return []
    if low.get("skip_verify") or low.get("use_etag"):
        return []
    saltenv = str(low.get("saltenv") or low.get("__env__") or "base")
    wanted = {"path": source, "source_hash": source_hash, "saltenv": saltenv}
    given = {name: value for name, value in arguments.items() if value is not None}
    return [{"function": "cp.prefetch", "arguments": {**wanted, **given}, "what": source.partition("?")[0]}]


def _is_hash(value: Any) -> bool:
    digits = value.rpartition("=")[2].strip() if isinstance(value, str) else ""
    return len(digits) in _DIGITS and digits.isalnum()
