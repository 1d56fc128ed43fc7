"""A pytest plugin for authors of states: it checks that a state keeps the contract of dry runs and requisites.

Enable it in a ``conftest.py`` with ``pytest_plugins = ["asyncstate.testing"]``; then

    def test_motd(states):
        states.tree("_states/motd.py", MOTD)
        proof = states.prove("motd.present", name=states.path("motd"), text="hello")
        assert proof.changes == {"motd": {"old": None, "new": "hello"}}

`States.prove` applies one state four times and reports all broken promises at once. Each is a program of its own on
asyncio's loop, as the command line is.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import os
import shutil
import stat
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path  # noqa: TC003 - pytest reads the annotations of fixtures
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.to_thread
import msgspec
import pytest

from asyncstate.config import Settings
from asyncstate.model.encode import json_bytes, plain
from asyncstate.model.hooks import MOD_FOOTPRINT
from asyncstate.model.result import Row
from asyncstate.runtime import StateRuntime
from asyncstate.shake.here import shake_here
from asyncstate.shake.report import result_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from asyncstate.model.plan import Plan
    from asyncstate.model.result import RunReport
    from asyncstate.shake.search import Result

    _Footprint = dict[str, Any] | None

__all__ = ["BrokenContract", "Proof", "States", "states"]


class BrokenContract(AssertionError):
    """A state did not keep the contract; the message lists every broken promise."""


class Proof(msgspec.Struct, frozen=True):
    """The rows of a proof: the dry run before, the real run, the real run after it, and the dry run at the end."""

    foretold: Row
    row: Row
    again: Row
    settled: Row

    @property
    def changes(self) -> dict[str, Any]:
        """What the real run changed."""
        changes: dict[str, Any] = self.row["changes"]
        return changes


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
        """Return the absolute path of a file below the root that proofs watch for changes."""
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

        Pass ``changes=False`` for a state that has nothing to do, ``result=False`` for one that must fail; its dry run
        may return None or False.
        """
        before = _listing(self.root)
        foretold = self._run(function, arguments, test=True)
        looked = _listing(self.root)
        first = self._run(function, arguments, test=False)
        after = _listing(self.root)
        second = self._run(function, arguments, test=False)
        ended = _listing(self.root)
        settled = self._run(function, arguments, test=True)
        declared = foretold.footprint
        proof = Proof(foretold.row, first.row, second.row, settled.row)
        returns = (foretold.returned, first.returned, second.returned, settled.returned)
        broken = [
            *(f"the dry run touched {path}" for path in _differences(before, looked)),
            *_of_rows(proof),
            *_of_returns(zip(_WHEN, returns, strict=True)),
            *_of_results(proof, changes=changes, result=result),
            *(f"the second run touched {path}" for path in _differences(after, ended)),
            *(
                f"{path} changed, and the footprint does not list it as written: {declared}"
                for path in _differences(looked, after)
                if declared is not None and not _written(os.path.join(self.root, path), declared)
            ),
            *(
                f"{path} is a link now, and the footprint does not list it under 'links': {declared}"
                for path in _differences(looked, after)
                if declared is not None and _is_hidden_link(os.path.join(self.root, path), after.get(path), declared)
            ),
        ]
        if broken:
            rows = json_bytes(proof, indent=2).decode()
            raise BrokenContract(f"{function}:\n" + "".join(f"  - {what}\n" for what in broken) + rows)
        return proof

    def shake(self, data: Mapping[str, Any], *, before: Callable[[], None] = lambda: None) -> None:
        """Run a tree, the data of an SLS file, with each state delayed as long as the plan allows.

        Its states may touch nothing outside of the root, which is emptied before each run; ``before`` then fills it.
        Raises BrokenContract, with the two states of each missing edge, unless rows and files are always those of the
        serial run; CompileError.
        """

        def prepare() -> None:
            shutil.rmtree(self.root, ignore_errors=True)
            self.root.mkdir()
            before()

        prepare()
        with ThreadPoolExecutor(1) as apart:
            plan, result = apart.submit(asyncio.run, self._shake(data, prepare)).result()
        if result.found or result.broken_off:
            lines = [result.broken_off] if result.broken_off else result_lines(plan, result)
            raise BrokenContract("\n".join(lines))

    async def _shake(self, data: Mapping[str, Any], prepare: Callable[[], None]) -> tuple[Plan, Result]:
        settings = msgspec.structs.replace(self.settings)
        async with StateRuntime(settings) as runtime:
            plan = await runtime.compile_data(data)

        async def run(priority: tuple[int, ...]) -> RunReport:
            # A runtime of its own: states may change what the next run would see, such as grains.
            async with StateRuntime(settings) as own:
                async with own.run(plan, concurrency=1, priority=priority, events=False, lock=False) as one:
                    pass
                return one.report

        return plan, await shake_here(plan, str(self.root), prepare, run)

    def _run(self, function: str, arguments: Mapping[str, Any], *, test: bool) -> _Ran:
        with ThreadPoolExecutor(1) as apart:  # an async test already runs a loop in this thread
            return apart.submit(asyncio.run, self._apply(function, arguments, test=test)).result()

    async def _apply(self, function: str, arguments: Mapping[str, Any], *, test: bool) -> _Ran:
        async with StateRuntime(msgspec.structs.replace(self.settings)) as runtime:
            returned = _record(runtime, function)
            report = await runtime.single(function, arguments, test=test)
            row = next(iter(report.rows.values()))
            footprint = await anyio.to_thread.run_sync(_footprint, runtime, function, arguments)
            return _Ran(row, footprint, returned[-1] if returned else None)


