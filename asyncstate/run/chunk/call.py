"""One call of a state function, from low data to a row: arguments, conditions, the function, check_cmd, time limit.

    arguments ──▶ slots ──▶ onlyif, unless, creates ──▶ function ──▶ check_cmd ──▶ well-formed row ──▶ reload modules
    ╰──────────────────── limited by timeout ────────────────╯

A skipped state goes on with check_cmd.

This is the boundary between engine and plugins. Whatever a plugin does, returns or raises, each call ends in one
well-formed row, and no effect of a plugin on its task or its data reaches another call. A plugin may cancel its own
task; undoing that needs asyncio, as anyio has no interface for it.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from asyncstate.dunders.context import CallContext, CancelToken, current
from asyncstate.errors import ArgumentError, FunctionNotFound, PathRefused
from asyncstate.interfaces import SMINotImplementedError
from asyncstate.load.call import MissingParameters, bind
from asyncstate.load.plugin import described
from asyncstate.load.threads import Strand
from asyncstate.logs.fields import log_as
from asyncstate.model.chunk import MOD_RUN_CHECK, MOD_RUN_CHECK_CMD, MOD_WATCH, has_slot
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import CONDITIONS_BEFORE
from asyncstate.model.result import in_template
from asyncstate.process.ending import has_started, release
from asyncstate.run.rows import (
    LowStateView,
    exception_row,
    failed_row,
    keep_deeds,
    mocked_row,
    normalise,
    overdue_row,
    refuse_forgotten,
    unverified_row,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from asyncstate.dunders.context import Additions
    from asyncstate.guard.event_loop import LoopWatch
    from asyncstate.load.host import PluginHost
    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.prefetch import Prefetched
    from asyncstate.run.dispatch import Supervisor
    from asyncstate.run.machine import Work
    from asyncstate.run.rows import RunningView

_CHECK = NodeKind.CHECK
_REFRESHING_MODULES = frozenset({"pkg", "ports", "pip"})
_RELOADS = frozenset({"reload_grains", "reload_pillar", "force_reload_modules"})
"""Arguments that force a reload even if the state has changed nothing."""
_MODULE_SUFFIXES = (".py", ".pyx", ".pyo", ".pyc", ".so")


class Caller:
    """Calls state functions and hooks for one run. ``running`` is the view of its rows that they get.

    ``mock`` replaces every state function by one that does nothing; conditions are evaluated, as in Salt.
    ``prefetched`` holds the prefetches of the run; None if there are none. ``misused`` gets the chunks whose arguments
    their functions never accept.
    """

    def __init__(
        self,
        plan: Plan,
        host: PluginHost,
        supervisor: Supervisor,
        running: RunningView,
        *,
        test: bool,
        mock: bool = False,
        watch: LoopWatch | None = None,
        prefetched: Prefetched | None = None,
        misused: set[int],
    ) -> None:
        self.host = host
        self.test = test
        self.running = running
        self._supervisor = supervisor
        self._mock = mock
        self._watch = watch
        self._lowstate = LowStateView(plan.chunks)
        self._rank = plan.rank
        self._additions: dict[str, Additions] = {}
        self._functions: dict[str, LoadedFunction | None] = {}
        self._folder_strands: defaultdict[str, Strand] = defaultdict(Strand)
        self._function_strands: defaultdict[str, Strand] = defaultdict(partial(Strand, of_function=True))
        self._prefetched = prefetched
        self._misused = misused

    # looking up

    async def find(self, name: str) -> LoadedFunction | None:
        """Return a function, looked up once per run, in a thread: the first look-up imports the module."""
        if name not in self._functions:
            self._functions[name] = await self.host.workers.run(self.host.loaders["states"].find, name)
        return self._functions[name]

    async def has(self, state: str, fun: str) -> bool:
        """Whether a state module has a function."""
        return await self.find(f"{state}.{fun}") is not None

    def _not_found(self, name: str, chunk: LowChunk, given: str) -> Row:
        """Return the row of a state whose function does not exist."""
        try:
            self.host.loaders["states"].get(name)
        except FunctionNotFound as error:
            reason, suggestion = error.reason, error.suggestion
        else:  # another state has just had the modules loaded again
            reason = suggestion = ""
        said = f"Specified state '{name}' was not found\n"
        if chunk.sls:
            said = f"State '{name}' was not found in SLS '{chunk.sls}'\nReason: {reason}\n"
        row = unverified_row(given, said)
        if not suggestion or name.endswith(f".{MOD_WATCH}"):  # a listener needs it; the tree does not name it
            return row
        return {**row, "warnings": [f"Did you mean {suggestion!r}?"]}

    # calling

    async def call(self, work: Work, chunk: LowChunk, low: dict[str, Any], *, early: bool = False) -> Row:
        """Call the function that ``low`` names, once. ``low`` belongs to this call, which may change it.

        ``early``: the row may be recorded before the call has returned, if it exceeds its time limit.
        """
        began, clock = datetime.now(), perf_counter()  # noqa: DTZ005 - Salt's rows carry local time of day
        name, fun = low["name"], low["fun"]
        before, ended = current.get(None), True
        function: LoadedFunction | None = None
        try:
            function = self._functions.get(f"{chunk.state}.{fun}") or await self.find(f"{chunk.state}.{fun}")
            returned = await self._prepared(work, chunk, low, function, early=early)
        except BaseException as error:  # noqa: BLE001 - a state may raise anything, SystemExit included
            self.raised(error, chunk)
            ended = False
            returned = self._known_error_row(chunk, low, function, error) or exception_row(name, error)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await self._forget_cancellation(task)
        context = current.get(None)
        token = context.cancel if context is not None else None
        if token is not None and not token.reason and has_started(token):  # by conditions, or by an async function
            await self.host.workers.run(release, token)
        row = normalise(returned, name)
        if row["result"] is False:
            # A state of the tree that returned reports its changes itself: its row stays as in Salt.
            if context is not before and not (ended and function is not None and not function.module.bundled):
                keep_deeds(row)
            _name_template(row)
        row["start_time"] = began.time().isoformat()
        row["duration"] = round((perf_counter() - clock) * 1000, 3)
        row.setdefault("__id__", chunk.id)
        row.setdefault("__sls__", chunk.sls or None)
        if work.kind is not _CHECK and (row["changes"] or not _RELOADS.isdisjoint(chunk.args)):
            try:
                await self._refresh(chunk, fun, name, row)
            except BaseException as error:  # noqa: BLE001 - a pillar that no longer renders is this state's failure
                self.raised(error)
                row["result"] = False
                said = exception_row(name, error)["comment"]
                row["comment"] = f"{row['comment']}\n{said}" if row["comment"] else said
        return row

    async def call_hook(self, function: LoadedFunction, args: tuple[Any, ...], chunk: LowChunk) -> Any:
        """Call one of a module's hooks: mod_init, mod_aggregate, mod_aggregate_split. Raises the hook's errors."""
        log_as(chunk)
        current.set(self.context(chunk.index, chunk, chunk.as_low(), {}, check=False))
        if function.is_async:
            returned = await self._contained(chunk, self._on_loop(function, function.func, args, {}))
        else:
            returned = await self._contained(chunk, self.host.workers.run(function.func, *args))
        refuse_forgotten(returned)
        return returned

    async def conditions_hold(self, chunk: LowChunk) -> bool:
        """Whether the conditions of a chunk let it run. If evaluating them fails, they do not."""
        low = chunk.as_low()
        if not _has_conditions(low) or await self.has(chunk.state, MOD_RUN_CHECK):
            return True
        from asyncstate.run.chunk.conditions import check_conditions  # noqa: PLC0415 - few states have any

        log_as(chunk)
        current.set(self.context(chunk.index, chunk, low, {}, check=False))
        try:
            answer = await self._contained(chunk, self.host.workers.run(check_conditions, low, self.host.salt))
        except BaseException as error:  # noqa: BLE001 - the chunk's own row will say what is wrong
            self.raised(error)
            return False
        return answer is None

    def raised(self, error: BaseException, chunk: LowChunk | None = None) -> None:
        """Raise ``error`` again if it cancels the run. A CancelledError that a plugin raises itself is a failure."""
        if not isinstance(error, (asyncio.CancelledError, GeneratorExit)):
            return
        context = current.get(None)
        token = context.cancel if context is not None else None
        # asyncio.run cancels all tasks of a program that gives up, this one perhaps before the task of the run.
        left = token is not None and any(not call.done() for call in token.overdue)
        if chunk is not None and token is not None and (left or self._supervisor.cut):
            token.cancel(str(error))  # also ends what the call started earlier and left running
            self._supervisor.left_running(chunk, token.overdue)
        if self._supervisor.cut:
            raise error

    async def _contained(self, chunk: LowChunk, pending: Awaitable[Any]) -> Any:
        """Await a call of a plugin. If the plugin cancels the task it runs in, nothing else is cancelled."""
        try:
            return await pending
        except BaseException as error:
            self.raised(error, chunk)
            raise
        finally:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                await self._forget_cancellation(task)

    async def _forget_cancellation(self, task: asyncio.Task[Any]) -> None:
        """Remove a cancellation that a plugin requested from a task, before it takes effect.

        A cancellation of the run stays: it is raised at the next await, or has already made the plugin return.
        """
        if self._supervisor.cut:
            return
        while task.uncancel():
            pass
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self._supervisor.cut:
                raise

    async def _prepared(
        self,
        work: Work,
        chunk: LowChunk,
        low: dict[str, Any],
        function: LoadedFunction | None,
        *,
        early: bool,
    ) -> Any:
        given = low["name"]
        if given and not isinstance(given, str):
            self._misused.add(chunk.index)
            what = f"is not formed as a string, but is a {type(given).__name__}"
            return unverified_row(given, f"ID '{given}' in SLS '{low.get('__sls__')}' {what}\n")
        umask = None
        if "umask" in low:
            text = low.pop("umask")
            try:
                umask = int(str(text), 8)
            except ValueError:
                self._misused.add(chunk.index)
                return unverified_row(given, f"Invalid umask: {text}\n")
        name = f"{chunk.state}.{low['fun']}"
        if function is None:
            return await self.host.workers.run(self._not_found, name, chunk, given)
        try:
            seconds = _own_timeout(low, function) if "timeout" in low else None
            # The arguments of a state need not fit its mod_watch.
            args, kwargs = bind(function, low, lenient=low["fun"] == MOD_WATCH)
        except ArgumentError as error:
            self._misused.add(chunk.index)
            make = unverified_row if isinstance(error, MissingParameters) else failed_row
            return make(given, _argument_error_text(error))
        context = self.context(work.node, chunk, low, kwargs, check=work.kind is _CHECK)
        context.umask = umask
        current.set(context)
        if seconds is None:
            return _anonymous(await self._execute(function, args, kwargs, low))

        from asyncstate.run.chunk.time_limit import TimeLimit  # noqa: PLC0415 - few states have one

        def late() -> None:
            self._supervisor.overrun(work, chunk, overdue_row(given, too_long), final=early)

        too_long = f"The state did not end within {seconds:g} seconds"
        token = context.cancel or CancelToken()
        async with TimeLimit(seconds, token, cut=lambda: self._supervisor.cut, is_late=late) as limit:
            returned = _anonymous(await self._execute(function, args, kwargs, low))
        if not limit.expired:
            return returned
        if limit.late:
            await self._supervisor.returned(work)
        if limit.told:
            return failed_row(given, f"{too_long}. It was told to stop, and ended after {limit.seconds:.1f} seconds.")
        return failed_row(given, f"{too_long} and was stopped.")

    async def _execute(
        self, function: LoadedFunction, args: list[Any], kwargs: dict[str, Any], low: dict[str, Any]
    ) -> Any:
        """Run conditions, function and check_cmd, all in one thread; an async function runs on the loop."""
        salt = self.host.salt
        conditions = _has_conditions(low) and not await self.has(low["state"], MOD_RUN_CHECK)
        checks = "check_cmd" in low and await self._generic_check(function, low["state"])
        if has_slot((*args, *kwargs.values())):
            from asyncstate.run.chunk.slots import fill_slots  # noqa: PLC0415 - few states have any

            args, kwargs = await self.host.workers.run(fill_slots, args, kwargs, salt)
        func, is_async = function.func, function.is_async
        if conditions or checks:
            from asyncstate.run.chunk.conditions import check_conditions, checked  # noqa: PLC0415 - few states have any
        if rules := self.host.opts.get("global_state_conditions"):
            from asyncstate.run.chunk.conditions import globally_allowed, not_allowed  # noqa: PLC0415 - few trees have any

            if not globally_allowed(low, rules, self.host.services.match):
                func, is_async, args, kwargs = not_allowed, False, [low["name"]], {}
        if self._mock:
            func, is_async, args, kwargs = mocked_row, False, [low["name"]], {}
        if not is_async:
            context = current.get()

            def in_thread() -> Any:
                try:
                    returned = check_conditions(low, salt) if conditions else None
                    if returned is None and context.umask is not None:
                        from asyncstate.run.chunk.umask import call_with_umask  # noqa: PLC0415 - few states have one

                        returned = call_with_umask(context.umask, func, *args, **kwargs)
                    elif returned is None:
                        returned = func(*args, **kwargs)
                    return checked(returned, low, salt) if checks else returned
                finally:
                    if context.cancel is not None:
                        release(context.cancel)

            # Short calls that change one folder share a thread, and so do quick ones of one function.
            if low["state"] == "file":
                strand = self._folder_strands[str(low["name"]).rpartition("/")[0]]
            else:
                strand = self._function_strands[function.name]
            return await self.host.workers.run(in_thread, strand=strand)
        returned = await self.host.workers.run(check_conditions, low, salt) if conditions else None
        if returned is None:
            returned = await self._on_loop(function, func, args, kwargs)
        return await self.host.workers.run(checked, returned, low, salt) if checks else returned

    def _on_loop(self, function: LoadedFunction, func: Any, args: Any, kwargs: Any) -> Awaitable[Any]:
        pending: Awaitable[Any] = func(*args, **kwargs)
        if self._watch is None or function.module.bundled:  # ours only await
            return pending
        return self._watch.watched(function, pending)

    async def _generic_check(self, function: LoadedFunction, state: str) -> bool:
        """Whether the engine runs ``check_cmd``.

        As in Salt, a module with ``mod_run_check_cmd`` does it itself if its function takes ``check_cmd``.
        """
        return not function.signature.accepts("check_cmd") or not await self.has(state, MOD_RUN_CHECK_CMD)

    def context(
        self, node: int, chunk: LowChunk, low: dict[str, Any], kwargs: Mapping[str, Any], *, check: bool
    ) -> CallContext:
        """Return the context of one call for a node of the plan, with a cancel token of its own."""
        env = str(low.get("__env__") or "base")
        if not self.host.opts.get("lock_saltenv"):
            if "saltenv" in low:
                env = str(low["saltenv"])
            elif isinstance(kwargs.get("env"), str):
                env = kwargs["env"]
        return self.host.context(
            low=low,
            running=self.running,
            lowstate=self._lowstate,
            env=env,
            sls=chunk.sls,
            test=self.test or check,
            cancel=CancelToken(),
            rank=self._rank[node],
            additions=self._additions,
            runas=low.get("runas"),
            prefetched=self._prefetched,
        )

    def _known_error_row(
        self, chunk: LowChunk, low: dict[str, Any], function: LoadedFunction | None, error: BaseException
    ) -> dict[str, Any] | None:
        """Return a row that names the wrong arguments of a bundled state, or the failure outside of it.

        None for all other errors, such as a refused path: `exception_row` makes their row. States of other authors, and
        bugs in bundled states, show a traceback. A function that a provider lacks is not a mistake of the state that
        calls it: the row has the text of that error. ``function`` is the one that was called: by now, another state may
        have had the modules loaded again.
        """
        if isinstance(error, PathRefused):
            return None
        if isinstance(error, SMINotImplementedError):
            return failed_row(chunk.name, str(error))
        if function is None or not function.module.bundled:
            return None
        fun = low["sfun"] if low["fun"] == MOD_WATCH and "sfun" in low else low["fun"]
        meant = function.module.functions.get(fun)
        if meant is None:
            return None
        from asyncstate.run.chunk.argument_errors import cause_in_words, wrong_use  # noqa: PLC0415 - an error

        wrong = wrong_use(meant.func, low, error)
        if wrong:
            self._misused.add(chunk.index)
        said = wrong or cause_in_words(error)
        return failed_row(chunk.name, said) if said else None

    # afterwards

    async def _refresh(self, chunk: LowChunk, fun: str, name: Any, row: Row) -> None:
        """Reload modules where Salt does: if an argument demands it, or after changes that may install some."""
        args = chunk.args
        if args.get("reload_grains") or args.get("reload_pillar"):
            grains, pillar = bool(args.get("reload_grains")), bool(args.get("reload_pillar"))
            await self.host.workers.run(partial(self.host.services.refresh, grains=grains, pillar=pillar))
        if not row["changes"]:
            if args.get("force_reload_modules"):
                self._reload()
        elif args.get("reload_modules") or chunk.state in _REFRESHING_MODULES or _brings_modules(chunk, fun, name):
            self._reload()

    def _reload(self) -> None:
        self.host.reload()
        self._functions.clear()


def _name_template(row: Row) -> None:
    """Name the template in a failed row that could not render it: the row's place is in the SLS file."""
    context = current.get(None)
    file, line, text = context.unrendered if context is not None else ("", 0, "")
    if file and line and text in str(row["comment"]):
        row["warnings"] = [*(row.get("warnings") or ()), in_template(file, line)]


