"""One editor's session: its texts, the tree around them, and the look at it that is under way.

It lives on the asyncio loop of pygls.

Texts are taken at once, and given to the compiler, which looks at the newest. Where the disk may have changed,
it is looked at before, in a thread. What the compiler says of older texts is not listened to.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.compiler import Compiler
from asyncstate.extras.editor.knowledge import Knowledge
from asyncstate.extras.editor.messages import Catalog, Compiled, Fixes, Found, Job, Reply, Seen
from asyncstate.extras.editor.reading import asks_machine
from asyncstate.extras.editor.tree import Roots, Tree, differs, read_tree
from asyncstate.extras.editor.watching import look_for_changes
from asyncstate.logs.loggers import get_logger
from asyncstate.process.ending import Reaper
from asyncstate.sources.fileclient import LocalFileClient

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from asyncstate.config import Settings
    from asyncstate.extras.editor.messages import Answer, Fix

log: logging.Logger = get_logger(__name__)

_PAUSE = 0.3
"""Seconds without a change after which the disk is looked at."""


class Program(NamedTuple):
    """How the tree is found and compiled.

    ``options`` are those of the command line, ``settings`` makes settings of them and raises what is wrong with them;
    ``compiler`` is the command that reads jobs.
    """

    options: Mapping[str, Any]
    settings: Callable[[Mapping[str, Any]], Settings]
    compiler: Sequence[str]


class Session:
    """What the server knows. ``tell`` shows a text to the user; ``took`` is called for each answer of the compiler."""

    def __init__(
        self, program: Program, tell: Callable[[str], None], took: Callable[[Answer], None] | None = None
    ) -> None:
        self.knowledge: Knowledge = Knowledge(Tree(Roots({}, {}), {}, {}, {}, {}))
        self.buffers: dict[str, str] = {}
        self.fixes: tuple[Fix, ...] = ()
        """The changes that are known for the texts of now."""
        self.ready: asyncio.Event = asyncio.Event()
        self._program = program
        self._tell = tell
        self._took = took
        self._told = ""
        self._options: dict[str, Any] = dict(program.options)
        self._folder = ""
        self._catalogued: object = None
        self._reaper = Reaper()
        self._loop = asyncio.get_running_loop()
        self._compiler = Compiler(program.compiler, self._reaper, self._hear)
        self._asking = ThreadPoolExecutor(1, "asyncstate-asking")  # one thread, so that jobs keep their order
        self._job = 0
        self._looks_at_disk = True
        self._changed = True  # what was rendered is out of date, whatever the buffers are
        self._settings_before: Settings | None = None
        self._task: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    # what the editor says

    def open_folder(self, folder: str) -> None:
        """Take the folder that the editor has open: a tree in it counts if the settings name none that exists."""
        self._folder = folder
        self._start(0)

    def edit(self, path: str, text: str) -> None:
        """Take the text of a file."""
        self.buffers[path] = text
        self.knowledge.tree.edited(path, text)
        self._start(0)

    def close(self, path: str) -> None:
        """The editor no longer has a file: its text is that of the disk."""
        self.buffers.pop(path, None)
        self.knowledge.tree.closed(path)
        self.look()

    def look(self, *, anew: bool = False) -> None:
        """Look at the disk again after a pause, and compile; what is under way is out of date.

        With ``anew`` all is rendered again, also where the disk has not changed.
        """
        self._looks_at_disk = True
        self._changed = self._changed or anew
        self._start(_PAUSE)

    async def is_ready(self, patience: float) -> bool:
        """Return whether the tree is known, after some seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self.ready.wait()
        return self.ready.is_set()

    def _start(self, pause: float) -> None:
        if self._task is not None:
            self._task.cancel()
        self._job += 1
        self.fixes = ()
        self._task = self._loop.create_task(self._look(pause))

    def watch(self) -> None:
        """Look at the disk from now on, for an editor that does not tell what changes there."""
        self._watching = self._loop.create_task(
            look_for_changes(lambda: self.knowledge.tree, self._read_now, self.buffers, self.look)
        )

    async def end(self) -> None:
        """Stop what is under way, and wait until it is gone."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await asyncio.to_thread(self._asking.shutdown, cancel_futures=True)
        await asyncio.to_thread(self._compiler.stop)
        await asyncio.to_thread(self._reaper.wait)

    # what follows

    async def _look(self, pause: float) -> None:
        await asyncio.sleep(pause)
        try:
            if self._looks_at_disk:
                await self._read_disk()
            self._ask()
        except (AsyncStateError, OSError) as error:
            self._say(str(error))
        except Exception as error:
            log.exception("the tree could not be looked at")
            self._say(f"{type(error).__name__}: {error}: this is a bug in asyncstate; the log of the server has more")
        self.ready.set()

    async def _read_disk(self) -> None:
        self._asking.submit(self._compiler.prepare)
        settings = await asyncio.to_thread(self._settings)
        before = self.knowledge.tree
        self.knowledge.tree = await asyncio.to_thread(_read, settings, before, dict(self.buffers))
        if settings != self._settings_before or await asyncio.to_thread(
            _has_changed, before, self.knowledge.tree, set(self.buffers)
        ):
            self._changed = True
        self._settings_before = settings
        self._looks_at_disk = False
        self.ready.set()

    def _read_now(self) -> Tree:
        return _read(self._settings(), self.knowledge.tree, dict(self.buffers))

    def _ask(self) -> None:
        plugins = _plugins(self.knowledge.tree)
        job = Job(
            self._job,
            self._options,
            dict(self.buffers),
            tuple(self.buffers),
            catalog=plugins != self._catalogued,
            changed=self._changed,
        )
        self._changed = False
        self._asking.submit(self._compiler.ask, job)

    def _hear(self, reply: Reply) -> None:
        self._loop.call_soon_threadsafe(self._take, reply)

    def _take(self, reply: Reply) -> None:
        if reply.number != self._job:
            return
        if reply.done:
            self._say(reply.problem)
        answer = reply.answer
        if answer is None:
            return
        match answer:
            case Catalog():
                self.knowledge.functions = answer.functions
                self._catalogued = _plugins(self.knowledge.tree)
            case Seen():
                self.knowledge.seen = answer
            case Compiled():
                self.knowledge.compiled = answer
            case Fixes():
                self.fixes = answer.fixes
            case Found():
                pass
        if self._took is not None:
            self._took(answer)

    def _settings(self) -> Settings:
        settings = self._program.settings(self._options)
        if not self._program.options.get("file_root") and not _exist(settings.file_roots):
            found = _guess(self._folder, self.buffers)
            if found:
                self._options = {**self._program.options, **found}
                settings = self._program.settings(self._options)
        return settings

    def _say(self, text: str) -> None:
        """Show a text to the user, once until it changes."""
        if text and text != self._told:
            self._tell(text)
        self._told = text


def _read(settings: Settings, before: Tree, buffers: Mapping[str, str]) -> Tree:
    """Look at the disk with new clients, which list the files of now."""
    opts = settings.opts()
    files, pillar = LocalFileClient.from_opts(opts), LocalFileClient.from_opts(opts, "pillar_roots")
    return read_tree(files, pillar, before, buffers)


def _exist(roots: Mapping[str, Sequence[str]]) -> bool:
    return any(os.path.isdir(folder) for folders in roots.values() for folder in folders)


def _has_changed(before: Tree, now: Tree, buffers: Collection[str]) -> bool:
    """Return whether what was rendered may be out of date: the tree, or what its templates ask of this machine."""
    return differs(before, now, buffers) or any(
        asks_machine(file.text) for files in (now.files, now.pillar) for file in files.values()
    )


def _plugins(tree: Tree) -> frozenset[tuple[str, tuple[int, int]]]:
    """Return what the tree has of state modules of its own: where that changes, all states are described anew."""
    return frozenset(
        (path, tree.stamps.get(path, (0, 0)))
        for listed in tree.listing.values()
        for name, path in listed.items()
        if name.startswith("_states/")
    )


def _guess(folder: str, buffers: Mapping[str, str]) -> dict[str, Any]:
    """Return options for a tree that the editor has open: a folder with top.sls, and a pillar beside it."""
    candidates = [os.path.join(folder, name) for name in ("", "salt", "states", "srv/salt")] if folder else []
    for path in buffers:
        above = os.path.dirname(path)
        while above not in {"", "/"}:
            candidates.append(above)
            above = os.path.dirname(above)
    for candidate in candidates:
        if os.path.isfile(os.path.join(candidate, "top.sls")):
            root = os.path.normpath(candidate)
            if os.path.basename(root) == "pillar":
                continue
            pillars = [os.path.join(os.path.dirname(root), "pillar"), os.path.join(root, "pillar")]
            return {
                "file_root": [("base", root)],
                "pillar_root": [("base", pillar) for pillar in pillars if os.path.isdir(pillar)],
            }
    return {}