class _Ran(NamedTuple):
    """One run of a state: its row, its declared footprint, and what the function returned to the engine."""

    row: Row
    footprint: _Footprint
    returned: Any


def _record(runtime: StateRuntime, name: str) -> list[Any]:
    """Wrap a state function so that its results are added to the returned list. Rows are normalised by the engine."""
    returned: list[Any] = []
    function = runtime.host.loaders["states"].find(name)
    if function is None:
        return returned
    inner = function.func

    def called(*args: Any, **kwargs: Any) -> Any:
        returned.append(inner(*args, **kwargs))
        return returned[-1]

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        returned.append(await inner(*args, **kwargs))
        return returned[-1]

    function.func = functools.wraps(inner)(awaited if function.is_async else called)
    return returned


def _footprint(runtime: StateRuntime, function: str, arguments: Mapping[str, Any]) -> _Footprint:
    """Return the footprint that the module declares for this state; None if it has no ``mod_footprint``."""
    declare = runtime.host.loaders["states"].find(f"{function.partition('.')[0]}.{MOD_FOOTPRINT}")
    if declare is None:
        return None
    (chunk,) = runtime.single_plan(function, arguments).chunks
    with runtime.host.enter():
        declared: dict[str, Any] = declare.func(chunk.as_low())
    return declared


def _listing(root: Path) -> dict[str, tuple[int, str]]:
    """Return mode and content of everything below a folder, by relative path."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            content = f"-> {os.readlink(path)}"
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        found[str(path.relative_to(root))] = (path.lstat().st_mode, content)
    return found


def _differences(before: dict[str, tuple[int, str]], after: dict[str, tuple[int, str]]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _of_rows(proof: Proof) -> Iterator[str]:
    for when, row in _named(proof):
        if not isinstance(row["changes"], dict):
            yield f"{when}: changes is not a dictionary: {row['changes']!r}"
        if not isinstance(row["comment"], str) or not row["comment"]:
            yield f"{when}: the comment is empty or not text: {row['comment']!r}"


def _of_returns(returns: Iterable[tuple[str, Any]]) -> Iterator[str]:
    for when, returned in returns:
        try:
            json.dumps(returned)
        except Exception as error:  # noqa: BLE001 - reading what a state returned may raise anything
            yield f"{when}: what it returned cannot be written as JSON: {plain(error)}"


def _of_results(proof: Proof, *, changes: bool, result: bool) -> Iterator[str]:
    if proof.row["result"] is not result:
        yield f"the real run: the result is {proof.row['result']!r}, not {result!r}: {proof.row['comment']}"
    if not result:
        if proof.foretold["result"] is True:
            yield "the dry run says that all is well, and the real run fails"
        return
    if bool(proof.row["changes"]) is not changes:
        yield f"the real run: changes are {proof.row['changes']!r}"
    expected = None if changes else True
    if proof.foretold["result"] is not expected:
        yield f"the dry run: the result is {proof.foretold['result']!r}, not {expected!r}"
    if proof.foretold["changes"] and not proof.row["changes"]:
        yield f"the dry run predicted changes that the real run did not make: {proof.foretold['changes']!r}"
    if proof.again["result"] is not True or proof.again["changes"]:
        yield f"the second run: {proof.again['result']!r} with changes {proof.again['changes']!r}"
    if proof.settled["result"] is not True or proof.settled["changes"]:
        yield f"the dry run at the end: {proof.settled['result']!r} with changes {proof.settled['changes']!r}"


_WHEN = ("the dry run", "the real run", "the second run", "the dry run at the end")


def _named(proof: Proof) -> Iterator[tuple[str, Row]]:
    return zip(_WHEN, (proof.foretold, proof.row, proof.again, proof.settled), strict=True)


def _written(path: str, declared: Mapping[str, Any]) -> bool:
    """Whether a footprint allows writing a path: by name, as a part of a tree, or as a parent folder of either."""
    if declared.get("unknown"):
        return True
    for name in declared.get("writes") or ():
        kind, _, place = str(name).partition(":")
        if kind != "path":
            continue
        tree = place.removesuffix("/**")
        if path == tree or tree.startswith(f"{path}/") or (tree != place and path.startswith(f"{tree}/")):
            return True
    return False


def _is_hidden_link(path: str, found: tuple[int, str] | None, declared: Mapping[str, Any]) -> bool:
    """Whether a path is a link that a footprint does not declare. What is in a whole written tree need not be named."""
    if found is None or not stat.S_ISLNK(found[0]) or declared.get("unknown"):
        return False
    trees = [name for name in declared.get("writes") or () if str(name).endswith("/**")]
    return path not in (declared.get("links") or ()) and not _written(path, {"writes": trees})


@pytest.fixture
def states(tmp_path: Path) -> States:
    """States in a scratch folder of this test: write modules with ``tree``, check them with ``prove``."""
    return States(tmp_path / "asyncstate")
