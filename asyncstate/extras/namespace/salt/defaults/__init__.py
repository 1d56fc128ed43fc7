"""Salt's constants."""

from __future__ import annotations

from asyncstate.extras.namespace.names import ModuleGetattr, submodules

DEFAULT_TARGET_DELIM = ":"

__getattr__: ModuleGetattr = submodules(__name__)
