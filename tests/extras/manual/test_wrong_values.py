"""No value of any argument of any bundled state makes a dry run trip: it is taken, or refused in a sentence.

A table: every argument of every state, times values of every shape.
"""

from __future__ import annotations

import inspect
import math
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from asyncstate import Settings
from asyncstate.extras.manual.entries import example_of
from asyncstate.extras.manual.values import keywords_of
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Node, NodeKind, Plan, plan_digest
from asyncstate.runtime import StateRuntime
from docs.bundled import bundled_modules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VALUES: list[Any] = ["two\nlines", -5, 10**20, math.inf, True, False, None, [["zz"]], [{"zz": [1]}], {"zz": {"y": [1]}}]
"""What a slip of YAML or of a template leaves; dates are texts in an SLS."""
ODD: list[Any] = [5, [1], {"a": 1}, "odd", ["a"], 1.5, [{"a": [1]}], -1, "", {"a": {"b": []}}]
"""Other shapes: each argument is tried with two of them."""
NOT_TRIED = ("cmd.call", "event.wait", "git", "pip", "pkg.", "postgres")
"""States that take a Python function, and those whose dry run asks an index or a server, or waits."""
SLOW = ("mount.mounted", "salt.", "virtualenv")
"""States whose dry run starts programs: they get the two other shapes only."""
_LATE = re.compile(r"'\w+' must be .* not (?:a |true|nothing)")
"""What a row says of an argument that the call tripped over; one that is refused before has the state's name, too."""
PASSING_ON = {"x509", "http"}
"""States that give keywords to functions which alone know what they take."""
REQUISITES = {"require_in", "watch_in"}
"""Arguments of ``file.accumulated`` that the compiler takes."""


def functions() -> Iterator[tuple[str, Any]]:
    for name, providers in bundled_modules("states").items():
        for provider in providers:
            for function, func in provider.functions.items():
                if not function.startswith("mod_") and not f"{name}.{function}".startswith(NOT_TRIED):
                    yield f"{name}.{function}", func


def cases(function: str, func: Any, folder: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield an argument, a value of it, and all arguments of the call."""
    parameters = inspect.signature(inspect.unwrap(func)).parameters
    args: dict[str, Any] = {"name": str(folder / "file")}
    for parameter in parameters.values():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            given = example_of(function, parameter.name).get(parameter.name)
            args.setdefault(parameter.name, yaml.safe_load(given) if given else "x")
    for number, argument in enumerate(dict.fromkeys((*parameters, *keywords_of(func)))):
        variadic = argument in parameters and parameters[argument].kind is inspect.Parameter.VAR_KEYWORD
        if not variadic and argument not in REQUISITES:
            for value in (*(() if function.startswith(SLOW) else VALUES), ODD[number % 10], ODD[(number + 5) % 10]):
                if argument != "name" or (isinstance(value, str) and value):
                    yield argument, value, args | {argument: value}


@pytest.mark.feature("F112")
@pytest.mark.filterwarnings("ignore")  # of expressions
@pytest.mark.timeout(300)
async def test_no_value_makes_a_dry_run_trip(tmp_path):
    (tmp_path / "file").write_text("port = 1\n")
    (tmp_path / "salt").mkdir()
    kept = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state")}
    settings = Settings(file_roots={"base": [str(tmp_path / "salt")]}, journal="off", **kept)
    tripped: dict[str, str] = {}
    async with StateRuntime(settings) as runtime:
        for function, func in functions():
            if runtime.host.loaders["states"].find(function) is None:
                continue
            state, _, fun = function.partition(".")
            chunks = [
                LowChunk(number, state, fun, f"{argument}: {value!r}", args.pop("name"), "s", "base", number, args)
                for number, (argument, value, args) in enumerate(cases(function, func, tmp_path))
            ]
            async with runtime.run(independent(chunks), test=True, events=False) as run:
                await run.wait()
            for row in run.report.rows.values():
                comment = str(row["comment"])
                if "Traceback" in comment or (_LATE.match(comment) and state not in PASSING_ON):
                    tripped[f"{function} {row['__id__']}"] = comment[-300:]
    assert tripped == {}


def independent(chunks: list[LowChunk]) -> Plan:
    """Return a plan in which no state waits for another one."""
    nodes = tuple(Node(NodeKind.CHUNK, number) for number in range(len(chunks)))
    dag = Dag(len(chunks))
    digest = plan_digest(tuple(chunks), nodes, dag)
    return Plan(tuple(chunks), nodes, ((),) * len(chunks), tuple(range(len(chunks))), dag, digest=digest)
