"""The ``json`` renderer."""

from __future__ import annotations

import json
from typing import Any

from asyncstate.data.limits import TOO_LONG
from asyncstate.data.text import excerpt_around
from asyncstate.errors import RenderError


def render(text: str, name: str = "") -> Any:
    """Return the data of JSON text, {} for blank text; a first line that starts with ``#!`` is skipped."""
    skipped = 0
    if text.startswith("#!"):
        _, _, text = text.partition("\n")
        skipped = 1
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno + skipped
        raise RenderError(str(error), file=name, line=line, excerpt=excerpt_around(text, error.lineno)) from None
    except ValueError:  # Python refuses very long numbers, which take quadratic time to read
        raise RenderError(TOO_LONG, file=name, line=1) from None
    except RecursionError:
        raise RenderError("the JSON is nested too deeply", file=name, line=1) from None
