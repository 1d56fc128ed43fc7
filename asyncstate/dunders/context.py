"""The call of a plugin that is under way: its context, its cancellation, its observer.

Context variables hold them while the call runs. Most calls have no observer. Bundled code that opens paths by
descriptors, or starts programs, notifies it; other accesses of plugins are seen by other means, or not at all.
"""

from __future__ import annotations

import logging
import os
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from asyncstate.errors import LoaderError, RunCancelled

if TYPE_CHECKING:
    import asyncio
    import threading
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableSet, Sequence

    from asyncstate.dunders.services import Services, TreeFiles

log: logging.Logger = logging.getLogger(__name__)

blocking: set[CancelToken] = set()
"""The tokens of work that a program awaits without an event loop. Another thread may cancel them."""


class CancelToken:
    """Tells code in a worker thread that its call was cancelled: the task that awaited it no longer does.

    ``on_cancel`` registers a callback that must run at once (to kill a process group); ``check`` raises RunCancelled.
    Every method may be called from any thread; a cancellation calls each callback exactly once. ``parent`` is the token
    of the enclosing call. ``overdue`` has a future for each thread of the whole call that still runs
    although the task that awaited it was cancelled; the future is done when the thread has returned.
    """

    __slots__ = ("__weakref__", "_callbacks", "overdue", "parent", "reason")

    def __init__(self, parent: CancelToken | None = None) -> None:
        self.reason: str = ""
        self.parent: CancelToken | None = parent
        self.overdue: list[asyncio.Future[None]] = [] if parent is None else parent.overdue
        self._callbacks: dict[object, Callable[[], object]] = {}

    def cancel(self, reason: str) -> None:
        """Set the reason and call the registered callbacks. Later calls change nothing."""
        if self.reason:
            return
        self.reason = reason or "cancelled"
        for key in list(self._callbacks):
            self._call(key)

    def check(self) -> None:
        """Raise RunCancelled if the token was cancelled."""
        if self.reason:
            raise RunCancelled(self.reason)

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Register ``callback``; the return value unregisters it. Called at once if already cancelled."""
        key = object()
        self._callbacks[key] = callback
        if self.reason:
            self._call(key)

        def release() -> None:
            self._callbacks.pop(key, None)

        return release

    def _call(self, key: object) -> None:
        """Call one callback, unless another thread took it first. A callback that fails must not stop the others."""
        callback = self._callbacks.pop(key, None)
        if callback is None:
            return
        try:
            callback()
        except Exception:
            log.exception("a clean-up after a cancellation failed")


class SharedContext(dict[str, Any]):
    """``__context__``: one dict per runtime, shared by all its chunks, however many run at once.

    It is cleared after each run, as in a process that makes one run; only values that plugins write while they are
    loaded, which happens once, stay.
    """

    def __init__(self, lock: threading.RLock) -> None:
        super().__init__()
        self._lock = lock

    def once(self, key: str, factory: Callable[[], Any]) -> Any:
        """Return ``self[key]``, made by ``factory`` if absent; never made twice, even by chunks that run at once."""
        with self._lock:
            if key not in self:
                self[key] = factory()
            return self[key]


class LoadingContext(MutableMapping[str, Any]):
    """``__context__`` while plugins are loaded: the shared one, and a record of what they wrote."""

    def __init__(self, shared: SharedContext) -> None:
        self._shared = shared
        self._written: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        return self._shared[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._written.add(key)
        self._shared[key] = value

    def __delitem__(self, key: str) -> None:
        del self._shared[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shared)

    def __len__(self) -> int:
        return len(self._shared)

    def once(self, key: str, factory: Callable[[], Any]) -> Any:
        """Do what `SharedContext.once` does."""
        self._written.add(key)
        return self._shared.once(key, factory)

    def leave_only_this(self) -> None:
        """Remove from the shared dict everything that was not written here."""
        for key in self._shared.keys() - self._written:
            self._shared.pop(key, None)


class Additions:
    """The entries that a run has added to a file, each with the serial place of the last state that added it."""

    def __init__(self) -> None:
        self._rank: dict[Hashable, float] = {}

    def place(self, entries: Iterable[Hashable], key: Hashable, rank: float) -> int:
        """Return the index at which a state adds the entry ``key``, and record the addition.

        ``entries`` are the keys of the current lines of the file, in order, with None for a line without an entry.
        ``rank`` is the place of the state in the serial order. The index is that of the first entry added by a later
        state in this run, or the end: so any order of execution gives the file of the serial order, if states with the
        same key run in serial order, and so does each state that touches the whole file with all others.
        """
        place = 0
        for each in entries:
            if self._rank.get(each, rank) > rank:
                break
            place += 1
        self._rank[key] = rank
        return place


class _CallState(msgspec.Struct, eq=False):
    """The state that one call changes, shared by all contexts of the same call."""

    opts: dict[str, Any] | None = None
    retcode: int = 0
    done: dict[str, str] = {}
    unrendered: tuple[str, int, str] = ("", 0, "")


class CallContext:
    """The surroundings of one call of a plugin. ``test`` overrides the option of the runtime for this call alone.

    ``rank`` is the place of the call's chunk in the serial order, None outside a run; ``additions`` are the entries
    that the run has added to files so far. ``prefetched`` holds the prefetches of the run (`asyncstate.prefetch`), None
    if there are none.
    """

    def __init__(
        self,
        *,
        opts: dict[str, Any],
        grains: dict[str, Any],
        pillar: dict[str, Any],
        context: MutableMapping[str, Any],
        salt: Mapping[str, Any],
        states: Mapping[str, Any],
        utils: Mapping[str, Any],
        services: Services | None = None,
        file_client: TreeFiles | None = None,
        serializers: Mapping[str, Any] | None = None,
        low: Mapping[str, Any] | None = None,
        running: Mapping[str, Any] | None = None,
        lowstate: Sequence[Mapping[str, Any]] = (),
        env: str = "base",
        sls: str = "",
        test: bool | None = None,
        instance_id: str = "",
        user: str = "root",
        cancel: CancelToken | None = None,
        secrets: MutableSet[str] | None = None,
    ) -> None:
        self.base_opts = opts
        self.secrets = secrets
        self._state = _CallState()
        self.grains = grains
        self.pillar = pillar
        self.context = context
        self.salt = salt
        self.states = states
        self.utils = utils
        self.services = services
        self.file_client = file_client
        self.serializers: Mapping[str, Any] = serializers if serializers is not None else {}
        self.proxy: Mapping[str, Any] = {}
        self.low: Mapping[str, Any] = low if low is not None else {}
        self.running: Mapping[str, Any] = running if running is not None else {}
        self.lowstate = lowstate
        self.env = env
        self.sls = sls
        self.test: bool = bool(opts.get("test")) if test is None else test
        self.instance_id = instance_id
        self.user = user
        self.cancel = cancel
        self.runas: str | None = None
        self.umask: int | None = None
        self.rank: int | None = None
        self.prefetched: Any = None
        self.additions: dict[str, Additions] = {}

    @property
    def opts(self) -> dict[str, Any]:
        """A copy of the options with this call's ``test``, made on first use: no other call sees what this one writes.

        It is a dict, because plugins pass ``__opts__`` on to code that requires one.
        """
        state = self._state
        if state.opts is None:
            state.opts = {**self.base_opts, "test": self.test}
        return state.opts

    @property
    def retcode(self) -> int:
        """Exit status of the last command this call ran: Salt's ``__context__["retcode"]``."""
        return self._state.retcode

    @retcode.setter
    def retcode(self, value: int) -> None:
        self._state.retcode = value

    @property
    def unrendered(self) -> tuple[str, int, str]:
        """The last template that this call could not render: its file, the line, and the first line of the message."""
        return self._state.unrendered

    @unrendered.setter
    def unrendered(self, place: tuple[str, int, str]) -> None:
        self._state.unrendered = place

    @property
    def done(self) -> dict[str, str]:
        """The changes of this call to the file system so far: `asyncstate.filesystem.changes_so_far` reads it."""
        return self._state.done

    def derive(self, **changes: Any) -> CallContext:
        """Return the context of another call: this one with ``changes``, and a new overlay of the options."""
        other = object.__new__(CallContext)
        other.__dict__ = known = {**self.__dict__, **changes, "_state": _CallState()}
        if len(known) > len(self.__dict__):
            raise TypeError(f"a call context has no {', '.join(sorted(changes.keys() - self.__dict__.keys()))}")
        return other

    def cancelled_by(self, token: CancelToken) -> CallContext:
        """Return a context for a part of this call that ``token`` can cancel; it shares everything else."""
        other = object.__new__(CallContext)
        other.__dict__ = {**self.__dict__, "cancel": token}
        return other


