"""States of files, directories and links, with Salt's arguments, comments and changes."""

from __future__ import annotations

from .accumulators import accumulated
from .addition import append, prepend
from .caching import cached, not_cached
from .devices import mknod
from .directory import directory
from .edit import blockreplace, comment, line, replace, uncomment
from .fetches import mod_prefetch
from .footprint import mod_footprint
from .keys import keyvalue
from .links import hardlink, symlink
from .managed import managed, mod_run_check_cmd
from .patches import patch
from .serialized import decode, serialize
from .tidying import pruned, retention_schedule, tidied
from .transfer import absent, copy_, exists, missing, rename, touch
from .tree import recurse

__func_alias__ = {"copy_": "copy"}

__all__ = [
    "absent",
    "accumulated",
    "append",
    "blockreplace",
    "cached",
    "comment",
    "copy_",
    "decode",
    "directory",
    "exists",
    "hardlink",
    "keyvalue",
    "line",
    "managed",
    "missing",
    "mknod",
    "mod_footprint",
    "mod_prefetch",
    "mod_run_check_cmd",
    "not_cached",
    "patch",
    "prepend",
    "pruned",
    "recurse",
    "rename",
    "replace",
    "retention_schedule",
    "serialize",
    "symlink",
    "tidied",
    "touch",
    "uncomment",
]
