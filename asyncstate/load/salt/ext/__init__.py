"""Libraries Salt brought with it."""

from __future__ import annotations

from asyncstate.load.salt.namespace import submodules

__getattr__ = submodules(__name__)
