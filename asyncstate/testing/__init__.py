"""A pytest plugin for authors of states: it checks that a state keeps the contract of dry runs and requisites.

Enable it in a ``conftest.py`` with ``pytest_plugins = ["asyncstate.testing"]``; then

    def test_motd(states):
        states.tree("_states/motd.py", MOTD)
        proof = states.prove("motd.present", name=states.path("motd"), text="hello")
        assert proof.changes == {"motd": {"old": None, "new": "hello"}}

`States.prove` applies one state four times and reports all broken promises at once; `States.prove_watch`,
`States.prove_aggregate` and `States.prove_prefetch` test the hooks of its module in the same way. Each apply runs in
a separate process on asyncio's loop, like the command line.
"""

from __future__ import annotations

import asyncio
import functools
import shutil
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path  # noqa: TC003 - pytest reads the annotations of fixtures
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec
import pytest

from asyncstate import extend
from asyncstate.config import Settings
from asyncstate.model.chunk import MOD_AGGREGATE, MOD_AGGREGATE_SPLIT, MOD_FOOTPRINT, MOD_PREFETCH, MOD_WATCH
from asyncstate.model.encode import json_bytes
from asyncstate.model.event import PrefetchEnded
from asyncstate.runtime import StateRuntime
from asyncstate.testing.promises import (
    FETCHING_SECONDS,
    WHEN,
    Call,
    Footprint,
    Listing,
    Proof,
    differences,
    listing,
    named,
    of_aggregation,
    of_common_call,
    of_fetches,
    of_footprints,
    of_offers,
    of_results,
    of_returns,
    of_rows,
    offers,
)
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from asyncstate.model.event import AnyEvent
    from asyncstate.model.result import Row, RunReport

    _Subject = tuple[str, Mapping[str, Any]]

__all__ = ["BrokenContract", "Proof", "States", "states"]


class BrokenContract(AssertionError):
    """A state did not keep the contract; the message lists every broken promise."""


