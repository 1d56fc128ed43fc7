"""The YAML spelling of an ID in an SLS file."""

from __future__ import annotations

import re
from typing import Final

_PLAIN_ID: Final = re.compile(r"^[A-Za-z_/][\w./-]*$")
_NO_WORD: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off"})


def written_id(id_: str) -> str:
    """Return an ID as YAML text that is read back as the same ID."""
    if _PLAIN_ID.match(id_) and id_.lower() not in _NO_WORD and not id_.endswith("."):
        return id_
    return "'" + id_.replace("'", "''") + "'"
