"""What a template may calculate: a few characters of it must not fill the memory."""

from __future__ import annotations

import re
from typing import Any, Final

from jinja2.exceptions import SecurityError

_LONGEST: Final = 10_000_000
"""Characters of a text, or members of a list, that an operator may make."""
_MOST_BITS: Final = 1_000_000
_REPEATED: Final = (str, bytes, list, tuple)
_WIDTH: Final = re.compile(r"\d{7,}")


def check_product(operator: str, left: Any, right: Any) -> None:
    """Raise SecurityError where ``left operator right`` would be too large."""
    if operator == "%":
        if isinstance(left, (str, bytes)):
            _check_format(left if isinstance(left, str) else left.decode("latin-1"))
    elif operator == "**":
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * max(right, 0) > _MOST_BITS:
            raise SecurityError(f"the number {left} ** {right} is too large")
    else:
        for times, value in ((left, right), (right, left)):
            if (
                isinstance(times, int)
                and isinstance(value, (str, bytes, list, tuple))
                and len(value) * times > _LONGEST
            ):
                raise SecurityError(f"{type(value).__name__} * {times} is larger than {_LONGEST:,}")


def _check_format(layout: str) -> None:
    for digits in _WIDTH.findall(layout):
        if len(digits) > 12 or int(digits) > _LONGEST:
            raise SecurityError(f"a width of {digits[:20]} is larger than {_LONGEST:,}")
