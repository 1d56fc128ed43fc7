"""The double-underscore names that plugins use: ``__salt__``, ``__opts__``, ``__pillar__`` and others.

Each is a proxy over one context variable, so a plugin file is imported once per process and still sees, in every call,
the runtime and the chunk it is called for. Bundled plugins import the names from here; the loader puts the same objects
into the namespace of a stock Salt-style file.

States also import from here the functions that make their rows (`asyncstate.dunders.rows`), and `is_dry_run`; states
that change entries of a shared file import `editing` and `entry_of`.
"""

from __future__ import annotations

from asyncstate.dunders.context import (
    check_cancelled,
    hide,
    is_dry_run,
    runtime_services,
    tree_files,
)
from asyncstate.dunders.entries import Editing, editing, entry_of
from asyncstate.dunders.proxies import (
    __context__,
    __env__,
    __file_client__,
    __grains__,
    __instance_id__,
    __low__,
    __lowstate__,
    __opts__,
    __orig_opts__,
    __pillar__,
    __proxy__,
    __running__,
    __salt__,
    __serializers__,
    __sls__,
    __states__,
    __user__,
    __utils__,
)
from asyncstate.dunders.rows import Row, changed, failed, make_row, not_told, unchanged, would_change
from asyncstate.dunders.services import (
    FileRoots,
    Orchestra,
    PluginFunction,
    PluginKind,
    PluginModule,
    Plugins,
    Services,
    TreeFiles,
)

__all__ = [
    "Editing",
    "FileRoots",
    "Orchestra",
    "PluginFunction",
    "PluginKind",
    "PluginModule",
    "Plugins",
    "Row",
    "Services",
    "TreeFiles",
    "__context__",
    "__env__",
    "__file_client__",
    "__grains__",
    "__instance_id__",
    "__low__",
    "__lowstate__",
    "__opts__",
    "__orig_opts__",
    "__pillar__",
    "__proxy__",
    "__running__",
    "__salt__",
    "__serializers__",
    "__sls__",
    "__states__",
    "__user__",
    "__utils__",
    "changed",
    "check_cancelled",
    "editing",
    "entry_of",
    "failed",
    "hide",
    "is_dry_run",
    "make_row",
    "not_told",
    "runtime_services",
    "tree_files",
    "unchanged",
    "would_change",
]
