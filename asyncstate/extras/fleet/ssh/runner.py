"""The runner: the agent of one host for as long as the operator's program is connected.

The bundle starts `main` on the host. All files for its own use lie in the folder it is given, which the loader
removes. It uses asyncio, whose loop a thread wakes when the stream ends.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import sys
import threading
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from asyncstate import filesystem, residue
from asyncstate.config import Settings, load_settings
from asyncstate.errors import AsyncStateError, CompileError, FleetError, Issue
from asyncstate.extras.fleet.events import HostEvents
from asyncstate.extras.fleet.host.agent import Agent
from asyncstate.extras.fleet.host.local_station import LocalPart, LocalStation
from asyncstate.extras.fleet.ssh import frames
from asyncstate.extras.fleet.ssh.aftermath import note_lock_dir
from asyncstate.extras.fleet.ssh.channel import Channel
from asyncstate.extras.fleet.ssh.stream_board import StreamBoard
from asyncstate.extras.fleet.ssh.tree import StreamFiles, StreamTree, WithoutPillar
from asyncstate.logs import RimFilter
from asyncstate.runtime import StateRuntime
from asyncstate.services import Embedding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from asyncstate.extras.fleet.host.station import Kept
    from asyncstate.extras.fleet.protocol import Offer

_GRACE: Final = 20.0
"""Seconds that running states have to end once the operator's program is gone."""


class NoMemory:
    """The storage of a host that keeps nothing: an `asyncstate.extras.fleet.host.station.Memory`."""

    async def load(self) -> dict[str, Kept]:
        """Return nothing."""
        return {}

    async def save(self, kept: Kept) -> None:
        """Keep nothing: a runner that ends does not come back."""


class Unsigned:
    """The operator at the other end of the stream, who is the only writer, so nothing is signed."""

    def open(self, sealed: bytes, key: str) -> bytes:
        """Return the payload as it came."""
        del key
        return sealed


class StreamStation(LocalStation):
    """This host with the operator's tree. Its files have ``salt://…`` URLs for others, as they lie here temporarily."""

    def __init__(self, settings: Settings, embedding: Embedding, tree: StreamTree) -> None:
        super().__init__(settings, embedding)
        self._files = tree.files
        self._channel = tree.channel
        self._grains_only = Embedding(tree=WithoutPillar(tree))

    def _embedding_for(self, offer: Offer) -> Embedding:
        return self._embedding.replaced(tree=StreamTree(self._channel, self._files, offer.run))

    async def grains(self) -> Mapping[str, Any]:
        """Return the grains of this host."""
        async with StateRuntime(self._settings, embedding=self._grains_only) as runtime:
            return dict(runtime.host.grains)

    @asynccontextmanager
    async def prepare(self, offer: Offer) -> AsyncIterator[LocalPart]:
        """Compile an offer. Raises CompileError."""
        try:
            async with super().prepare(offer) as part:
                chunks = tuple(
                    msgspec.structs.replace(chunk, file=self._files.url_of(chunk.file)) for chunk in part.plan.chunks
                )
                part.rename(msgspec.structs.replace(part.plan, chunks=chunks))
                yield part
        except CompileError as error:
            raise CompileError([self._named(issue) for issue in error.issues]) from None

    def _named(self, issue: Issue) -> Issue:
        return issue._replace(
            message=self._files.named(issue.message),
            file=self._files.url_of(issue.file),
            hint=self._files.named(issue.hint),
        )


def main(folder: str) -> int:
    """Serve the operator's program over the standard streams, until it is gone."""
    reading, writing = _own_streams()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(RimFilter())
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    def end() -> None:
        threading.Thread(target=_end_for_good, daemon=True).start()
        with suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(ended.set)

    channel = Channel(reading, writing, end)
    try:
        with residue.Notes(folder, "the runner"), asyncio.Runner(loop_factory=lambda: loop) as runner:
            begin = channel.start()
            runner.run(_serve(channel, begin, folder, ended))
    except AsyncStateError as error:
        if channel.said_bye:
            return 0
        sys.stderr.write(f"asyncstate: {error}\n")
        return 1
    return 0


def _end_for_good() -> None:
    """End this process if running states do not end; the loader, which waits for it, clears up."""
    time.sleep(_GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


def _own_streams() -> tuple[int, int]:
    """Return the stream's descriptors. Output of plugins and programs goes to the log."""
    reading, writing = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3), fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return reading, writing


async def _serve(channel: Channel, begin: frames.Begin, folder: str, ended: asyncio.Event) -> None:
    if begin.version != frames.VERSION:
        raise FleetError(f"the operator's program speaks version {begin.version}, this runner {frames.VERSION}")
    files = StreamFiles(channel, os.path.join(folder, "tree"), begin.environments)
    await asyncio.to_thread(files.bring_plugins)
    roots = {env: files.roots(env) for env in begin.environments}
    settings = frames.value_of({**_places(folder), **begin.settings, "file_roots": roots}, Settings)
    settings.id = begin.host
    lock_dir = _made_lock_dir(_lock_dir(begin))
    note_lock_dir(folder, lock_dir)
    board = StreamBoard(channel)
    embedding = Embedding(events=HostEvents(board, begin.host), lock_dir=lock_dir)
    agent = Agent(
        board,
        begin.host,
        StreamStation(settings, embedding, StreamTree(channel, files)),
        NoMemory(),
        Unsigned(),
        lease=begin.lease,
    )
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    serving = asyncio.ensure_future(agent.serve())
    ending = asyncio.ensure_future(ended.wait())
    await asyncio.wait([serving, ending], return_when=asyncio.FIRST_COMPLETED)
    if not serving.done():
        serving.cancel()
        await asyncio.wait([serving])
    ending.cancel()
    error = None if serving.cancelled() else serving.exception()
    if error is not None and not ended.is_set():
        raise error


def _places(folder: str) -> dict[str, Any]:
    """Return the settings that keep a run's own files in the folder."""
    return {
        "conf_file": os.path.join(folder, "config"),
        "cachedir": os.path.join(folder, "cache"),
        "state_dir": os.path.join(folder, "state"),
    }


def _made_lock_dir(folder: str) -> str:
    """Return the folder of the lock, made if missing. Raises FleetError, for a user without a home for example."""
    try:
        filesystem.makedirs(folder, 0o700)
    except OSError as error:
        raise FleetError(
            f"the lock of runs of this host cannot be kept in {folder}: {error.strerror or error}. Name a folder as "
            "minion_opts: {cachedir: …} in the roster."
        ) from None
    return folder


def _lock_dir(begin: frames.Begin) -> str:
    """Return the folder of the lock that all runs of this host take, local ones too. Raises FleetError."""
    if cachedir := begin.settings.get("cachedir"):
        return str(cachedir)
    try:
        return load_settings(None).cachedir
    except AsyncStateError as error:
        raise FleetError(
            f"where other runs of this host have their lock is not known: {error}. Mend its configuration, or name the "
            "folder as minion_opts: {cachedir: …} in the roster."
        ) from None
