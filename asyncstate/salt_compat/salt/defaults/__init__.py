"""Salt's constants."""

from __future__ import annotations

from asyncstate.salt_compat.namespace import ModuleGetattr, submodules

DEFAULT_TARGET_DELIM = ":"

__getattr__: ModuleGetattr = submodules(__name__)
