"""A plugin host without files: state functions are registered by name; threads are not used."""

from __future__ import annotations

import asyncio
import selectors
from contextlib import contextmanager

from fake_services import FakeServices

from asyncstate.config.settings import FIELDS
from asyncstate.dunders.context import CallContext, SharedContext, current
from asyncstate.errors import FunctionNotFound
from asyncstate.load.plugin import LoadedFunction, LoadedModule
from asyncstate.run.chunk.local import LocalDispatch
from asyncstate.run.engine import Engine, RunOptions

HTTP = {name: field.default for name, field in FIELDS.items() if name.startswith("http_")}


class InlineWorkers:
    """Runs "threads" in place."""

    async def run(self, fn, *args, strand=None):
        return fn(*args)


class FakeLoader:
    def __init__(self):
        self.functions = {}

    def find(self, name):
        return self.functions.get(name)

    def get(self, name):
        if name not in self.functions:
            raise FunctionNotFound(name, f"'{name}' is not available.")
        return self.functions[name]


class FakeHost:
    """What `Invoker` and `Engine` need of a PluginHost."""

    def __init__(self, **opts):
        import threading

        self.opts = {"test": False, **HTTP, **opts}
        self.salt = {}
        self.loaders = {"states": FakeLoader()}
        self.workers = InlineWorkers()
        self.reloads = 0
        self.services = FakeServices()
        self._context = SharedContext(threading.RLock())

    def state(self, name, func=None):
        """Register a state function, also as a decorator."""
        if func is None:
            return lambda func: self.state(name, func)
        module = LoadedModule(name.split(".")[0], "fake.py", None)
        self.loaders["states"].functions[name] = LoadedFunction(name, func, module)
        return func

    def context(self, **overrides):
        base = CallContext(
            opts=self.opts,
            grains={},
            pillar={},
            context=self._context,
            salt=self.salt,
            states={},
            utils={},
        )
        return base.derive(**overrides)

    @contextmanager
    def enter(self, **overrides):
        token = current.set(self.context(**overrides))
        try:
            yield
        finally:
            current.reset(token)

    def reload(self):
        self.reloads += 1


def local_engine(plan, host, options, observers=(), *, mock=False, watch=None, **more):
    """An engine whose chunks call the functions of a host."""
    dispatch = LocalDispatch(plan, host, test=options.test, mock=mock, watch=watch)
    return Engine(plan, dispatch, options, observers, in_thread=host.workers.run, **more)


def row(name, result=True, changes=None, comment="done", **more):
    return {"name": name, "result": result, "changes": changes or {}, "comment": comment, **more}


def test_mode():
    """What ``__opts__['test']`` is right now."""
    return current.get().opts["test"]


class _Instant(selectors.DefaultSelector):
    """Where a loop would wait, virtual time jumps instead."""

    jumped = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready and timeout:
            self.jumped += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which sleeping takes no time but moves the clock."""

    def __init__(self):
        self._instant = _Instant()
        super().__init__(self._instant)

    def time(self):
        return self._instant.jumped


def run_virtual(coroutine):
    """Run a coroutine on a virtual clock; return its result and the virtual seconds it took."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        result = runner.run(coroutine)
        return result, runner.get_loop().time()


def run(plan, host, observers=(), act=None, **options):
    """Run a plan with the functions of a host, on a virtual clock; return the report and the virtual seconds.

    ``act`` is what is done to the engine meanwhile: after how many seconds, the name of its method, the arguments.
    """
    return run_engine(
        lambda clock: local_engine(plan, host, RunOptions(run_id="r", **options), observers, clock=clock), act
    )


def run_engine(make, act=None):
    """Run the engine that ``make`` returns for a clock; return the report and the virtual seconds."""

    async def main():
        loop = asyncio.get_running_loop()
        engine = make(loop.time)
        if act is not None:
            loop.call_later(act[0], getattr(engine, act[1]), *act[2:])
        return await engine.run()

    return run_virtual(main())


def results(report):
    """The result of each row, by ID."""
    return {tag.split("_|-")[1]: r["result"] for tag, r in report.rows.items()}


def comments(report):
    """The comment of each row, by ID."""
    return {tag.split("_|-")[1]: r["comment"] for tag, r in report.rows.items()}
