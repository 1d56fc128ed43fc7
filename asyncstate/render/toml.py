"""The ``toml`` renderer."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from asyncstate.errors import RenderError


def render(text: str, name: str = "") -> Any:
    """Return the data of TOML text. Raises RenderError with the line."""
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise RenderError(str(error), file=name, line=line) from None
