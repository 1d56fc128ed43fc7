"""OperatorSide: the operator's side of one host's stream. It answers the host's requests within the host's rights.

On the board a host has its rights of `subjects`. Of the tree it gets all files of the file roots, as any minion of Salt
does. The pillar is rendered here, always for the stream's host, whatever ID a request has.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
import anyio.to_thread
import msgspec

from asyncstate.errors import AsyncStateError, FleetError, PillarError, RenderError
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.protocol import Offer, decode
from asyncstate.extras.fleet.ssh import frames
from asyncstate.logs import get_logger
from asyncstate.redact import Secrets
from asyncstate.services import RuntimeServices
from asyncstate.sources.fileclient import LocalFileClient

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping

    from anyio.abc import TaskGroup

    from asyncstate.config import Settings
    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.protocol import Options

log: logging.Logger = get_logger(__name__)

_MOST_AT_ONCE: Final = 64
"""The number of one host's requests that are answered concurrently; further ones wait."""
_MOST_WATCHES: Final = 200
_FURTHEST: Final = 1 << 62
"""The largest start of a piece of a file: no file is as long."""
_ENVIRONMENT: Final = re.compile(frames.ENVIRONMENT)


class Reader(Protocol):
    """The bytes that a host sends."""

    async def readexactly(self, n: int) -> bytes:
        """Return ``n`` bytes. Raises EOFError (asyncio.IncompleteReadError) at the end."""


class Writer(Protocol):
    """The bytes that a host gets."""

    def write(self, data: bytes) -> None:
        """Send, without waiting."""

    async def drain(self) -> None:
        """Wait until there is room for more."""


class Tree:
    """The operator's tree, for all hosts. ``settings`` are the operator's; listings are made once for a run."""

    def __init__(self, settings: Settings) -> None:
        self.settings: Settings = settings
        self._files = LocalFileClient.from_opts(settings.opts())
        self._listings: dict[str, frames.Listing] = {}

    def environments(self) -> tuple[str, ...]:
        """Return the environments of the file roots."""
        return tuple(self._files.envs())

    def listing(self, saltenv: str) -> frames.Listing:
        """Return the listing of an environment. Blocks. Raises RenderError for an unknown environment."""
        _require_environment(saltenv)
        if saltenv not in self._listings:
            files = self._files
            self._listings[saltenv] = frames.Listing(
                files=files.list_files(saltenv),
                dirs=files.list_dirs(saltenv),
                empty_dirs=files.list_empty_dirs(saltenv),
                links=files.list_symlinks(saltenv),
                states=files.list_states(saltenv),
            )
        return self._listings[saltenv]

    def piece(self, saltenv: str, path: str, start: int) -> frames.Piece:
        """Return a piece of a file, from ``start``. Blocks. Raises RenderError if there is no such file."""
        _require_environment(saltenv)
        found = self._files.find(path, saltenv)
        if found is None:
            raise RenderError(f"there is no such file in the operator's tree ({saltenv})", file=path)
        try:
            with open(found, "rb", opener=_without_waiting) as file:
                status = os.fstat(file.fileno())
                file.seek(start)
                data = file.read(frames.CHUNK)
        except OSError as error:
            raise RenderError(f"the operator cannot read it: {error.strerror}", file=path) from None
        return frames.Piece(data=data, mode=status.st_mode & 0o777, last=len(data) < frames.CHUNK)

    def pillar(
        self, host: str, grains: Mapping[str, Any], minion_opts: Mapping[str, Any], run: Options
    ) -> frames.Pillar:
        """Return the pillar of a host. Blocks. Raises PillarError and other errors of this package."""
        settings = msgspec.structs.replace(self.settings, id=host)
        for option in ("saltenv", "pillarenv"):
            if option in minion_opts:
                setattr(settings, option, minion_opts[option])
        settings.saltenv = run.saltenv or settings.saltenv
        settings.pillarenv = run.pillarenv or settings.pillarenv
        if run.pillar:
            settings.pillar = settings.pillar_with(run.pillar)
        secrets = Secrets()
        services = RuntimeServices(settings, secrets=secrets)
        services.host.set_grains(dict(grains))
        with secrets.kept_out_of_errors():
            services.refresh(grains=False, pillar=True)
        return frames.Pillar(pillar=dict(services.host.pillar), secrets=tuple(secrets))