class States:
    """Runs states of a tree in a scratch folder.

    ``base/salt`` contains the tree, ``base/root`` the files that states manage. ``settings`` are those of the runtimes,
    with roots and directories below ``base``; their fields (``pillar``, ``grains_override``, ``states_dirs`` …) may be
    set between runs.
    """

    def __init__(self, base: Path, settings: Settings | None = None) -> None:
        self.root: Path = base / "root"
        self._tree = base / "salt"
        pillar = base / "pillar"
        for folder in (self.root, self._tree, pillar):
            folder.mkdir(parents=True, exist_ok=True)
        self.settings: Settings = msgspec.structs.replace(
            settings or Settings(prefetch=False, journal=False),
            file_roots={"base": [str(self._tree)]},
            pillar_roots={"base": [str(pillar)]},
            cachedir=str(base / "cache"),
            state_dir=str(base / "state"),
        )

    def tree(self, path: str, text: str) -> Path:
        """Write a file of the tree and return it: ``_states/x.py``, ``_modules/x.py``, or a ``salt://`` source."""
        file = self._tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def path(self, name: str = "") -> str:
        """Return the absolute path of a file below the root, which proofs watch for changes."""
        return str(self.root / name) if name else str(self.root)

    def run(self, function: str, *, test: bool = False, **arguments: Any) -> Row:
        """Run one state function; return its row. Raises CompileError if there is no such function."""
        return self._run(function, arguments, test=test).row

    def prove(self, function: str, *, changes: bool = True, result: bool = True, **arguments: Any) -> Proof:
        """Apply a state in a dry run, twice for real, and in a dry run again.

        Raises BrokenContract unless

        - the first dry run returns None if the real run changes something, and touches no file;
        - every row is complete and can be written as JSON;
        - the second run changes nothing, and the dry run after it returns True;
        - files that change below the root are within the footprint, and links among its ``links``, if the module
          declares one.

        Pass ``changes=False`` for a state that has nothing to do, ``result=False`` for one that must fail, whose dry
        run may return None or False.
        """
        before = listing(self.root)
        foretold = self._run(function, arguments, test=True)
        looked = listing(self.root)
        first = self._run(function, arguments, test=False)
        after = listing(self.root)
        second = self._run(function, arguments, test=False)
        ended = listing(self.root)
        settled = self._run(function, arguments, test=True)
        proof = Proof(foretold.row, first.row, second.row, settled.row)
        returns = (foretold.returned, first.returned, second.returned, settled.returned)
        broken = [
            *(f"the dry run touched {path}" for path in differences(before, looked)),
            *of_rows(named(proof)),
            *of_returns(zip(WHEN, returns, strict=True)),
            *of_results(proof, changes=changes, result=result),
            *(f"the second run touched {path}" for path in differences(after, ended)),
            *of_footprints(self.root, looked, after, [foretold.footprint]),
        ]
        _raise(function, broken, proof)
        return proof

    def prove_watch(self, function: str, *, result: bool = True, **arguments: Any) -> Row:
        """Apply a state once, then dry and for real while it watches a state that changes. Returns the last row.

        Raises BrokenContract unless

        - ``mod_watch`` of the module is called, for the state itself has nothing left to do;
        - its dry run touches no file, and returns None if its real run changes something;
        - both rows are complete and can be written as JSON;
        - files that change below the root are within the footprint of the state, and links among its ``links``.

        Pass ``result=False`` for a state that must fail.
        """
        self._run(function, arguments, test=False)
        data = {
            _WATCHED: {"test.succeed_with_changes": []},
            _PROVED: {function: [*_single(arguments), {"watch": [{"test": _WATCHED}]}]},
        }
        before = listing(self.root)
        dry = self._run_tree(data, [(function, arguments)], MOD_WATCH, test=True)
        looked = listing(self.root)
        real = self._run_tree(data, [(function, arguments)], MOD_WATCH)
        after = listing(self.root)
        rows = {"the dry run": dry.rows[_PROVED], "the real run": real.rows[_PROVED]}
        row = rows["the real run"]
        expected = None if row["changes"] else True
        broken = [
            *(
                f"{when}: {MOD_WATCH} was not called"
                for when, ran in zip(rows, (dry, real), strict=True)
                if not ran.calls
            ),
            *(f"the dry run touched {path}" for path in differences(before, looked)),
            *of_rows(rows.items()),
            *of_returns(
                (when, call.returned) for when, ran in zip(rows, (dry, real), strict=True) for call in ran.calls
            ),
            *of_footprints(self.root, looked, after, real.footprints),
        ]
        if row["result"] is not result:
            broken.append(f"the real run: the result is {row['result']!r}, not {result!r}: {row['comment']}")
        elif result and dry.rows[_PROVED]["result"] is not expected:
            broken.append(f"the dry run: the result is {dry.rows[_PROVED]['result']!r}, not {expected!r}")
        _raise(f"{MOD_WATCH} of {function}", broken, rows)
        return row

    def prove_aggregate(
        self, function: str, *states: Mapping[str, Any], before: Callable[[], None] = lambda: None
    ) -> list[Row]:
        """Apply several states one by one, then in a common call. Returns the rows of that call, in the same order.

        The root is emptied before each; ``before`` then fills it. Raises BrokenContract unless

        - ``mod_aggregate`` takes others into the common call, and returns the low data;
        - its dry run touches no file;
        - each state has the same result as alone, and the same changes if there is a ``mod_aggregate_split``;
        - each file is the same as after running the states one by one;
        - files that change below the root are within the footprints of the states.
        """
        if len(states) < 2:
            raise ValueError("a common call is of two states or more: give the arguments of each as a dictionary")
        apart, together = (
            {f"state {n}": {function: [*_single(each), {"aggregate": joined}]} for n, each in enumerate(states, 1)}
            for joined in (False, True)
        )
        subjects = [(function, each) for each in states]
        self._prepare(before)
        alone = self._run_tree(apart, subjects, MOD_AGGREGATE)
        expected = listing(self.root)
        self._prepare(before)
        start = listing(self.root)
        self._run_tree(together, subjects, MOD_AGGREGATE, test=True)
        looked = listing(self.root)
        joined = self._run_tree(together, subjects, MOD_AGGREGATE)
        after = listing(self.root)
        broken = [
            *of_aggregation(joined.calls, len(states)),
            *(f"the dry run touched {path}" for path in differences(start, looked)),
            *of_rows(joined.rows.items()),
            *of_common_call(alone.rows, joined.rows, split=joined.splits),
            *(f"{path} is not as when the states run one by one" for path in differences(expected, after)),
            *of_footprints(self.root, looked, after, joined.footprints),
        ]
        _raise(f"{MOD_AGGREGATE} of {function}", broken, joined.rows)
        return list(joined.rows.values())

    def prove_prefetch(self, function: str, *, before: Callable[[], None] = lambda: None, **arguments: Any) -> Row:
        """Apply a state without prefetching, then after all prefetches of its module. Returns its row.

        The root is emptied before each; ``before`` then fills it. Raises BrokenContract unless

        - ``mod_prefetch`` offers prefetches, each with the name of a function and its arguments;
        - no prefetch fails, or touches a file below the root;
        - row and files are the same without the prefetches.
        """
        subjects = [(function, arguments)]
        self._prepare(before)
        alone = self._run_tree({_PROVED: {function: _single(arguments)}}, subjects, MOD_PREFETCH)
        expected = listing(self.root)
        self._prepare(before)
        start = listing(self.root)
        data = {_FETCHED: {_GATE: [{"order": 1}]}, _PROVED: {function: [*_single(arguments), {"order": 2}]}}
        ahead = self._run_tree(data, subjects, MOD_PREFETCH, fetching=True)
        one, other = alone.rows[_PROVED], ahead.rows[_PROVED]
        broken = [
            *of_offers(ahead.calls),
            *of_fetches(ahead.calls, ahead.fetched),
            *(f"fetching ahead touched {path}" for path in differences(start, ahead.looked)),
            *(
                f"{key} of the row is {other[key]!r} after fetching ahead, and {one[key]!r} without"
                for key in ("result", "changes")
                if one[key] != other[key]
            ),
            *(f"{path} is not as without fetching ahead" for path in differences(expected, listing(self.root))),
        ]
        _raise(f"{MOD_PREFETCH} of {function}", broken, {"without": one, "after fetching ahead": other})
        return other

    def _prepare(self, before: Callable[[], None]) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir()
        before()

    def shake(self, data: Mapping[str, Any], *, before: Callable[[], None] = lambda: None) -> None:
        """Run a tree, the data of an SLS file, with each state delayed as long as the plan allows.

        Its states may touch nothing outside of the root, which is emptied before each run; ``before`` then fills it.
        Raises BrokenContract, with the two states of each missing edge, unless rows and files always equal those of the
        serial run; CompileError.
        """
        prepare = functools.partial(self._prepare, before)
        prepare()
        with ThreadPoolExecutor(1) as apart:
            lines = apart.submit(asyncio.run, self._shake(data, prepare)).result()
        if lines:
            raise BrokenContract("\n".join(lines))

    async def _shake(self, data: Mapping[str, Any], prepare: Callable[[], None]) -> Sequence[str]:
        search = extend.provided("search", "States.shake")
        settings = msgspec.structs.replace(self.settings)
        async with StateRuntime(settings) as runtime:
            plan = await runtime.compile_data(data)

        async def run(priority: tuple[int, ...]) -> RunReport:
            # A new runtime: states may change data that the next run would see, such as grains.
            async with StateRuntime(settings) as own:
                async with own.run(plan, concurrency=1, priority=priority, events=False, lock=False) as one:
                    pass
                return one.report

        lines: Sequence[str] = await search(plan, str(self.root), prepare, run)
        return lines

    def _run(self, function: str, arguments: Mapping[str, Any], *, test: bool) -> _Ran:
        with ThreadPoolExecutor(1) as apart:  # an async test already runs a loop in this thread
            return apart.submit(asyncio.run, self._apply(function, arguments, test=test)).result()

    async def _apply(self, function: str, arguments: Mapping[str, Any], *, test: bool) -> _Ran:
        async with StateRuntime(msgspec.structs.replace(self.settings)) as runtime:
            calls = _record(runtime, function)
            report = await runtime.single(function, arguments, test=test)
            row = next(iter(report.rows.values()))
            footprint = await anyio.to_thread.run_sync(_footprint, runtime, function, arguments)
            return _Ran(row, footprint, calls[-1].returned if calls else None)

    def _run_tree(
        self,
        data: Mapping[str, Any],
        subjects: Sequence[_Subject],
        hook: str,
        *,
        test: bool = False,
        fetching: bool = False,
    ) -> _RanTree:
        with ThreadPoolExecutor(1) as apart:
            return apart.submit(
                asyncio.run, self._apply_tree(data, subjects, hook, test=test, fetching=fetching)
            ).result()

    async def _apply_tree(
        self, data: Mapping[str, Any], subjects: Sequence[_Subject], hook: str, *, test: bool, fetching: bool
    ) -> _RanTree:
        """Apply a tree of ``subjects``, and record the calls of a hook of their module.

        With ``fetching``, the state `_GATE` ends when all prefetches of the hook are done.
        """
        fetched: list[PrefetchEnded] = []
        ended = asyncio.Event()
        looked: Listing = {}

        def seen(event: AnyEvent) -> None:
            if isinstance(event, PrefetchEnded):
                fetched.append(event)
                ended.set()

        async with StateRuntime(msgspec.structs.replace(self.settings)) as runtime:
            module = subjects[0][0].partition(".")[0]
            calls = _record(runtime, f"{module}.{hook}")

            async def gate(name: str) -> Row:
                with anyio.move_on_after(0 if [*of_offers(calls)] else FETCHING_SECONDS):
                    while len(fetched) < len(offers(calls)):
                        ended.clear()
                        await ended.wait()
                looked.update(listing(self.root))
                return {"name": name, "result": True, "changes": {}, "comment": "fetched"}

            runtime.register_state(_GATE, gate)
            plan = await runtime.compile_data(data)
            ahead = _AT_ONCE if fetching else 0
            async with runtime.run(
                plan, test=test, concurrency=1, prefetch=ahead, observers=[seen], events=False, lock=False
            ) as run:
                pass
            rows = {str(row["__id__"]): row for row in run.report.rows.values()}
            footprints = [
                await anyio.to_thread.run_sync(_footprint, runtime, function, arguments)
                for function, arguments in subjects
            ]
            splits = runtime.host.loaders["states"].find(f"{module}.{MOD_AGGREGATE_SPLIT}") is not None
            return _RanTree(rows, footprints, calls, splits, fetched, looked)


