"""Validation of values."""

from __future__ import annotations

from asyncstate.extras.namespace.names import ModuleGetattr, submodules

__getattr__: ModuleGetattr = submodules(__name__)