class OperatorSide:
    """Serves one host. ``minion_opts`` are the settings of this host."""

    def __init__(self, host: str, board: Board, tree: Tree, minion_opts: Mapping[str, Any]) -> None:
        self._host = host
        self._board = board
        self._tree = tree
        self._minion_opts = minion_opts
        self._room = anyio.Semaphore(_MOST_AT_ONCE)
        self._sending = anyio.Lock()
        self._watches: dict[int, anyio.CancelScope] = {}

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """Answer until the host is gone, or is silent for too long. Raises BoardError with the reason; OSError."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._ping, writer)
            try:
                while True:
                    with anyio.move_on_after(frames.SILENCE) as limit:
                        frame = await self._next(reader)
                    if limit.cancelled_caught:
                        raise BoardError(f"it was silent for {frames.SILENCE:.0f} s")
                    if frame is None:
                        break
                    await self._take(group, frame, writer)
            finally:
                group.cancel_scope.cancel()

    async def _next(self, reader: Reader) -> frames.Frame | None:
        try:
            head = await reader.readexactly(frames.HEAD)
            return frames.decode_asked(await reader.readexactly(frames.length(head)))
        except EOFError:
            return None

    async def _ping(self, writer: Writer) -> None:
        while True:
            await anyio.sleep(frames.PING_EVERY)
            await self.send(writer, 0, frames.PING)

    async def send(self, writer: Writer, number: int, word: str, value: Any = None) -> None:
        """Send a frame."""
        data = frames.encode(number, word, value)
        async with self._sending:
            writer.write(data)
            await writer.drain()

    async def _take(self, group: TaskGroup, frame: frames.Frame, writer: Writer) -> None:
        if frame.word == frames.PING:
            return
        if frame.word == frames.CLOSE:
            scope = self._watches.pop(frame.number, None)
            if scope is not None:
                scope.cancel()
        elif frame.word == "watch":
            if len(self._watches) >= _MOST_WATCHES:
                raise BoardError(f"it watches more than {_MOST_WATCHES} things at once")
            if frame.number in self._watches:
                raise BoardError(f"it watches twice as number {frame.number}")
            scope = self._watches[frame.number] = anyio.CancelScope()
            group.start_soon(self._watch, frame, writer, scope)
        else:
            await self._room.acquire()
            group.start_soon(self._answer, frame, writer)

    async def _answer(self, frame: frames.Frame, writer: Writer) -> None:
        try:
            word, value = frames.OK, await self._value(frame.word, frame.value)
        except (AsyncStateError, TypeError, ValueError) as error:
            word, value = frames.ERROR, _trouble(error)
        except Exception as error:
            log.exception("What %s asks (%s) cannot be answered", self._host, frame.word)
            raise BoardError(f"what it asks cannot be answered: {frame.word}: {error!r}") from error
        finally:
            self._room.release()
        await self.send(writer, frame.number, word, value)

    async def _value(self, word: str, asked: list[Any]) -> Any:
        board, tree = self._board, self._tree
        match word, asked:
            case "put", [str(key), bytes(value)]:
                return await board.put(key, value)
            case "get", [str(key)]:
                return await board.get(key)
            case "entries", [str(pattern)]:
                return [[each.key, each.value, each.revision] for each in await board.entries(pattern)]
            case "publish", [str(subject), bytes(data), str(id_)]:
                return await board.publish(subject, data, id=id_)
            case "listing", [str(saltenv)]:
                return await anyio.to_thread.run_sync(tree.listing, saltenv)
            case "fetch", [str(saltenv), str(path), int(start)] if 0 <= start < _FURTHEST:
                return await anyio.to_thread.run_sync(tree.piece, saltenv, path, start)
            case "pillar", [dict(grains), str(run)]:
                options = await self._offered(run)
                return await anyio.to_thread.run_sync(tree.pillar, self._host, grains, self._minion_opts, options)
            case _:
                raise FleetError(f"this is no way to ask for {word}")

    async def _offered(self, run: str) -> Options:
        """Return the options of a run's offer to this host. Raises FleetError."""
        offer = await self._board.get(subjects.offer(self._host, run))
        if offer is None:
            raise FleetError(f"this host was offered no run {run[:40]!r}")
        return decode(offer, Offer).options

    async def _watch(self, frame: frames.Frame, writer: Writer, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                async for each in self._board.watch(str(*frame.value)):
                    await self.send(writer, frame.number, frames.MORE, [each.key, each.value, each.revision])
            except (BoardError, TypeError) as error:
                await self.send(writer, frame.number, frames.ERROR, _trouble(error))


def _require_environment(saltenv: str) -> None:
    """Raise RenderError for an invalid name of an environment: it must not lead out of the file roots."""
    if not _ENVIRONMENT.match(saltenv):
        raise RenderError(f"there is no environment {saltenv[:200]!r}")


def _trouble(error: Exception) -> frames.Trouble:
    if isinstance(error, PillarError):
        issues = tuple((each.message, each.file, each.line, each.hint) for each in error.issues)
        return frames.Trouble(text=str(error), issues=issues)
    return frames.Trouble(text=str(error))


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without blocking, even if a pipe has taken its place."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
