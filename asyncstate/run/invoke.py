"""One chunk, from its verdict to its row: mod_init, conditions, the function, check_cmd, retry, mod_watch.

What happens when a watched state changed: the gate's verdict is CHANGE; the state function is called as always, and if
it changed nothing itself (and was not skipped), ``mod_watch`` of its module is called with the same low data,
``sfun`` naming the function and ``__reqs__`` what it watches. That call's return is the row.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import CallContext, CancelToken, current
from asyncstate.errors import ArgumentError, FunctionNotFound
from asyncstate.load.call import MissingParameters, bind
from asyncstate.load.plugin import LoadedFunction
from asyncstate.model.chunk import LowChunk, fresh
from asyncstate.model.plan import NodeKind
from asyncstate.run.aggregation import Aggregation
from asyncstate.run.conditions import (
    check_commands,
    check_conditions,
    globally_allowed,
    has_conditions,
    not_allowed,
)
from asyncstate.run.gate import Verdict
from asyncstate.run.misfits import in_words, is_trip, misfits
from asyncstate.run.retry import RetryPolicy
from asyncstate.run.rows import (
    exception_row,
    failed_row,
    mocked_row,
    normalise,
    not_run_row,
    unverified_row,
)
from asyncstate.run.slots import fill_slots, has_slot
from asyncstate.run.umask import thread_umask
from asyncstate.run.views import LowStateView, RunningView

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from asyncstate.load.host import PluginHost
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.run.machine import Work

_REFRESHING_MODULES = frozenset({"pkg", "ports", "pip"})
_MODULE_SUFFIXES = (".py", ".pyx", ".pyo", ".pyc", ".so")


class Invoker:
    """Calls state functions for one run. ``rows`` are the results so far, shared with the engine that fills them.

    With ``mock`` every state function is replaced by one that does nothing; conditions are asked, as in Salt.
    """

    def __init__(
        self,
        plan: Plan,
        host: PluginHost,
        rows: Mapping[str, Row],
        *,
        test: bool,
        pause: Callable[[LowChunk, int, Row, float], Awaitable[None]],
        mock: bool = False,
    ) -> None:
        self.plan = plan
        self.host = host
        self.test = test
        self._mock = mock
        self.aggregation = Aggregation(self)
        self._checks: dict[int, Row] = {}
        self._pause = pause
        self._functions: dict[str, LoadedFunction | FunctionNotFound] = {}
        self._initialised: set[str] = set()
        self._init_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._running = RunningView(rows)
        self._lowstate = LowStateView(plan.chunks)
        self._group_of = {
            plan.nodes[member].chunk: number
            for number, node in enumerate(plan.nodes)
            if node.kind is NodeKind.GROUP
            for member in node.members
        }

    def low(self, chunk: LowChunk) -> dict[str, Any]:
        """Return the low data of a chunk for one call: what an aggregation made of it, else a fresh copy."""
        aggregated = self.aggregation.lows.get(chunk.index)
        return chunk.as_low() if aggregated is None else fresh(aggregated)

    async def run_chunk(self, work: Work) -> Row:
        """Do what the verdict of a chunk (or of its check for a prereq) says and return the row."""
        chunk = self.plan.chunk_of(work.node)
        check = work.kind is NodeKind.CHECK
        low = self.low(chunk) if work.kind is not NodeKind.LISTENER else chunk.as_low()
        problem = await self._mod_init(chunk, low)
        if problem is not None:
            row = self._stamped(problem, low)
        elif not work.verdict.runs:
            row = self._held_back(chunk, work, low)
        elif work.kind is NodeKind.LISTENER:
            row = await self._attempts(chunk, low, check=False)
        else:
            row = await self._watched_call(chunk, low, work.verdict, check=check)
        if check:
            self._checks[chunk.index] = row
        return row

    async def aggregate(self, members: tuple[int, ...]) -> None:
        """Let the module of a group fold its members into common calls; those their conditions hold back stay out."""
        chunks = [self.plan.chunks[index] for index in members]
        await self.aggregation.fold([chunk for chunk in chunks if await self._passes_conditions(chunk)], self._running)

    async def _passes_conditions(self, chunk: LowChunk) -> bool:
        """Whether a member of a group would run: what its own conditions hold back is no part of the common call."""
        low = chunk.as_low()
        if not has_conditions(low) or await self._has(chunk.state, "mod_run_check"):
            return True
        current.set(self._context(chunk, low, {}, check=False))
        try:
            return await self.host.workers.run(check_conditions, low, self.host.salt) is None
        except BaseException as error:  # noqa: BLE001 - the member's own row will say what is wrong
            self.raised(error)
            return False

    def _held_back(self, chunk: LowChunk, work: Work, low: dict[str, Any]) -> Row:
        checked = self._checks.get(chunk.index)
        if checked is not None and work.kind is NodeKind.CHUNK and _settled_by(checked, work.verdict):
            # What asked for the check failed, or the check was held back: its row stands, without what it predicted.
            return self._stamped({**checked, "changes": {}}, low)
        failed = [self.plan.chunks[index] for index in work.failed]
        return self._stamped(not_run_row(work.verdict, chunk.name, failed), low)

    async def _watched_call(self, chunk: LowChunk, low: dict[str, Any], verdict: Verdict, *, check: bool) -> Row:
        row = await (self._attempts(chunk, low, check=True) if check else self._settled(chunk, low))
        if check or verdict is Verdict.MET:
            return row
        if verdict is Verdict.SKIP_WATCH:
            row["comment"] += " mod_watch was not run because requisites were skipped by another state"
            return row
        if row["changes"] or row.get("skip_watch"):
            return row
        watching = {**self.low(chunk), "sfun": chunk.fun, "fun": "mod_watch", "__reqs__": self._requisite_lows(chunk)}
        return await self._attempts(chunk, watching, check=False)

    async def _settled(self, chunk: LowChunk, low: dict[str, Any]) -> Row:
        """Return the row of a chunk: its share of a common call, or that of its own call.

        A common call that fails is not tried again: its members are, each for itself and with its own ``retry``.
        """
        shared = self.aggregation.share(chunk)
        if shared is not None:
            return self._stamped(shared, low)
        if not self.aggregation.is_common(chunk):
            row = await self._attempts(chunk, low, check=False)
        else:
            common = await (self._attempts if self.test else self._call)(chunk, low, check=False)
            if await self.aggregation.split(chunk, common, test=self.test):
                return common
            row = await self._attempts(chunk, self.low(chunk), check=False)
            row["start_time"], row["duration"] = common["start_time"], round(row["duration"] + common["duration"], 3)
        self.aggregation.settle(chunk, row)
        return row

    def _requisite_lows(self, chunk: LowChunk) -> dict[str, list[dict[str, Any]]]:
        """``__reqs__``: what a chunk depends on, by kind; a member of an aggregate brings its whole group along."""
        found: dict[str, list[dict[str, Any]]] = {}
        grouped: dict[str, list[int]] = {}
        for requisite in self.plan.requisites[chunk.index]:
            lows = found.setdefault(requisite.kind.value, [])
            for node in self.plan.nodes[requisite.node].members or (requisite.node,):
                target = self.plan.nodes[node].chunk
                lows.append(self.plan.chunks[target].as_low())
                group = self._group_of.get(target)
                if group is not None and group not in grouped.setdefault(requisite.kind.value, []):
                    grouped[requisite.kind.value].append(group)
        for kind, groups in grouped.items():
            for group in groups:
                members = self.plan.nodes[group].members
                found[kind].extend(self.plan.chunks[self.plan.nodes[member].chunk].as_low() for member in members)
        return found

    async def _attempts(self, chunk: LowChunk, low: dict[str, Any], *, check: bool) -> Row:
        row = await self._call(chunk, low, check=check)
        if check or "retry" not in low:
            return row
        policy, warnings = RetryPolicy.parse(low["retry"])
        if warnings:
            row.setdefault("warnings", []).extend(warnings)
        if self.test:
            row["comment"] = f"{row['comment'] or ''}  {policy.forecast()}"
            return row
        return await self._retry(chunk, low, policy, row)

    async def _retry(self, chunk: LowChunk, low: dict[str, Any], policy: RetryPolicy, row: Row) -> Row:
        said, spent, began, attempt = [], 0.0, row["start_time"], 1
        while row["result"] != policy.until and attempt < policy.attempts:
            said.append(
                f'Attempt {attempt}: Returned a result of "{row["result"]}", '
                f'with the following comment: "{row["comment"]}"'
            )
            seconds = policy.pause()
            spent += row["duration"] + seconds * 1000
            await self._pause(chunk, attempt, row, seconds)
            attempt += 1
            row = await self._call(chunk, fresh(low), check=False)
        if said:
            row["comment"] = "\n".join([*said, row["comment"] or ""])
            row["duration"] = round(row["duration"] + spent, 3)
            row["start_time"] = began
        return row

    async def _call(self, chunk: LowChunk, low: dict[str, Any], *, check: bool) -> Row:
        """Call the function once. Whatever goes wrong becomes a failed row."""
        began, clock = datetime.now(), perf_counter()  # noqa: DTZ005 - Salt's rows carry local time of day
        try:
            row = await self._prepared_call(chunk, low, check=check)
        except BaseException as error:  # noqa: BLE001 - a state may raise anything, SystemExit included
            self.raised(error)
            row = self._misfit_row(low, error) or exception_row(low["name"], error)
        row = normalise(row, low["name"])
        row["start_time"] = began.time().isoformat()
        row["duration"] = round((perf_counter() - clock) * 1000, 3)
        row.setdefault("__id__", low["__id__"])
        row.setdefault("__sls__", low.get("__sls__"))
        if not check:
            await self._refresh(low, row)
        return row

    def _misfit_row(self, low: dict[str, Any], error: BaseException) -> dict[str, Any] | None:
        """Say which arguments a bundled state tripped over, or what went wrong outside.

        Authors of other states get their traceback, and so does who can report a mistake of ours.
        """
        name = f"{low['state']}.{low['sfun'] if low['fun'] == 'mod_watch' and 'sfun' in low else low['fun']}"
        function = self._functions.get(name)
        if not isinstance(function, LoadedFunction) or not function.module.bundled:
            return None
        wrong = misfits(function.func, low) if is_trip(error) else ""
        said = f"{wrong}. ({type(error).__name__}: {error})" if wrong else in_words(error)
        return failed_row(low["name"], f"An exception occurred in this state: {name}: {said}") if said else None

    async def _prepared_call(self, chunk: LowChunk, low: dict[str, Any], *, check: bool) -> Any:
        given = low["name"]
        if given and not isinstance(given, str):
            what = f"is not formed as a string, but is a {type(given).__name__}"
            return unverified_row(given, f"ID '{given}' in SLS '{low.get('__sls__')}' {what}\n")
        umask = None
        if "umask" in low:
            text = low.pop("umask")
            try:
                umask = int(str(text), 8)
            except ValueError:
                return unverified_row(low["name"], f"Invalid umask: {text}\n")
        name = f"{low['state']}.{low['fun']}"
        function = self._functions.get(name) or await self.find(name)
        if isinstance(function, FunctionNotFound):
            row = unverified_row(low["name"], _not_found(name, low, function))
            return {**row, "warnings": [f"Did you mean {function.suggestion!r}?"]} if function.suggestion else row
        seconds = _own_timeout(low, function)
        try:
            # What is written for a state need not be for its mod_watch, too.
            args, kwargs = bind(function, low, lenient=low["fun"] == "mod_watch")
        except ArgumentError as error:
            make = unverified_row if isinstance(error, MissingParameters) else failed_row
            return make(low["name"], _misfit(error))
        context = self._context(chunk, low, kwargs, check=check)
        context.umask = umask
        current.set(context)
        if seconds is None:
            with _cut_off_with(context.cancel):
                return _anonymous(await self._execute(function, args, kwargs, low))
        try:
            async with asyncio.timeout(seconds):
                with _cut_off_with(context.cancel):
                    return _anonymous(await self._execute(function, args, kwargs, low))
        except TimeoutError:
            return failed_row(low["name"], f"The state did not end within {seconds:g} seconds and was stopped.")

    async def _execute(
        self, function: LoadedFunction, args: list[Any], kwargs: dict[str, Any], low: dict[str, Any]
    ) -> Any:
        """Conditions, the function, check_cmd: on the loop if the function is async, else together in one thread."""
        salt = self.host.salt
        conditions = has_conditions(low) and not await self._has(low["state"], "mod_run_check")
        checks = "check_cmd" in low and await self._generic_check(function, low["state"])
        if has_slot(args) or has_slot(kwargs.values()):
            args, kwargs = await self.host.workers.run(fill_slots, args, kwargs, salt)
        func, is_async = function.func, function.is_async
        rules = self.host.opts.get("global_state_conditions")
        if rules and not globally_allowed(low, rules, self.host.match):
            func, is_async, args, kwargs = not_allowed, False, [low["name"]], {}
        if self._mock:
            func, is_async, args, kwargs = mocked_row, False, [low["name"]], {}
        if not is_async:

            def in_thread() -> Any:
                returned = check_conditions(low, salt) if conditions else None
                if returned is None:
                    with thread_umask(current.get().umask):
                        returned = func(*args, **kwargs)
                return {**returned, **check_commands(low, salt)} if checks else returned

            return await self.host.workers.run(in_thread)
        returned = await self.host.workers.run(check_conditions, low, salt) if conditions else None
        if returned is None:
            returned = await func(*args, **kwargs)
        return {**returned, **await self.host.workers.run(check_commands, low, salt)} if checks else returned

    async def _generic_check(self, function: LoadedFunction, state: str) -> bool:
        """Salt's rule: a module with ``mod_run_check_cmd`` checks for itself where the function takes ``check_cmd``."""
        return not function.signature.accepts("check_cmd") or not await self._has(state, "mod_run_check_cmd")

    def _context(self, chunk: LowChunk, low: dict[str, Any], kwargs: Mapping[str, Any], *, check: bool) -> CallContext:
        env = str(low.get("__env__") or "base")
        if not self.host.opts.get("lock_saltenv"):
            if "saltenv" in low:
                env = str(low["saltenv"])
            elif isinstance(kwargs.get("env"), str):
                env = kwargs["env"]
        context = self.host.context(
            low=low,
            running=self._running,
            lowstate=self._lowstate,
            env=env,
            sls=chunk.sls,
            test=self.test or check,
            cancel=CancelToken(),
        )
        context.runas = low.get("runas")
        return context

    async def call_hook(self, function: LoadedFunction, args: tuple[Any, ...], chunk: LowChunk) -> Any:
        """Call one of a module's hooks: mod_init, mod_aggregate, mod_aggregate_split."""
        current.set(self._context(chunk, self.low(chunk), {}, check=False))
        if function.is_async:
            return await function.func(*args)
        return await self.host.workers.run(function.func, *args)

    async def _mod_init(self, chunk: LowChunk, low: dict[str, Any]) -> Row | None:
        """Call ``mod_init`` until it returns something true; a row if it raised."""
        state = chunk.state
        if state in self._initialised:
            return None
        hook = self._functions.get(f"{state}.mod_init") or await self.find(f"{state}.mod_init")
        if isinstance(hook, FunctionNotFound):
            self._initialised.add(state)
            return None
        if isinstance(await self.find(f"{state}.{low['fun']}"), FunctionNotFound):
            return None
        async with self._init_locks[state]:
            if state in self._initialised:
                return None
            try:
                if await self.call_hook(hook, (fresh(low),), chunk):
                    self._initialised.add(state)
            except BaseException as error:  # noqa: BLE001 - a module may raise anything
                self.raised(error)
                return exception_row(low["name"], error)
        return None

    def raised(self, error: BaseException) -> None:
        """Raise a cancellation of this task again. One that a plugin raises by itself is a failure like any other."""
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise error

    async def _has(self, state: str, fun: str) -> bool:
        return not isinstance(await self.find(f"{state}.{fun}"), FunctionNotFound)

    async def find(self, name: str) -> LoadedFunction | FunctionNotFound:
        """Look a function up once a run, in a thread: the first look-up imports the module."""
        found = self._functions.get(name)
        if found is None:
            try:
                found = await self.host.workers.run(self.host.loaders["states"].get, name)
            except FunctionNotFound as error:
                found = error
            self._functions[name] = found
        return found

    def _stamped(self, row: Row, low: Mapping[str, Any]) -> Row:
        row["start_time"] = datetime.now().time().isoformat()  # noqa: DTZ005 - Salt's rows carry local time of day
        row["duration"] = 0.0
        row["__id__"], row["__sls__"] = low["__id__"], low.get("__sls__")
        return row

    async def _refresh(self, low: Mapping[str, Any], row: Row) -> None:
        """Let the loader look for new modules where Salt would: asked for, or after changes that may bring some."""
        if low.get("reload_grains") or low.get("reload_pillar"):
            grains, pillar = bool(low.get("reload_grains")), bool(low.get("reload_pillar"))
            await self.host.workers.run(partial(self.host.refresh, grains=grains, pillar=pillar))
        if not row["changes"]:
            if low.get("force_reload_modules"):
                self._reload()
        elif low.get("reload_modules") or low["state"] in _REFRESHING_MODULES or _brings_modules(low):
            self._reload()

    def _reload(self) -> None:
        self.host.reload()
        self._functions.clear()