_WATCHED = "a state that changes"
_PROVED = "the state under proof"
_FETCHED = "what is fetched ahead"
_GATE = "asyncstate_testing.fetched"
_AT_ONCE = 4
"""Number of concurrent prefetches."""


class _RanTree(Value):
    """One run of a tree: rows by ID, footprints of the states under proof, and calls of the hook.

    ``splits``: the module can split a common call. ``fetched`` are the prefetches, ``looked`` the content of the root
    right after them.
    """

    rows: dict[str, Row]
    footprints: list[Footprint]
    calls: list[Call]
    splits: bool
    fetched: list[PrefetchEnded]
    looked: Listing


class _Ran(Value):
    """One run of a state: its row, its declared footprint, and the return value of the function."""

    row: Row
    footprint: Footprint
    returned: Any


def _record(runtime: StateRuntime, name: str) -> list[Call]:
    """Wrap a function of a state module so that its calls are added to the returned list."""
    calls: list[Call] = []
    function = runtime.host.loaders["states"].find(name)
    if function is None:
        return calls
    inner = function.func

    def called(*args: Any, **kwargs: Any) -> Any:
        with _failing(calls, args):
            returned = inner(*args, **kwargs)
        calls.append(Call(args, returned))
        return returned

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        with _failing(calls, args):
            returned = await inner(*args, **kwargs)
        calls.append(Call(args, returned))
        return returned

    function.func = functools.wraps(inner)(awaited if function.is_async else called)
    return calls


@contextmanager
def _failing(calls: list[Call], arguments: tuple[Any, ...]) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        calls.append(Call(arguments, error=error))
        raise


def _footprint(runtime: StateRuntime, function: str, arguments: Mapping[str, Any]) -> Footprint:
    """Return the footprint that the module declares for this state; None if it has no ``mod_footprint``."""
    declare = runtime.host.loaders["states"].find(f"{function.partition('.')[0]}.{MOD_FOOTPRINT}")
    if declare is None:
        return None
    (chunk,) = runtime.single_plan(function, arguments).chunks
    with runtime.host.enter():
        declared: dict[str, Any] = declare.func(chunk.as_low())
    return declared


def _raise(what: str, broken: Sequence[str], rows: object) -> None:
    if broken:
        shown = json_bytes(rows, indent=2).decode()
        raise BrokenContract(f"{what}:\n" + "".join(f"  - {each}\n" for each in broken) + shown)


def _single(arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return arguments in the form of a tree."""
    return [{name: value} for name, value in arguments.items()]


@pytest.fixture
def states(tmp_path: Path) -> States:
    """States in a scratch folder of this test: write modules with ``tree``, check them with ``prove``."""
    return States(tmp_path / "asyncstate")
