"""File modes in Salt's form: strings of at least four octal digits."""

from __future__ import annotations

from typing import Any


def normalize_mode(mode: Any) -> str | None:
    """Return ``mode`` as Salt compares and reports it: ``"0644"`` for 644, ``"644"``, ``"0o644"``, ``"00644"``."""
    if mode is None:
        return None
    return str(mode).replace("0o", "0").strip("\"'").lstrip("0").zfill(4)


def mode_text(bits: int) -> str:
    """Return permission bits as text: ``"0644"`` for 0o644."""
    return f"{bits & 0o7777:04o}"


def mode_bits(mode: str) -> int | None:
    """Return the bits of a mode, None if it is not an octal number."""
    try:
        bits = int(mode.lstrip("0Oo") or "0", 8)
    except ValueError:
        return None
    return bits if 0 <= bits <= 0o7777 else None


def directory_mode(mode: Any) -> str:
    """Return the mode of directories made for a file of ``mode``: each class with any permission may also enter."""
    digits = [digit if digit == "0" else str(int(digit) | 1) for digit in str(mode)[-3:]]
    return "".join(digits)