current: ContextVar[CallContext] = ContextVar("asyncstate_call")
"""The context of the call under way. LookupError outside any call."""


thread_token: ContextVar[CancelToken | None] = ContextVar("asyncstate_thread", default=None)
"""The token of work in a thread that belongs to no call, such as compiling. None outside such work."""


def runtime_services(call: CallContext | None = None) -> Services:
    """Return the services of the runtime that makes the call under way, or ``call``.

    Raises LoaderError without a runtime.
    """
    context = call or current.get(None)
    if context is None or context.services is None:
        raise LoaderError(
            "this function needs a runtime: call it through a StateRuntime or the command line, or give the "
            "CallContext of a test its `services`"
        )
    return context.services


def tree_files() -> TreeFiles:
    """Return the files of the tree of the call under way. LookupError outside any call; LoaderError without a tree."""
    files = current.get().file_client
    if files is None:
        raise LoaderError("this call has no file roots: give the CallContext of a test a `file_client`")
    return files


def hide(text: str) -> None:
    """Hide ``text`` from now on in the rows, events, reports, logs and errors of this runtime.

    For plugins that decrypt or fetch secrets: a renderer in ``_renderers``, a module that queries a vault. Outside a
    call it does nothing, as there is no runtime.
    """
    context = current.get(None)
    if context is not None and context.secrets is not None:
        context.secrets.add(text)


