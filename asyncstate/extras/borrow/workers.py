"""The workers of one runtime: started when a module of Salt is first needed, lent to one call at a time, replaced."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from asyncstate.dunders.context import current, observer
from asyncstate.extras.borrow import wire
from asyncstate.extras.borrow.failure import LostInSalt, failure_of
from asyncstate.extras.borrow.finding import AUTO, PATIENCE, SaltMissing, find_salt
from asyncstate.extras.borrow.process import WorkerEnded, WorkerProcess
from asyncstate.logs import get_logger
from asyncstate.model.chunk import MOD_AGGREGATE
from asyncstate.process.descriptors import Thread
from asyncstate.process.ending import belong
from asyncstate.process.lineage import Lineage, new_mark
from asyncstate.residue import note_started

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterator

    from asyncstate.dunders.context import CallContext, CancelToken
    from asyncstate.extras.borrow.finding import SaltPython

log: logging.Logger = get_logger(__name__)

MOST = 4
"""The largest number of workers."""
_START = 0.5
"""Seconds that a call waits for a busy worker before another one is started, which takes about as long."""
_LOOK = 0.2
_OWN_CACHES = ("pkg.", "lowpkg.", "mount", "docker.", "pending_grains")
"""Beginnings of keys of ``__context__`` under which bundled modules keep what Salt's keep in another form."""


class _Function(msgspec.Struct):
    parameters: list[tuple[str, Literal[0, 1, 2, 3, 4], bool, Any]] | None
    doc: str


class _Description(msgspec.Struct):
    """A module, as a worker describes it: ``refused`` alone, or the rest."""

    refused: str = ""
    file: str = ""
    functions: dict[str, _Function] = {}


