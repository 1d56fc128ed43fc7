"""Libraries that Salt bundled."""

from __future__ import annotations

from asyncstate.salt_compat.namespace import ModuleGetattr, submodules

__getattr__: ModuleGetattr = submodules(__name__)
