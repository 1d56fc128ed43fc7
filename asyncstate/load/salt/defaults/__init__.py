"""Salt's constants."""

from __future__ import annotations

from asyncstate.load.salt.namespace import submodules

DEFAULT_TARGET_DELIM = ":"

__getattr__ = submodules(__name__)
