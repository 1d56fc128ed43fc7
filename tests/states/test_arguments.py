"""A bundled state that is given something else than it takes says so: no traceback, whatever the argument."""

from __future__ import annotations

import asyncio
import inspect

import pytest
import yaml

from asyncstate import Settings, StateRuntime
from asyncstate.errors import CompileError
from asyncstate.reference.function import Function
from asyncstate.reference.pages import bundled_modules

ODD = (5, [1], {"a": 1}, None, True, "odd", ["a"], 1.5, [{"a": [1]}], -1, "", {"a": {"b": []}})
_ELSEWHERE = {"docker_container", "docker_image", "docker_network", "event", "git", "http", "pip", "pkg", "pkgrepo"}
MODULES = sorted(name for name in bundled_modules("states") if name not in _ELSEWHERE and "postgres" not in name)


def arguments_of(name, func, file):
    """What the documentation's example gives: a call that is all right."""
    example = Function("states", name, func).example
    given = {}
    for item in next(iter(yaml.safe_load(example)["my-id"].values())) if example else []:
        given |= item
    given.setdefault("name", "example")
    if name.partition(".")[0] in {"file", "ini", "x509"}:
        given["name"] = str(file)
    return given


@pytest.mark.filterwarnings("ignore:The re.TEMPLATE:DeprecationWarning")  # what `flags: True` comes to
@pytest.mark.parametrize("values", [2, pytest.param(len(ODD), marks=pytest.mark.slow)])
@pytest.mark.parametrize("module", MODULES)
def test_odd_arguments_make_a_row_in_words(module, tmp_path, values):
    """In dry runs: nothing of the machine changes. Modules that ask servers are left out."""
    file = tmp_path / "file"
    file.write_text("a = 1\n")
    (tmp_path / "salt").mkdir()
    settings = Settings(
        file_roots={"base": [str(tmp_path / "salt")]}, cachedir=str(tmp_path / "c"), state_dir=str(tmp_path / "s")
    )
    tracebacks = []

    async def ask():
        async with StateRuntime(settings) as runtime:
            for function, func in bundled_modules("states")[module][0].functions.items():
                name = f"{module}.{function}"
                given = arguments_of(name, func, file)
                for at, parameter in enumerate(inspect.signature(func).parameters.values()):
                    if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD} or parameter.name == "name":
                        continue
                    for step in range(values):  # each argument has others, all of them in the slow test
                        value = ODD[(at + 5 * step) % len(ODD)]
                        try:
                            report = await runtime.single(name, {**given, parameter.name: value}, test=True)
                        except CompileError:
                            continue  # the module does not load on this machine, or the value is no argument at all
                        row = next(iter(report.rows.values()))
                        if "Traceback" in str(row["comment"]):
                            tracebacks.append((name, parameter.name, value, str(row["comment"]).splitlines()[-1]))

    asyncio.run(ask())
    assert tracebacks == []
