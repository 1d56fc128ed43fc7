"""The differences between two dicts."""

from __future__ import annotations

from asyncstate.extras.namespace.difference import DictDiffer, data_diff, deep_diff, diff
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

__all__ = ["DictDiffer", "data_diff", "deep_diff", "diff"]

__getattr__: ModuleGetattr = nothing_else(__name__)
