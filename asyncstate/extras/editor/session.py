"""One editor's session: its texts, the tree around them, and the compilation under way.

It lives on the asyncio loop of pygls.

Texts are taken at once, and given to the compiler, which compiles the newest. If the disk may have changed, a thread
reads it first. Answers of the compiler about older texts are ignored.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.compiler import Compiler
from asyncstate.extras.editor.knowledge import Knowledge
from asyncstate.extras.editor.messages import Catalog, Compiled, Fixes, Found, Job, Reply, Seen
from asyncstate.extras.editor.reading import asks_machine
from asyncstate.extras.editor.tree import Roots, Tree, differs, read_tree
from asyncstate.extras.editor.watching import look_for_changes
from asyncstate.logs import get_logger
from asyncstate.sources.fileclient import LocalFileClient

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from asyncstate.config import Settings
    from asyncstate.extras.editor.messages import Answer, Fix

log: logging.Logger = get_logger(__name__)

_PAUSE = 0.3
"""Seconds without a change after which the disk is read."""
_LOOK = 0.1
"""Seconds between two looks at a loop that may end before the session."""


class Program(NamedTuple):
    """The settings and the compiler of a session.

    ``options`` come from the command line, ``settings`` makes settings of them and raises the mistakes in them;
    ``compiler`` is the command that reads jobs.
    """

    options: Mapping[str, Any]
    settings: Callable[[Mapping[str, Any]], Settings]
    compiler: Sequence[str]


class Session:
    """The server's data. ``tell`` shows a text to the user; ``took`` is called for each answer of the compiler."""

    def __init__(
        self, program: Program, tell: Callable[[str], None], took: Callable[[Answer], None] | None = None
    ) -> None:
        self.knowledge: Knowledge = Knowledge(Tree(Roots({}, {}), {}, {}, {}, {}))
        self.buffers: dict[str, str] = {}
        self.fixes: tuple[Fix, ...] = ()
        """The fixes for the present texts."""
        self.ready: asyncio.Event = asyncio.Event()
        self._program = program
        self._tell = tell
        self._took = took
        self._told = ""
        self._options: dict[str, Any] = dict(program.options)
        self._folder = ""
        self._catalogued: object = None
        self._loop = asyncio.get_running_loop()
        self._compiler = Compiler(program.compiler, self._hear)
        self._asking = ThreadPoolExecutor(1, "asyncstate-asking")  # one thread, so that jobs keep their order
        self._job = 0
        self._looks_at_disk = True
        self._changed = True  # renderings are out of date, whatever the buffers are
        self._settings_before: Settings | None = None
        self._task: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

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
        """Take the text of a file from the disk: the editor has closed it."""
        self.buffers.pop(path, None)
        self.knowledge.tree.closed(path)
        self.look()

    def look(self, *, anew: bool = False) -> None:
        """Read the disk again after a pause, and compile; the job under way is out of date.

        With ``anew`` everything is rendered again, even if the disk has not changed.
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
        """Poll the disk from now on, for an editor that does not report changes there."""
        self._watching = self._loop.create_task(
            look_for_changes(lambda: self.knowledge.tree, self._read_now, self.buffers, self.look)
        )

    async def end(self) -> None:
        """Stop all tasks and the compiler, and wait for their end. May be called again."""
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())
        await asyncio.shield(self._ending)

    def end_from_thread(self) -> None:
        """End from another thread than the loop's, and wait for the end, or for that of the loop."""
        with suppress(RuntimeError, CancelledError):  # the loop has ended, and with it all tasks
            ended = asyncio.run_coroutine_threadsafe(self.end(), self._loop)
            while not self._loop.is_closed() and not ended.done():
                wait((ended,), _LOOK)

    async def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await asyncio.to_thread(self._asking.shutdown, cancel_futures=True)
        await asyncio.to_thread(self._compiler.stop)
        await asyncio.to_thread(self._compiler.wait)

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
        """Show a text to the user, unless it is the last one shown."""
        if text and text != self._told:
            self._tell(text)
        self._told = text


def _read(settings: Settings, before: Tree, buffers: Mapping[str, str]) -> Tree:
    """Read the disk with new clients, which list its present files."""
    opts = settings.opts()
    files, pillar = LocalFileClient.from_opts(opts), LocalFileClient.from_opts(opts, "pillar_roots")
    return read_tree(files, pillar, before, buffers)


def _exist(roots: Mapping[str, Sequence[str]]) -> bool:
    return any(os.path.isdir(folder) for folders in roots.values() for folder in folders)


def _has_changed(before: Tree, now: Tree, buffers: Collection[str]) -> bool:
    """Return whether renderings may be out of date: by the tree, or as templates read this machine."""
    return differs(before, now, buffers) or any(
        asks_machine(file.text) for files in (now.files, now.pillar) for file in files.values()
    )


def _plugins(tree: Tree) -> frozenset[tuple[str, tuple[int, int]]]:
    """Return the custom state modules of a tree: a change of them asks for a new catalog."""
    return frozenset(
        (path, tree.stamps.get(path, (0, 0)))
        for listed in tree.listing.values()
        for name, path in listed.items()
        if name.startswith("_states/")
    )


def _guess(folder: str, buffers: Mapping[str, str]) -> dict[str, Any]:
    """Return options for a tree in the editor's folder or above a buffer: its top.sls, and a pillar beside it."""
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
