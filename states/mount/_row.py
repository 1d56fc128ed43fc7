"""What every mount state begins with."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def new_row(name: str) -> Row:
    """Return the row of a state that found nothing to do."""
    return {"name": name, "changes": {}, "result": True, "comment": ""}
