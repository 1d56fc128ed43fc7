"""The example of every bundled state compiles without a mistake; what a dry run of it needs is nothing but itself."""

from __future__ import annotations

import re
import textwrap

import pytest
import yaml

from asyncstate import Settings, StateRuntime
from asyncstate.compile.findings import mistakes
from asyncstate.reference.function import Function
from asyncstate.reference.pages import bundled_modules

AT_HOME = frozenset(
    "alias alternatives cmd environ event file grains group host ini kmod stateconf sysctl test user".split()
)
"""Modules whose dry runs ask nobody but this machine."""


FAIL = frozenset(
    {"test.fail_without_changes", "grains.append", "file.patch", "alternatives.remove", "alternatives.set"}
)
"""Whose dry run fails: that is what it is for, or it needs something that is there."""


def examples():
    """Return the example of each bundled state, of its documentation or made for it, with its ID."""
    found = {}
    for name, providers in bundled_modules("states").items():
        for provider in providers:
            for function, func in provider.functions.items():
                one = Function("states", f"{name}.{function}", func)
                text = one.example or re.split(r"::[ ]*\n", one.doc, maxsplit=1)[1]
                found[one.name] = textwrap.dedent(text.strip("\n")).rstrip() + "\n"
    return found


EXAMPLES = examples()


def called(text):
    """Return the functions that SLS text calls."""
    if text.startswith("#!py"):
        return set(re.findall(r'"(\w+\.\w+)"', text))
    bodies = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "x", text)).values()
    return {name for body in bodies for name in ([body] if isinstance(body, str) else body)}


@pytest.fixture
def runtime(tmp_path):
    """A runtime for a tree with the example of each state in an SLS file of its own."""
    (tmp_path / "salt").mkdir()
    for name, text in EXAMPLES.items():
        here = text.replace("/etc/app", f"{tmp_path}/app").replace("/srv/app", f"{tmp_path}/srv")
        (tmp_path / "salt" / f"{name.replace('.', '-')}.sls").write_text(here)
    for name in ("app.conf", "app.conf.default"):
        (tmp_path / name).write_text("# begin\n# end\nhost = a\nport = 1\n# debug = no\ndebug = no\n")
    for source in re.findall(r"salt://(\S+)", "".join(EXAMPLES.values())):
        place = tmp_path / "salt" / source
        place.parent.mkdir(parents=True, exist_ok=True)
        if "." in place.name or place.name in {"answers", "crontab"}:
            place.write_text("x\n")
        else:
            place.mkdir(exist_ok=True)
            (place / "x").write_text("x\n")
    return StateRuntime(
        Settings(
            file_roots={"base": [str(tmp_path / "salt")]},
            cachedir=str(tmp_path / "cache"),
            state_dir=str(tmp_path / "state"),
            pillar={"app": {}, "ada_verifier": "md5" + 32 * "0", "ada_password": "x", "partner_certificate": "x"},
        )
    )


def test_every_bundled_state_has_an_example_that_calls_it():
    assert [name for name, text in EXAMPLES.items() if name not in called(text)] == []


def test_every_example_compiles_without_a_mistake(runtime):
    found = {}
    with runtime.open_sync() as opened:
        for name in EXAMPLES:
            if opened.host.loaders["states"].find(name) is None:
                continue
            plan = opened.compile_sync([name.replace(".", "-")])
            if wrong := mistakes(plan.warnings):
                found[name] = [issue.message for issue in wrong]
    assert found == {}


async def test_every_example_that_needs_nobody_else_has_a_dry_run_without_an_exception(runtime):
    broken = {}
    async with runtime as opened:
        for name in EXAMPLES:
            if name.partition(".")[0] not in AT_HOME or opened.host.loaders["states"].find(name) is None:
                continue
            report = await opened.apply([name.replace(".", "-")], test=True, lock=False)
            for row in report.rows.values():
                if (
                    "xception" in row["comment"]
                    or "Traceback" in row["comment"]
                    or (row["result"] is False and name not in FAIL)
                ):
                    broken[name] = row["comment"]
    assert not broken, "\n".join(f"{name}: {why}" for name, why in broken.items())
