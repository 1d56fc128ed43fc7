"""The release of Salt that asyncstate follows."""

from __future__ import annotations

from typing import Final

SALT_VERSION: Final = (3008, 3)
