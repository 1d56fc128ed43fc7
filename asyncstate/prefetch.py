"""Prefetching, for modules: the ones that fetch ahead for later states, and the ones that use the results.

    a function that fetches ──fetching──▶ a file or a folder in a `folder` of the run
    a state, in its turn    ──wait──────▶ takes it from there, or fetches by itself

Modules check prefetched files as they check their own downloads: by hash. Unused files are removed at the end of the
run. In a run without prefetches, outside any run and in dry runs, `folder` returns "" and `wait`
returns at once.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from asyncstate import residue
from asyncstate.dunders.context import check_cancelled, current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["announce", "fetching", "folder", "wait"]

LIMIT = 1 << 32
"""The maximum of prefetched and unused bytes of a run: beyond it, nothing more is fetched ahead."""
ROOM = 1 << 30
"""Bytes that must be free in a file system before something is fetched ahead into it."""
_LOOK_AROUND = 0.1
"""Seconds between two checks whether a waiting call was cancelled."""


class Prefetched:
    """The prefetches of one run, below ``directory``; ``tell``, if set, is called with each announced topic.

    Every method may be called from any thread.
    """

    def __init__(self, directory: str, tell: Callable[[str], None] | None = None) -> None:
        self.tell = tell
        self._directory = directory
        self._folders: dict[str, str] = {}
        self._changed = threading.Condition()
        self._under_way: set[str] = set()
        self._closed = False

    def folder(self, name: str, directory: str = "", mode: int = 0o700) -> str:
        """Return the path of a folder of this run; "" once it is over. Made in ``directory``, or in the cache."""
        with self._changed:
            path = self._folders.get(name, "")
            if not path and not self._closed:
                where = directory or self._directory
                os.makedirs(where, mode=0o700, exist_ok=True)
                path = self._folders[name] = residue.make_temporary_folder(f"prefetch-{name}-", where)
                if mode != 0o700:
                    os.chmod(path, mode)
            return path

    @contextmanager
    def fetching(self, names: tuple[str, ...]) -> Iterator[None]:
        """During the block, make callers that wait for any of ``names``, or fetch any of them, wait."""
        with self._changed:
            self._wait(names)
            self._under_way.update(names)
        try:
            yield
        finally:
            with self._changed:
                self._under_way.difference_update(names)
                self._changed.notify_all()

    def wait(self, names: tuple[str, ...]) -> None:
        """Wait until none of ``names`` is being fetched. Raises RunCancelled if the waiting call is cancelled."""
        with self._changed:
            self._wait(names)

    def _wait(self, names: tuple[str, ...]) -> None:
        while not self._under_way.isdisjoint(names):
            self._changed.wait(_LOOK_AROUND)
            check_cancelled()

    def room(self) -> str:
        """Return why nothing more should be fetched ahead, "" if there is room."""
        used = sum(_size(path) for path in self._folders.values())
        if used > LIMIT:
            return f"{used >> 20} MiB were fetched ahead and not used yet"
        try:
            system = os.statvfs(self._directory if os.path.isdir(self._directory) else os.path.dirname(self._directory))
        except OSError:
            return ""
        free = system.f_bavail * system.f_frsize
        return f"only {free >> 20} MiB are free below {self._directory}" if free < ROOM else ""

    def close(self) -> None:
        """Remove all folders; fetches under way find none."""
        with self._changed:
            self._closed = True
            folders, self._folders = list(self._folders.values()), {}
        if not folders:
            return
        import shutil  # noqa: PLC0415 - few runs prefetch

        for path in folders:
            shutil.rmtree(path, ignore_errors=True)


def folder(name: str, *, directory: str = "", mode: int = 0o700) -> str:
    """Return a folder for prefetches of the run under way; "" if it has none.

    Each ``name`` has one in a run. It is made in the cache, or in ``directory``, and is private unless
    ``mode`` says otherwise. Raises OSError if it cannot be made.
    """
    prefetched = _of_this_run()
    return "" if prefetched is None else prefetched.folder(name, directory, mode)


@contextmanager
def fetching(*names: str) -> Iterator[None]:
    """Declare that the block fetches ``names`` (any text), so that a state that waits for one (`wait`) lets it finish.

    No two blocks fetch the same name at once. Raises RunCancelled, like `wait`.
    """
    prefetched = _of_this_run()
    if prefetched is None:
        yield
        return
    with prefetched.fetching(names):
        yield


def wait(*names: str) -> None:
    """Wait while any of ``names`` is being fetched. Call it in plain functions, which run in threads.

    Raises RunCancelled if the state is cancelled meanwhile.
    """
    prefetched = _of_this_run()
    if prefetched is not None:
        prefetched.wait(names)


def announce(topic: str) -> None:
    """Announce an event that a fetch waited for, which raised `asyncstate.errors.NotYet` with this topic."""
    prefetched = _of_this_run()
    if prefetched is not None and prefetched.tell is not None:
        prefetched.tell(topic)


def _of_this_run() -> Prefetched | None:
    call = current.get(None)
    return None if call is None else call.prefetched


def _size(folder: str) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_size
    return total