def is_dry_run() -> bool:
    """Return whether this call must change nothing and only report what it would change. LookupError outside any call.

    Every state checks it before its first change, and returns `would_change` if it is true.
    """
    return bool(current.get().opts["test"])


def check_cancelled() -> None:
    """Raise RunCancelled if the call under way was cancelled."""
    context = current.get(None)
    if context is not None and context.cancel is not None:
        context.cancel.check()


Deed = Literal["created", "changed", "removed", "removed in part"]
"""A change of a path."""
Look = Literal["looked", "absent", "listed", "ensured"]
"""Other ways to touch a path: it was read or queried and exists, or does not; the names in it were read; it is a
folder that would have been made if it had been missing."""


class Followed(Protocol):
    """A program that is about to be started, and is followed."""

    @property
    def argv(self) -> Sequence[str]:
        """The command to start in place of the program: it runs the program as the same process."""

    def ended(self) -> None:
        """Record the effects of the program. Called once, whether it ended or could not be started."""


class Observer(Protocol):
    """Receives the deeds of a call; its methods may be called from several threads at once, and never raise."""

    def saw(self, path: str, how: Deed | Look) -> None:
        """Record that an absolute path was touched."""

    def follow(
        self,
        argv: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        account: Mapping[str, Any] | None,
    ) -> Followed | None:
        """Return how to start a program so that it is followed, or None to start it as it is."""

    def missed(self, program: str) -> None:
        """Record that a program works for the call but cannot be followed, as it runs already."""


observer: ContextVar[Observer | None] = ContextVar("asyncstate_observer", default=None)
"""The observer of the call under way."""


def seen(path: str, how: Look = "looked") -> None:
    """Report that a path is about to be looked at; it may be relative, and need not exist."""
    watching = observer.get()
    if watching is not None:
        watching.saw(os.path.abspath(path), how)
