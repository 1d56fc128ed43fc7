"""Changes of files outside of the editor: reported by the editor, or found by polling.

It lives on the asyncio loop of pygls.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from lsprotocol import types

from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.tree import differs
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Collection, Iterable

    from asyncstate.extras.editor.tree import Roots, Tree

log: logging.Logger = get_logger(__name__)

_PAUSE = 2.0
"""Seconds between two looks at the disk."""
_SHARE = 20
"""The share of the time that looks take is at most one in this number."""
_KINDS = types.WatchKind.Create | types.WatchKind.Change | types.WatchKind.Delete


def registration(
    capabilities: types.ClientCapabilities, roots: Roots, uri_of: Callable[[str], str]
) -> types.RegistrationParams | None:
    """Return a request to watch all folders of the tree; None if the editor does not watch on request."""
    workspace = capabilities.workspace
    able = workspace.did_change_watched_files if workspace is not None else None
    if able is None or not able.dynamic_registration:
        return None
    patterns: list[types.Pattern | types.RelativePattern] = ["**/*"]  # in the folders that the editor has open
    if able.relative_pattern_support:
        patterns = [types.RelativePattern(uri_of(folder), "**/*") for folder in _folders(roots)] or patterns
    watchers = [types.FileSystemWatcher(pattern, _KINDS) for pattern in patterns]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    return types.RegistrationParams([types.Registration("tree", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)])


def _folders(roots: Roots) -> list[str]:
    return list(
        dict.fromkeys(folder for of_env in (roots.files, roots.pillar) for each in of_env.values() for folder in each)
    )


def concerns(roots: Roots, paths: Iterable[str]) -> bool:
    """Return whether one of these paths is in the tree or the pillar; True while their folders are unknown."""
    if not roots.files:
        return True
    places = filter(None, map(roots.of, paths))
    return any(not relpath.startswith((".git/", ".hg/", ".svn/")) for _, relpath, _ in places)


async def look_for_changes(
    known: Callable[[], Tree], read: Callable[[], Tree], buffers: Collection[str], changed: Callable[[], None]
) -> None:
    """Look at the disk every few seconds and call ``changed`` when it is not what is ``known``; never returns.

    ``read`` blocks; the less often it is called the longer it takes. Files with a buffer are left alone.
    """
    pause = _PAUSE
    while True:
        await asyncio.sleep(pause)
        began = time.perf_counter()
        try:
            now = await asyncio.to_thread(read)
        except (AsyncStateError, OSError) as error:
            log.debug("the tree cannot be looked at: %s", error)
            continue
        pause = max(_PAUSE, _SHARE * (time.perf_counter() - began))
        if differs(known(), now, buffers):
            changed()
