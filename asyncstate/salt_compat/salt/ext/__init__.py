"""Libraries Salt brought with it."""

from __future__ import annotations

from asyncstate.salt_compat.namespace import submodules

__getattr__ = submodules(__name__)