@contextmanager
def _cut_off_with(token: CancelToken | None) -> Iterator[None]:
    """Cancel ``token`` when the block is cancelled: with what the call does now goes what it left running before."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        if token is not None:
            token.cancel(str(cancelled))
        raise


def _settled_by(checked: Row, verdict: Verdict) -> bool:
    return verdict is Verdict.FAIL or checked.get("__state_ran__") is False


def _brings_modules(low: Mapping[str, Any]) -> bool:
    if low["state"] != "file":
        return False
    fun, name = low["fun"], low["name"]
    return (
        fun == "recurse"
        or (fun == "managed" and name.endswith(_MODULE_SUFFIXES))
        or (fun == "symlink" and "bin" in name)
    )


def _not_found(name: str, low: Mapping[str, Any], error: FunctionNotFound) -> str:
    if low.get("__sls__") is None:
        return f"Specified state '{name}' was not found\n"
    return f"State '{name}' was not found in SLS '{low['__sls__']}'\nReason: {error.reason}\n"


def _misfit(error: ArgumentError) -> str:
    hint = getattr(error, "hint", "")
    if isinstance(error, MissingParameters):
        return f"{error}\n"
    return f"{error}: {hint}" if hint else str(error)


def _anonymous(returned: Any) -> Any:
    """Take out ID and SLS: a function has no say in them, and a row it got from another state may carry them."""
    if isinstance(returned, dict) and not returned.keys().isdisjoint(("__id__", "__sls__")):
        return {key: value for key, value in returned.items() if key not in ("__id__", "__sls__")}
    return returned


def _own_timeout(low: dict[str, Any], function: LoadedFunction) -> float | None:
    """Return the ``timeout`` the engine keeps, where the function has no such argument, and take it out of low data.

    A function with ``**kwargs`` receives it all the same.
    """
    signature = function.signature
    if "timeout" not in low or signature.accepts("timeout"):
        return None
    try:
        seconds = float(low["timeout"])
    except (TypeError, ValueError):
        return None
    if not signature.has_kwargs:
        del low["timeout"]
    return seconds