class SaltWorkers:
    """Calls functions of Salt in worker processes.

    ``setting`` is the option ``salt_python``. ``options`` returns the ``__opts__`` of plugins, with grains and pillar,
    and ``folders`` the folders of plugins of the tree, by Salt's options for them; call `renew` when they change. All
    methods block, and may be called from any thread.
    """

    def __init__(
        self,
        setting: str,
        options: Callable[[], dict[str, Any]],
        folders: Callable[[], dict[str, list[str]]],
        *,
        trust: bool = False,
        most: int = MOST,
    ) -> None:
        self.setting: str = setting
        self._options = options
        self._tree_folders = folders
        self._trust = trust
        self._most = most
        self._news = threading.Condition()
        self._finding = threading.Lock()
        self._found: SaltPython | SaltMissing | None = None
        self._generation = 1
        self._set_up: tuple[int, bytes] = (0, b"")
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._retired: set[WorkerProcess] = set()
        self._starting = 0

    def salt(self) -> SaltPython:
        """Return the interpreter, searched once. Raises SaltMissing."""
        with self._finding:
            if self._found is None:
                try:
                    self._found = find_salt(self.setting, trust=self._trust)
                except SaltMissing as missing:
                    self._found = missing
            found = self._found
        if isinstance(found, SaltMissing):
            raise found
        return found

    def folders(self, kind: str) -> list[str]:
        """Return the folders of Salt's modules of a kind; none if there is no usable Salt, with a warning if named."""
        try:
            return self.salt().folders.get(kind, [])
        except SaltMissing as missing:
            if self.setting != AUTO:
                log.warning("salt_python: %s", missing)
            return []

    def renew(self) -> None:
        """Make each worker reload its modules, with the present options, grains and pillar."""
        self._generation += 1

    def describe(self, kind: str, module: str, files: list[str]) -> dict[str, Any]:
        """Return Salt's description of a module that one of ``files`` may provide.

        ``{"file": path, "functions": {name: {"parameters": [(name, kind, has default, default)], "doc": text}}}``, or
        ``{"refused": reason}``, "" if Salt does not say. Raises SaltMissing, LostInSalt, or what loading it raises.
        """
        request = wire.encode({"do": "describe", "kind": kind, "module": module, "files": files})
        try:
            with self._lent(module) as worker:
                answer = worker.request(request, _nothing)
        except WorkerEnded as ended:
            raise LostInSalt(f"a worker of Salt did not describe {module}: {ended}") from None
        found = _value(answer, f"{kind}.{module}")
        try:
            msgspec.convert(found, _Description)
        except ValueError as error:
            raise LostInSalt(f"the description of {module} by a worker cannot be read: {error}") from None
        return dict(found)

    def call(self, kind: str, name: str, files: list[str], args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function of Salt in the context of the call under way.

        Raises LostInSalt if the worker ends, RunCancelled if the call is cancelled (the worker is ended, too), and the
        function's own exceptions (see `asyncstate.extras.borrow.failure`).
        """
        call = current.get()
        token = call.cancel
        watching = observer.get()
        if watching is not None:
            watching.missed("a worker of Salt")
        module, _, function = name.partition(".")
        mark = new_mark()
        given = _shared(call)
        hook = function == MOD_AGGREGATE and len(args) > 1
        request: dict[str, Any] = {
            "do": "call",
            "kind": kind,
            "name": name,
            "files": files,
            "args": list(args),
            "kwargs": kwargs,
            "test": call.test,
            "low": dict(call.low),
            "env": call.env,
            "instance_id": call.instance_id,
            "mark": mark,
            "umask": call.umask,
            "context": given,
            "hook": hook,
            "place": next((at for at, low in enumerate(args[1]) if low is args[0]), None) if hook else None,
        }
        try:
            frame = wire.encode(request)
            with self._lent(module) as worker, _cut_off_with(worker, mark, token):
                answer = worker.request(frame, partial(_asked, call))
        except WorkerEnded as ended:
            if token is not None:
                token.check()
            raise LostInSalt(f"{name} of Salt did not return: the worker that ran it is gone; {ended}") from None
        call.retcode = answer.get("retcode") or 0
        for key in answer.get("gone", ()):
            call.context.pop(key, None)
        call.context.update(answer.get("context", {}))
        returned = _value(answer, name)
        return _kept(args, answer.get("args", []), returned) if hook else returned

    def close(self) -> None:
        """Let the idle workers end; each of the others ends after its call. Workers are started again if needed."""
        with self._news:
            idle, self._idle = self._idle, []
            self._retired |= self._busy
        for worker in idle:
            _end(worker)

    @contextmanager
    def _lent(self, module: str) -> Iterator[WorkerProcess]:
        """Lend a worker with the present options; one that fails during the call is replaced."""
        worker = self._take(module)
        try:
            self._bring_up_to_date(worker)
            yield worker
            worker.modules.add(module)
        except BaseException:
            worker.kill()
            if not self._give_back(worker, useful=False):
                worker.end()
            raise
        if not self._give_back(worker, useful=True):
            _end(worker)

    def _give_back(self, worker: WorkerProcess, *, useful: bool) -> bool:
        """Take a worker back from a call; return whether it is kept for others."""
        with self._news:
            self._busy.discard(worker)
            kept = useful and worker not in self._retired
            self._retired.discard(worker)
            if kept:
                self._idle.append(worker)
            self._news.notify()
        return kept

    def _take(self, module: str) -> WorkerProcess:
        """Return an idle worker, preferably with the module loaded; else wait a little, and start another one."""
        call = current.get(None)
        token = call.cancel if call is not None else None
        until = time.monotonic() + _START
        with self._news:
            while not self._idle:
                number = len(self._busy) + self._starting
                if not number or (number < self._most and time.monotonic() >= until):
                    break
                self._news.wait(_LOOK)
                if token is not None:
                    token.check()
            if self._idle:
                worker = next((each for each in self._idle if module in each.modules), self._idle[-1])
                self._idle.remove(worker)
                self._busy.add(worker)
                return worker
            self._starting += 1
        try:
            return self._start()
        finally:
            with self._news:
                self._starting -= 1
                self._news.notify()

    def _start(self) -> WorkerProcess:
        try:
            worker = WorkerProcess(self.salt())
        except OSError as error:
            raise LostInSalt(f"the worker for modules of Salt cannot be started: {error}") from None
        with self._news:
            self._busy.add(worker)
        return worker

    def _bring_up_to_date(self, worker: WorkerProcess) -> None:
        """Give a worker the present options, unless it has them. Raises SaltMissing if Salt does not load."""
        generation, frame = self._set_up
        if generation != self._generation:
            generation = self._generation
            frame = wire.encode({"do": "set up", "opts": self._options(), "folders": self._tree_folders()})
            self._set_up = (generation, frame)
        if worker.generation == generation:
            return
        try:
            answer = worker.request(frame, _nothing, seconds=PATIENCE)
        except WorkerEnded as ended:
            raise LostInSalt(f"Salt does not load in {self.salt().argv[0]}: {ended}") from None
        if "error" in answer:
            raise LostInSalt(f"Salt does not load in {self.salt().argv[0]}: {answer['error']['trace']}")
        worker.generation = generation
        worker.modules.clear()


def _end(worker: WorkerProcess) -> None:
    """End an idle worker, in the background if a thread can start."""
    try:
        Thread(target=worker.end, name=f"end-{worker.pid}").start()
    except RuntimeError:
        worker.end()


@contextmanager
def _cut_off_with(worker: WorkerProcess, mark: int, token: CancelToken | None) -> Iterator[None]:
    """End the worker, and the programs that this call has started in it, when the call is cancelled."""
    note_started(mark)
    belong(Lineage(mark, worker.pid, shared=True), token)
    release = token.on_cancel(worker.kill) if token is not None else None
    try:
        yield
    finally:
        if release is not None:
            release()


def _shared(call: CallContext) -> dict[str, Any]:
    """Return the shared entries of ``__context__``: data, but no caches of bundled modules."""
    return {
        key: value
        for key, value in list(call.context.items())
        if isinstance(key, str) and not key.startswith(_OWN_CACHES) and wire.is_portable(value)
    }


def _asked(call: CallContext, what: Any) -> Any:
    """Return the rows of this host, or the row of one tag, perhaps of another host, or all low data."""
    if isinstance(what, dict):
        row = call.running.get(str(what.get("row")))
        return row if row is None else dict(row)
    if what == "running":
        return {tag: dict(row) for tag, row in call.running.items()}
    return [dict(low) for low in call.lowstate]


def _nothing(what: Any) -> Any:
    raise ValueError(f"it asked for {what} outside a call")


def _value(answer: dict[str, Any], name: str) -> Any:
    """Return the value of a function's answer, or raise its exception."""
    if "error" in answer:
        raise failure_of(name, answer["error"])
    return answer["ok"]


def _kept(args: list[Any], changed: list[Any], returned: Any) -> Any:
    """Apply a hook's changes of its arguments in place here, too; return its result, or the caller's ``low``."""
    for own, other in zip(args, changed, strict=False):
        if isinstance(own, dict) and isinstance(other, dict) and own != other:
            own.clear()
            own.update(other)
        elif isinstance(own, list) and isinstance(other, list):
            for mine, its in zip(own, other, strict=False):
                if isinstance(mine, dict) and isinstance(its, dict) and mine != its:
                    mine.clear()
                    mine.update(its)
    return args[0] if changed and returned == changed[0] else returned
