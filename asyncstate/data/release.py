"""The release of Salt whose behaviour trees find here."""

from __future__ import annotations

from typing import Final

SALT_VERSION: Final = (3008, 3)
