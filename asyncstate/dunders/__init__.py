"""The double-underscore names plugins see: ``__salt__``, ``__opts__``, ``__pillar__`` and their kin.

Each is a proxy over one context variable, so a plugin file is imported once per process and still sees, in every call,
the runtime and the chunk it is called for. Bundled plugins import the names from here; a stock Salt-style file gets the
same objects put into its namespace when it is loaded.

From here a state also gets the functions that make its row (`asyncstate.dunders.rows`), and `is_dry_run`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from asyncstate.dunders.rows import Row as Row
from asyncstate.dunders.rows import changed as changed
from asyncstate.dunders.rows import failed as failed
from asyncstate.dunders.rows import make_row as make_row
from asyncstate.dunders.rows import unchanged as unchanged
from asyncstate.dunders.rows import would_change as would_change
from asyncstate.errors import RunCancelled

if TYPE_CHECKING:
    import asyncio
    import threading
    from collections.abc import Callable

log = logging.getLogger(__name__)


class OptsOverlay(dict[str, Any]):
    """One chunk's copy of the options: its writes stay its own.

    A real dict, because plugins pass ``__opts__`` on to code that asks for one.
    """


class CancelToken:
    """Tells code in a worker thread that nobody waits for it any more.

    ``on_cancel`` registers what to undo at once (kill a process group); ``check`` raises RunCancelled. Every method may
    be called from any thread; what is registered is called exactly once. ``parent`` is the token of the call that this
    one is a part of. ``overdue`` are the threads of the whole call that run on although their awaiting task was
    cancelled: a future each, done when the thread has returned.
    """

    __slots__ = ("__weakref__", "_callbacks", "overdue", "parent", "reason")

    def __init__(self, parent: CancelToken | None = None) -> None:
        self.reason = ""
        self.parent = parent
        self.overdue: list[asyncio.Future[None]] = [] if parent is None else parent.overdue
        self._callbacks: dict[object, Callable[[], object]] = {}

    def cancel(self, reason: str) -> None:
        """Set the reason and call what was registered. Later calls change nothing."""
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
        """Register ``callback``; the return value takes it back. Called at once if already cancelled."""
        key = object()
        self._callbacks[key] = callback
        if self.reason:
            self._call(key)

        def release() -> None:
            self._callbacks.pop(key, None)

        return release

    def _call(self, key: object) -> None:
        """Call one callback, unless another thread took it first. One that fails must not keep the others waiting."""
        callback = self._callbacks.pop(key, None)
        if callback is None:
            return
        try:
            callback()
        except Exception:
            log.exception("a clean-up after a cancellation failed")


class _CallState:
    """What a call leaves behind, seen by every context that stands for the same call."""

    __slots__ = ("done", "opts", "retcode")

    def __init__(self) -> None:
        self.opts: dict[str, Any] | None = None
        self.retcode = 0
        self.done: dict[str, str] = {}


class CallContext:
    """What one call sees. ``test`` is laid over the options of the runtime for this call alone."""

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
        loaders: Any = None,
        file_client: Any = None,
        serializers: Mapping[str, Any] | None = None,
        low: Mapping[str, Any] | None = None,
        running: Mapping[str, Any] | None = None,
        lowstate: Any = (),
        env: str = "base",
        sls: str = "",
        test: bool | None = None,
        instance_id: str = "",
        user: str = "root",
        cancel: CancelToken | None = None,
        secrets: Any = None,
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
        self.loaders = loaders
        self.file_client = file_client
        self.serializers: Mapping[str, Any] = serializers if serializers is not None else {}
        self.proxy: Mapping[str, Any] = {}
        self.low: Mapping[str, Any] = low if low is not None else {}
        self.running: Mapping[str, Any] = running if running is not None else {}
        self.lowstate = lowstate
        self.env = env
        self.sls = sls
        self.test = bool(opts.get("test")) if test is None else test
        self.instance_id = instance_id
        self.user = user
        self.cancel = cancel
        self.runas: str | None = None
        self.umask: int | None = None

    @property
    def opts(self) -> dict[str, Any]:
        """The options with this call's ``test`` on top; made on first use."""
        state = self._state
        if state.opts is None:
            state.opts = OptsOverlay(self.base_opts)
            state.opts["test"] = self.test
        return state.opts

    @property
    def retcode(self) -> int:
        """Exit status of the last command this call ran: what Salt keeps in ``__context__["retcode"]``."""
        return self._state.retcode

    @retcode.setter
    def retcode(self, value: int) -> None:
        self._state.retcode = value

    @property
    def done(self) -> dict[str, str]:
        """What this call has done to the file system so far: `asyncstate.filesystem.changes_so_far` reads it."""
        return self._state.done

    def derive(self, **changes: Any) -> CallContext:
        """Return the context of another call, like this one but for ``changes``; its options overlay starts anew."""
        known = self.__dict__
        if not changes.keys() <= known.keys():
            raise TypeError(f"a call context has no {', '.join(sorted(changes.keys() - known.keys()))}")
        return self._copy({**changes, "_state": _CallState()})

    def cancelled_by(self, token: CancelToken) -> CallContext:
        """Return a context for a part of this call that ``token`` can cancel; it shares everything else."""
        return self._copy({"cancel": token})

    def _copy(self, changes: dict[str, Any]) -> CallContext:
        other = object.__new__(CallContext)
        other.__dict__ = {**self.__dict__, **changes}
        return other


current: ContextVar[CallContext] = ContextVar("asyncstate_call")
"""The context of the call under way. LookupError outside any call."""


