"""Value: the base of small immutable classes that are compared by their fields.

A `NamedTuple` compiles the annotation of each of its fields when its class is made, which took 5 % of a start, and
makes its instances in Python. This base does neither. Its subclasses are not serialised, so types that only annotations
need may be imported for type checkers alone.
"""

from __future__ import annotations

from typing import Any, Self, dataclass_transform

import msgspec
from msgspec.structs import replace


@dataclass_transform(frozen_default=True)
class Value(msgspec.Struct, frozen=True):
    """An immutable value; equal to others of its class with equal fields, and hashable if they are."""

    def replaced(self, **fields: Any) -> Self:
        """Return this value with other ``fields``."""
        return replace(self, **fields)
