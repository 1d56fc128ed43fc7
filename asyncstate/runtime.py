"""StateRuntime: the entry point for applications and the command line.

    async with StateRuntime(Settings(file_roots={"base": ["srv/salt"]})) as rt:
        plan = await rt.compile(["web"])
        async with rt.run(plan, concurrency=16) as run:
            async for event in run:
                ...
        report = run.report

Programs that only compile need no event loop: ``with StateRuntime(settings).open_sync() as rt: rt.compile_sync(...)``.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, Unpack

import msgspec

from asyncstate.config import Settings
from asyncstate.config.values import checked
from asyncstate.dunders.context import CancelToken, blocking, thread_token
from asyncstate.guard.event_loop import LoopAffinity, loop_bound
from asyncstate.load.folders import require_trusted_plugins
from asyncstate.planner import Planner
from asyncstate.process.ending import reaper, release
from asyncstate.process.lineage import ThreadChildren, ticks
from asyncstate.redact import Secrets
from asyncstate.redact.redacted_plan import RedactedPlan
from asyncstate.services import RuntimeServices

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from asyncstate.guard.lock import RunLock
    from asyncstate.load.host import PluginHost
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import RunReport
    from asyncstate.plans.record import PlanRecord, Selection
    from asyncstate.resume.earlier_runs import PastRun
    from asyncstate.resume.keeping import PlanRecords
    from asyncstate.run.dispatch import Elsewhere
    from asyncstate.run.handle import Run
    from asyncstate.run.keywords import RunKeywords
    from asyncstate.services import Embedding
    from asyncstate.sources.fileclient import FileClient


@checked
class StateRuntime:
    """Settings, plugins, grains and pillar of one host, ready to compile and run trees.

    Several runtimes may share one process and one event loop: they do not affect each other. ``states`` are functions
    of the program that its trees may call, by ``module.function``, as with `register_state`. ``embedding`` holds the
    parts that a fleet or an editor around the runtime provides.

    A runtime belongs to the asyncio event loop on which it was entered; its async methods raise EventLoopError on any
    other. Methods that end in ``_sync`` block: call them in a thread without a running loop, else they raise
    EventLoopError.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        states: Mapping[str, Callable[..., Any]] | None = None,
        secrets: Secrets | None = None,
        embedding: Embedding | None = None,
    ) -> None:
        self.secrets: Secrets = Secrets() if secrets is None else secrets
        """Values that a decrypting renderer produced; every output of a run hides them."""
        self._runs: set[Run] = set()
        self._affinity = LoopAffinity()
        self.settings: Settings = settings or Settings()
        self.settings.validate()
        self._lock_dir = (embedding and embedding.lock_dir) or self.settings.cachedir
        self._services = RuntimeServices(self.settings, states=states, secrets=self.secrets, embedding=embedding)
        self.planner: Planner = Planner(self.settings, self._services, self.secrets)
        self.host: PluginHost = self._services.host
        self.file_client: FileClient = self._services.file_client

    # life

    async def __aenter__(self) -> Self:
        """Gather grains, render the pillar, and bind the runtime to this event loop until the block is left.

        Raises PillarError; ConfigError if root would run plugins that others can write; EventLoopError if no asyncio
        loop is running; RuntimeError if the runtime is entered already.
        """
        if self._affinity.bound:
            raise RuntimeError("this runtime is entered already: leave it first, or make another one")
        self.host.attach(self._affinity.bind())
        try:
            with self.secrets.kept_out_of_errors(), loop_bound(self.host.workers):
                await self.host.workers.run(self._open_on_loop)
        except BaseException:
            self._detach()
            raise
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Cancel all active runs, wait for their end and that of cut-off calls, and release the event loop."""
        from asyncstate.guard.lock import clear_cut_off, is_anything_cut_off  # noqa: PLC0415 - as in `run`

        try:
            for run in tuple(self._runs):
                run.cancel("its runtime was closed")
                await run.wait()
            if is_anything_cut_off():
                await self.host.workers.run_to_end(clear_cut_off)
            if self._services.has_results:
                await self.host.workers.run_to_end(self._services.save_results)
        finally:
            self._detach()

    def _detach(self) -> None:
        self._release()
        self.host.detach()
        self._affinity.release()

    @contextmanager
    def open_sync(self) -> Iterator[Self]:
        """Gather grains and render the pillar without an event loop, for programs that only compile or call."""
        self._affinity.refuse("StateRuntime.open_sync", "async with StateRuntime(…)")
        around = thread_token.get()
        token = CancelToken(around)
        thread_token.set(token)
        blocking.add(token)
        # The programs that functions start by themselves here, in the calling thread.
        programs = ThreadChildren(threading.get_native_id(), ticks(), lambda: token in blocking)
        undo = token.on_cancel(lambda: reaper.end([programs]))
        try:
            with self.secrets.kept_out_of_errors():
                self._open()
            try:
                yield self
            finally:
                try:
                    self._services.save_results()
                finally:
                    self._release()
        finally:
            undo()
            blocking.discard(token)
            thread_token.set(around)
            release(token)

    def _open_on_loop(self) -> None:
        # Modules that a run needs are imported here, in a thread: an import on the loop would block it.
        for name in ("assembly", "run.handle", "guard.lock"):
            import_module(f"asyncstate.{name}")
        self._open()

    def _open(self) -> None:
        require_trusted_plugins(self.host.opts, self.file_client)
        self._services.refresh(grains=True, pillar=True)

    def register_state(self, name: str, func: Callable[..., Any]) -> None:
        """Offer a function of the host application, plain or async, as the state ``module.function``."""
        self.host.register_state(name, func)

    # compiling

    async def compile(
        self,
        sls: Sequence[str] | None = None,
        *,
        saltenv: str | None = None,
        exclude: Sequence[str | Mapping[str, str]] = (),
        ids: Sequence[str] = (),
        remote: bool = False,
        refusal: Callable[[str], str] | None = None,
    ) -> Plan:
        """Compile SLS files (None: the highstate of top.sls) to a plan. Raises CompileError, which lists all mistakes.

        ``exclude`` leaves SLS files or states out, ``ids`` keeps only these IDs and their dependencies. With ``remote``
        requisites may name states of other hosts; ``plan.remote`` has them, for a fleet to resolve. ``refusal`` is
        called before an SLS is rendered, even an included one: it returns why it must not be, "" if it may.
        """
        self._affinity.require("StateRuntime.compile")
        return await self._off_loop(
            lambda: self.compile_sync(sls, saltenv=saltenv, exclude=exclude, ids=ids, remote=remote, refusal=refusal),
        )

    async def compile_data(
        self,
        data: Mapping[str, Any],
        *,
        sls: str = "data",
        saltenv: str | None = None,
        exclude: Sequence[str | Mapping[str, str]] = (),
        ids: Sequence[str] = (),
    ) -> Plan:
        """Compile the data of a rendered SLS file: ``{"motd": {"file.managed": [{"name": "/etc/motd"}]}}``.

        The data may use everything that an SLS may: short forms, ``extend``, ``exclude``, ``names``, requisites, and
        ``include`` of SLS files of the tree. ``sls`` is its name as an SLS, for requisites, footprints and rows; a file
        with that name is not read. The data is copied, not rendered. Raises CompileError, which lists all mistakes:
        each message has the ID, but no file or line.
        """
        self._affinity.require("StateRuntime.compile_data")
        return await self._off_loop(
            lambda: self.compile_data_sync(data, sls=sls, saltenv=saltenv, exclude=exclude, ids=ids)
        )

    async def _off_loop(self, compile_: Callable[[], Plan]) -> Plan:
        def compile_in_thread() -> Plan:
            plan = compile_()
            import_module("asyncstate.assembly")  # otherwise `run` imports it on the program's loop
            return plan

        with loop_bound(self.host.workers):
            return await self.host.workers.run(compile_in_thread)

    def compile_sync(
        self,
        sls: Sequence[str] | None = None,
        *,
        saltenv: str | None = None,
        exclude: Sequence[str | Mapping[str, str]] = (),
        ids: Sequence[str] = (),
        texts: Mapping[str, str] | None = None,
        remote: bool = False,
        refusal: Callable[[str], str] | None = None,
    ) -> Plan:
        """Do what `compile` does, in the calling thread; ``texts`` replace files, by path."""
        self._affinity.refuse("StateRuntime.compile_sync", "await runtime.compile(…)")
        return self.planner.tree(
            sls, saltenv=saltenv, exclude=exclude, ids=ids, texts=texts, remote=remote, refusal=refusal
        )

    def compile_data_sync(
        self,
        data: Mapping[str, Any],
        *,
        sls: str = "data",
        saltenv: str | None = None,
        exclude: Sequence[str | Mapping[str, str]] = (),
        ids: Sequence[str] = (),
    ) -> Plan:
        """Do what `compile_data` does, in the calling thread."""
        self._affinity.refuse("StateRuntime.compile_data_sync", "await runtime.compile_data(…)")
        return self.planner.data(data, sls=sls, saltenv=saltenv, exclude=exclude, ids=ids)

    def compile_file_sync(self, path: str | Path, *, saltenv: str | None = None) -> Plan:
        """Compile one file that need not lie in a file root. As with Salt's ``state.template`` it stands alone.

        Raises CompileError, also if it includes, extends or excludes anything; OSError if it cannot be read; and
        PathRefused for a pipe or a device.
        """
        self._affinity.refuse(
            "StateRuntime.compile_file_sync", "await asyncio.to_thread(runtime.compile_file_sync, path)"
        )
        return self.planner.file(path, saltenv=saltenv)

    def single_plan(self, function: str, arguments: Mapping[str, Any]) -> Plan:
        """Return the plan of one state function. Raises CompileError if it does not exist or has no name."""
        self._affinity.refuse("StateRuntime.single_plan", "await asyncio.to_thread(runtime.single_plan, …)")
        return self.planner.single(function, arguments)

    def top_sync(self) -> dict[str, list[str]]:
        """Return the SLS names that top.sls assigns to this host, by environment. Raises CompileError."""
        self._affinity.refuse("StateRuntime.top_sync", "await asyncio.to_thread(runtime.top_sync)")
        return self.planner.top()

    # running

    def past_run(self, key: str, value: str) -> PastRun | None:
        """Return the newest run in the journal whose ``about`` has this value; None if there is none. Blocks."""
        from asyncstate.resume.earlier_runs import PastRun  # noqa: PLC0415 - as in `run`

        return PastRun.about(self.settings.state_dir, key, value)

    def shown(self, plan: Plan) -> Plan:
        """Return a copy of a plan for display, without secrets and values that ``no_log`` hides. Do not run it."""
        return self.redacted(plan).plan

    def redacted(self, plan: Plan) -> RedactedPlan:
        """Return the view of a plan that names its states, and shows texts and events, without secrets."""
        return RedactedPlan(plan, self.secrets)

    def record(
        self,
        plan: Plan,
        selection: Selection | None = None,
        *,
        failhard: bool | None = None,
        make_key: bool = True,
    ) -> PlanRecord:
        """Return a plan as data to keep, review and compare, without secrets and values that ``no_log`` hides.

        Its digests are keyed with a key in ``state_dir``, which is made if missing (without ``make_key``, a temporary
        key is used: the digests can be compared with no others). ``selection`` is the part of the tree that was
        compiled. It imports the state modules of the plan and reads files, so it blocks. Raises PlanError if the key
        cannot be read or made.
        """
        recorder = self._records().recorder
        return recorder(plan, self.redacted(plan), selection, failhard=failhard, make_key=make_key).record()

    def hold(self, plan: Plan, named: Iterable[str] = ()) -> Plan:
        """Pin the files of the tree that a plan uses to their present content; return the plan to record and run.

        A file of the roots, or a plugin, that has changed since then fails the state that uses it. ``named`` are more
        files, by their names in another record. It holds until the runtime is left. It reads files, so it blocks.
        """
        from asyncstate.load.imports import hold_plugins  # noqa: PLC0415 - few programs keep plans

        records = self._records()
        contents = records.contents(plan, named)
        hold_plugins(self.host.plugin_paths(bundled=False), plugins := records.plugins())
        self._services.hold({path: content for path, content in contents.items() if records.is_in_tree(path)}, plugins)
        self.file_client = self._services.file_client
        return msgspec.structs.replace(plan, files=contents)

    def used(self) -> dict[str, str]:
        """Return the digests of the files that are held or were used since `hold`, in the form of a record."""
        held = self._services.held
        return {} if held is None else self._records().digests(held.contents)

    def _release(self) -> None:
        if self._services.held is not None:
            from asyncstate.load.imports import release_plugins  # noqa: PLC0415 - as in `hold`

            release_plugins(self.host.plugin_paths(bundled=False))
        self._services.release()

    def _records(self) -> PlanRecords:
        from asyncstate.resume.keeping import PlanRecords  # noqa: PLC0415 - few programs keep plans

        return PlanRecords(self.settings, self.host, self.file_client)

    def run(
        self,
        plan: Plan,
        *,
        concurrency: int | None = None,
        test: bool | None = None,
        failhard: bool | None = None,
        shuffle: int | None = None,
        priority: Sequence[int] | None = None,
        timeout: float | None = None,
        mock: bool = False,
        trace_effects: bool = False,
        prefetch: int | None = None,
        observers: Sequence[Callable[[AnyEvent], None]] = (),
        about: Mapping[str, Any] | None = None,
        resume: str | None = None,
        force: bool = False,
        events: bool = True,
        lock: bool | None = None,
        wait: float = 0.0,
        elsewhere: Elsewhere | None = None,
    ) -> Run:
        """Return a run of a plan, to be entered with ``async with``. Options left out come from the settings.

        Only one run at a time may change a system, of all programs and the command line: entering a run takes the lock
        of ``cachedir`` and raises LockHeld if another run still holds it after ``wait`` seconds (``math.inf``: wait
        without limit). Dry runs and mocked runs need no lock; ``lock`` overrides that either way. ``mock`` calls no
        state function: every state that would be called has a row that says so. ``priority`` has a number for each node
        of the plan: the ready node with the lowest starts first (default: the serial order). ``trace_effects`` records
        what each state touches, and adds races to the warnings of the report; ConfigError if strace is missing or may
        not follow programs. ``prefetch`` is the number of prefetches at once for later states, 0 for none; dry and
        mocked runs fetch nothing. ``observers`` are called with each event as it happens, on the event loop; one that
        raises is not called again. The run is kept in the journal if the settings say so, with ``about``, plain data of
        your own; a mocked run is not. Leaving it raises JournalError if the journal is required and cannot be kept. A
        plan that is part of a fleet's waits for states of other hosts; ``elsewhere`` reports them.

        ``resume`` is an earlier run, its ID or a prefix of it, or ``latest``: a state that ended in it is not run
        again, but keeps its row. The plan must be the same, and no program of a killed run may go on:
        entering waits for its end, ``wait`` seconds or 30, and raises ResumeRefused if it has not ended by then. With
        ``force``, the rows of unchanged states are carried over, and nothing is waited for.
        Leaving the run raises ResumeRefused if there is nothing to resume or the plan differs; JournalError if
        there is no such run. With ``events`` the run can also be iterated over; a program that does not iterate saves
        that work with ``events=False``. Raises ValueError for a concurrency below 1, a negative timeout,
        and a priority of another length.
        """
        from asyncstate.assembly import Parts, assembled  # noqa: PLC0415 - programs that only compile never run
        from asyncstate.run.engine import RunOptions  # noqa: PLC0415
        from asyncstate.run.handle import Feed, Run  # noqa: PLC0415

        settings = self.settings
        options = RunOptions(
            run_id=os.urandom(8).hex(),
            host=str(self.host.opts.get("id") or ""),
            concurrency=settings.concurrency if concurrency is None else concurrency,
            test=settings.test if test is None else test,
            failhard=settings.failhard if failhard is None else failhard,
            shuffle=shuffle,
            priority=None if priority is None else tuple(priority),
            timeout=settings.timeout if timeout is None else timeout,
            lanes=settings.lanes,
            prefetch=settings.prefetch_places if prefetch is None else prefetch,
        )
        feed = Feed() if events else None
        engine = assembled(
            plan,
            options,
            [*observers, feed.put] if feed is not None else list(observers),
            Parts(settings, self.host, self.secrets, self._records, self.planner.touched),
            mock=mock,
            trace_effects=trace_effects,
            about=about or {},
            resume=resume,
            force=force,
            elsewhere=elsewhere,
        )
        return Run(
            engine,
            feed,
            host=self.host,
            lock=self._run_lock(lock, wait, test=options.test or mock, outlast=resume is not None and not force),
            running=self._runs,
            affinity=self._affinity,
        )

    async def apply(
        self,
        sls: Sequence[str] | None = None,
        *,
        saltenv: str | None = None,
        exclude: Sequence[str | Mapping[str, str]] = (),
        ids: Sequence[str] = (),
        lock: bool | None = None,
        wait: float = 0.0,
        **options: Unpack[RunKeywords],
    ) -> RunReport:
        """Compile and run, with the options of `run`. A failing state is in the report, not an exception.

        The lock is taken before the tree is compiled, so the plan takes account of the changes of an earlier run.
        Raises the errors of `compile` and of entering a run. Cancelling the task cancels the run.
        """
        return await self._compile_and_run(
            lambda: self.compile(sls, saltenv=saltenv, exclude=exclude, ids=ids), lock, wait, options
        )

    async def single(
        self,
        function: str,
        arguments: Mapping[str, Any],
        *,
        lock: bool | None = None,
        wait: float = 0.0,
        **options: Unpack[RunKeywords],
    ) -> RunReport:
        """Run one state function, without a tree.

        Raises CompileError if there is no such function; ArgumentError for arguments beyond the limits of an SLS.
        """
        return await self._compile_and_run(
            lambda: self.host.workers.run(self.planner.single, function, arguments), lock, wait, options
        )

    async def _compile_and_run(
        self, planned: Callable[[], Awaitable[Plan]], lock: bool | None, wait: float, options: RunKeywords
    ) -> RunReport:
        from asyncstate.guard.lock import import_backend  # noqa: PLC0415 - programs that only compile never run

        self._affinity.require("StateRuntime.apply or single")
        test = options.get("test")
        looks_only = (self.settings.test if test is None else test) or options.get("mock", False)
        outlast = options.get("resume") is not None and not options.get("force")
        run_lock = self._run_lock(lock, wait, test=looks_only, outlast=outlast)
        await import_backend(self.host.workers)
        async with run_lock as held:
            with loop_bound(self.host.workers, held):
                try:
                    plan = await planned()
                except BaseException:
                    await run_lock.__aexit__(None, None, None)  # while the end of the program is held up for it
                    raise
            run = self.run(plan, events=False, lock=False, **options)
            if held is not None:
                run._lock = held  # noqa: SLF001 - it gives the lock back when its last process has ended
            async with run:
                pass
        return run.report

    def _run_lock(
        self, lock: bool | None, wait: float, *, test: bool, outlast: bool
    ) -> AbstractAsyncContextManager[RunLock | None]:
        from asyncstate.guard.lock import RunLock  # noqa: PLC0415 - programs that only compile never run

        wanted = not test if lock is None else lock
        return RunLock(self._lock_dir, wait=wait, outlast=outlast) if wanted else nullcontext()

    async def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """Call an execution function. Raises FunctionNotFound, or the function's errors.

        With ``grains_alone``, raises ConfigError for a function that would run on this machine.
        """
        self._affinity.require("StateRuntime.call")
        self._services.require_callable(function, args)
        found = await self.host.workers.run(self.host.loaders["modules"].get, function)
        return await self.host.call(found, args, kwargs)

    def call_sync(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """Do what `call` does, without an event loop."""
        self._affinity.refuse("StateRuntime.call_sync", "await runtime.call(…)")
        self._services.require_callable(function, args)
        with self.host.enter():
            self.host.loaders["modules"].get(function)
            return self.host.salt[function](*args, **kwargs)