class _MappingDunder(MutableMapping[str, Any]):
    """Forwards to a mapping of the current context."""

    __slots__ = ("_attribute",)

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute

    def _target(self) -> Any:
        return getattr(current.get(), self._attribute)

    def value(self) -> Any:
        """Return the object behind the proxy, for code that needs the very dict."""
        return self._target()

    def __getitem__(self, key: str) -> Any:
        return self._target()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._target()[key] = value

    def __delitem__(self, key: str) -> None:
        del self._target()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._target())

    def __len__(self) -> int:
        return len(self._target())

    def __contains__(self, key: object) -> bool:
        return key in self._target()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target(), name)

    def __copy__(self) -> Any:
        return dict(self._target())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        import copy  # noqa: PLC0415 - only plugins that copy their options need it

        return copy.deepcopy(self._target(), memo)

    def __repr__(self) -> str:
        try:
            return repr(self._target())
        except LookupError:
            return f"<{self._attribute} outside any call>"

    def __bool__(self) -> bool:
        return bool(self._target())

    def __eq__(self, other: object) -> bool:
        return bool(self._target() == (other.value() if isinstance(other, _MappingDunder) else other))

    __hash__ = None  # type: ignore[assignment]  # a mapping, like the dict it stands for


class _ContextDunder(_MappingDunder):
    """``__context__``, in which ``retcode`` is of the call under way: other calls run at the same time."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        return current.get().retcode if key == "retcode" else super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "retcode":
            current.get().retcode = value
        else:
            super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        if key == "retcode":
            current.get().retcode = 0
        else:
            super().__delitem__(key)

    def __contains__(self, key: object) -> bool:
        return key == "retcode" or super().__contains__(key)


class _TextDunder:
    """Forwards to a string of the current context: ``str(__env__)``, comparison, formatting."""

    __slots__ = ("_attribute",)

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute

    def value(self) -> str:
        """Return the text behind the proxy."""
        return str(getattr(current.get(), self._attribute))

    __str__ = __repr__ = value

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __bool__(self) -> bool:
        return bool(str(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(str(self), name)


__salt__ = _MappingDunder("salt")
__states__ = _MappingDunder("states")
__utils__ = _MappingDunder("utils")
__opts__ = _MappingDunder("opts")
__grains__ = _MappingDunder("grains")
__pillar__ = _MappingDunder("pillar")
__context__ = _ContextDunder("context")
__low__ = _MappingDunder("low")
__running__ = _MappingDunder("running")
__lowstate__ = _MappingDunder("lowstate")
__env__ = _TextDunder("env")
__sls__ = _TextDunder("sls")
__instance_id__ = _TextDunder("instance_id")
__user__ = _TextDunder("user")
__file_client__ = _MappingDunder("file_client")
__serializers__ = _MappingDunder("serializers")
__proxy__ = _MappingDunder("proxy")
__orig_opts__ = _MappingDunder("base_opts")

_PROXIES = (_MappingDunder, _TextDunder)

INJECTED: dict[str, Any] = {
    name: value for name, value in list(globals().items()) if isinstance(value, _PROXIES) and name.startswith("__")
} | {"__salt_loader__": None, "__salt_system_encoding__": "utf-8"}
"""What the loader puts into the namespace of a stock Salt-style file."""


def is_mapping_dunder(value: object) -> bool:
    """Whether ``value`` is one of the names that stand for a dict: a plugin takes it for that dict."""
    return type(value) in (_MappingDunder, _ContextDunder)


_ATOMS = frozenset({str, bool, int, float, bytes, type(None)})


def resolved(value: Any) -> Any:
    """Return ``value`` with every dunder in it replaced by what it stands for now.

    To be applied to what a plugin returned (``"changes": {"env": __env__}``) while its context is current: afterwards
    the proxies mean nothing. Dicts and lists are changed in place.
    """
    box = [value]
    stack: list[Any] = [box]
    seen: set[int] = set()
    while stack:
        container = stack.pop()
        if id(container) in seen:
            continue
        seen.add(id(container))
        for key, item in container.items() if isinstance(container, dict) else enumerate(container):
            if type(item) in _ATOMS:
                continue
            if isinstance(item, tuple) and any(isinstance(part, _PROXIES) for part in item):
                container[key] = tuple(map(resolved, item))
            elif isinstance(item, _PROXIES):
                container[key] = item.value()
            elif isinstance(item, (dict, list)):
                stack.append(item)
    return box[0]


def hide(text: str) -> None:
    """Show ``text`` nowhere from now on: not in rows, events, reports, logs and errors of this runtime.

    For plugins that decrypt, or fetch what nobody shall read: a renderer in ``_renderers``, a module that asks a vault.
    Outside a call there is no runtime that could know it.
    """
    context = current.get(None)
    if context is not None and context.secrets is not None:
        context.secrets.add(text)


def is_dry_run() -> bool:
    """Tell whether the call under way must change nothing, only say what it would change. LookupError outside any call.

    Every state asks it before the first thing that it changes, and returns `would_change` where it is true.
    """
    return bool(__opts__["test"])


def check_cancelled() -> None:
    """Raise RunCancelled when the call under way is no longer waited for."""
    context = current.get(None)
    if context is not None and context.cancel is not None:
        context.cancel.check()


class SharedContext(dict[str, Any]):
    """``__context__``: one dict per runtime, shared by all its chunks, however many run at once."""

    def __init__(self, lock: threading.RLock) -> None:
        super().__init__()
        self._lock = lock

    def once(self, key: str, factory: Callable[[], Any]) -> Any:
        """Return ``self[key]``, made by ``factory`` if absent; never made twice, even by chunks that run at once."""
        with self._lock:
            if key not in self:
                self[key] = factory()
            return self[key]
