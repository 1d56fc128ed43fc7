"""Selection of names in the state tree for ``cp``."""

from __future__ import annotations


def under(prefix: str, names: list[str]) -> list[str]:
    """Return the names below a folder, with the folder itself; all without a folder."""
    folder = prefix.strip("/")
    return [name for name in names if not folder or name == folder or name.startswith(f"{folder}/")]
