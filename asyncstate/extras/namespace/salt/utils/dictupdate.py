"""Merging dicts, and setting values at colon paths."""

from __future__ import annotations

from asyncstate.data.merging import merge, merge_aggregate, merge_list, merge_overwrite, merge_recurse, update
from asyncstate.data.paths import (
    append_dict_key_value,
    ensure_dict_key,
    extend_dict_key_value,
    set_dict_key_value,
    update_dict_key_value,
)
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

__all__ = [
    "append_dict_key_value",
    "ensure_dict_key",
    "extend_dict_key_value",
    "merge",
    "merge_aggregate",
    "merge_list",
    "merge_overwrite",
    "merge_recurse",
    "set_dict_key_value",
    "update",
    "update_dict_key_value",
]

__getattr__: ModuleGetattr = nothing_else(__name__)
