"""Salt's constants."""

from __future__ import annotations

from asyncstate.salt_compat.namespace import submodules

DEFAULT_TARGET_DELIM = ":"

__getattr__ = submodules(__name__)