def _brings_modules(chunk: LowChunk, fun: str, name: Any) -> bool:
    if chunk.state != "file" or not isinstance(name, str):
        return False
    return (
        fun == "recurse"
        or (fun == "managed" and name.endswith(_MODULE_SUFFIXES))
        or (fun == "symlink" and "bin" in name)
    )


def _argument_error_text(error: ArgumentError) -> str:
    hint = getattr(error, "hint", "")
    if isinstance(error, MissingParameters):
        return f"{error}\n"
    return f"{error}: {hint}" if hint else str(error)


def _anonymous(returned: Any) -> Any:
    """Remove ID and SLS: the function does not decide them, and a row from another state may contain them."""
    if isinstance(returned, dict) and not returned.keys().isdisjoint(("__id__", "__sls__")):
        return {key: value for key, value in returned.items() if key not in ("__id__", "__sls__")}
    return returned


def _own_timeout(low: dict[str, Any], function: LoadedFunction) -> float | None:
    """Remove the ``timeout`` that the engine enforces, and return it; None if the function has such an argument.

    A function with ``**kwargs`` still receives it. For any other, a value that is no number raises ArgumentError.
    """
    signature = function.signature
    if signature.accepts("timeout"):
        return None
    given = low["timeout"] if signature.has_kwargs else low.pop("timeout")
    try:
        seconds = float(given)
    except OverflowError:
        raise ArgumentError("'timeout' must not be so large a number") from None
    except (TypeError, ValueError):
        seconds = math.nan
    if not math.isnan(seconds):
        return seconds
    if signature.has_kwargs or given is None:
        return None
    raise ArgumentError(f"'timeout' must be a number of seconds, not {described(given)}")


def _has_conditions(low: Mapping[str, Any]) -> bool:
    """Whether low data has any of the three conditions."""
    return not low.keys().isdisjoint(CONDITIONS_BEFORE)
