"""The examples of every bundled state and of each of its arguments compile without a mistake, and have a dry run."""

from __future__ import annotations

import hashlib
import re
import textwrap

import pytest
import yaml

from asyncstate import Settings, StateRuntime
from asyncstate.compile.findings import mistakes
from asyncstate.data.formats import yaml_data
from asyncstate.errors import CompileError
from asyncstate.extras.manual.described import described
from asyncstate.extras.manual.function import Function
from docs.bundled import bundled_modules

AT_HOME = frozenset(
    "alias alternatives cmd environ event file grains group host ini kmod stateconf sysctl test user".split()
)
"""Modules whose dry runs ask nobody but this machine."""


FAIL = frozenset(
    {
        "test.fail_without_changes",
        "grains.append",
        "file.accumulated",
        "file.cached",
        "file.patch",
        "alternatives.install",
        "alternatives.remove",
        "alternatives.set",
        "kmod.present",
        "sysctl.present",
    }
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
RIVALS = (
    {"source", "sources", "contents", "contents_pillar", "contents_grains", "text", "content", "encoded_data"},
    {"dataset", "dataset_pillar"},
    {"key", "key_values"},
    {"value", "key_values", "multivar"},
    {"append_if_not_found", "insert_before_match", "insert_after_match", "prepend_if_not_found"},
)
"""Arguments of which a state takes one."""


def arguments_in(text, state):
    """Return the arguments with which SLS text calls a state; the ID is the name that is not given."""
    for name, body in yaml_data(re.sub(r"\{\{.*?\}\}", "x", text)).items():
        if state in body:
            return [{"name": name}, *([] if body == state else body[state] or [])]
    return []


def argument_examples():
    """Return the example of each argument put into that of its state, {state: {argument: arguments of the state}}.

    Where a state is called from Python only, its own example has all arguments.
    """
    found = {}
    for name, providers in bundled_modules("states").items():
        for provider in providers:
            for function, func in provider.functions.items():
                state = f"{name}.{function}"
                if EXAMPLES[state].startswith("#!py"):
                    assert all(f'"{each.name}"' in EXAMPLES[state] for each in described(state, func)[1:2])
                    continue
                items = arguments_in(EXAMPLES[state], state)
                arguments = described(state, func)
                known = {argument.name for argument in arguments}
                base = {key: value for item in items for key, value in item.items() if key in known}
                for argument in arguments:
                    given = yaml_data("\n".join(line[2:] for line in argument.example)) or {}
                    against = {rival for group in RIVALS for each in given if each in group for rival in group}
                    kept = {key: value for key, value in base.items() if key not in against}
                    found.setdefault(state, {})[argument.name] = {**kept, **given} if given else {}
    return found


ARGUMENTS = argument_examples()
APP = {
    "config": "port = 8080", "encoded": "cG9ydAo=", "settings": {"port": 1}, "debug": True, "port": 1, "name": "a",
    "servers": ["a"],
}  # fmt: skip
SECRETS = re.findall(r"""pillar\[["'](\w+)""", str(ARGUMENTS) + str(EXAMPLES))


def called(text):
    """Return the functions that SLS text calls."""
    if text.startswith("#!py"):
        return set(re.findall(r'"(\w+\.\w+)"', text))
    bodies = yaml_data(re.sub(r"\{\{.*?\}\}", "x", text)).values()
    return {name for body in bodies for name in ([body] if isinstance(body, str) else body)}


@pytest.fixture
def runtime(tmp_path):
    """A runtime for a tree with the example of each state in an SLS file of its own."""
    (tmp_path / "salt").mkdir()
    (tmp_path / "srv").mkdir()  # commands run there

    def write(name, text):
        here = text.replace("/etc/app", f"{tmp_path}/app").replace("/srv/app", f"{tmp_path}/srv")
        (tmp_path / "salt" / f"{name.replace('.', '-')}.sls").write_text(here)

    for name, text in EXAMPLES.items():
        write(name, text)
    for state, examples in ARGUMENTS.items():
        ids = {
            f"arg-{name}": {state: [{key: value} for key, value in given.items()]} for name, given in examples.items()
        }
        ids["app-conf"] = "test.nop"  # what `require` names
        write(f"args.{state}", yaml.safe_dump(ids, sort_keys=False).replace("file: app-conf", "test: app-conf"))
    for name in ("app.conf", "app.conf.default"):
        (tmp_path / name).write_text("# begin\n# end\nhost = a\nport = 1\n# debug = no\ndebug = no\n")
    for source in re.findall(r"salt://([\w./-]+)", "".join(EXAMPLES.values()) + str(ARGUMENTS)):
        place = tmp_path / "salt" / source
        place.parent.mkdir(parents=True, exist_ok=True)
        if "." in place.name or place.name in {"answers", "crontab"}:
            place.write_text("x\n")
        elif place.name == "SHA256SUMS":
            place.write_text(f"{hashlib.sha256(b'x' + bytes([10])).hexdigest()}  app.conf\n")
        else:
            place.mkdir(exist_ok=True)
            (place / "x").write_text("x\n")
    return StateRuntime(
        Settings(
            file_roots={"base": [str(tmp_path / "salt")]},
            cachedir=str(tmp_path / "cache"),
            state_dir=str(tmp_path / "state"),
            pillar={"app": APP, **dict.fromkeys(SECRETS, "x"), "ada_verifier": "md5" + 32 * "0"},
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


def test_every_argument_of_every_bundled_state_has_an_example():
    assert [f"{state}.{name}" for state, found in ARGUMENTS.items() for name in found if not found[name]] == []


def test_every_example_of_an_argument_compiles_without_a_mistake(runtime):
    found = {}
    with runtime.open_sync() as opened:
        for state in ARGUMENTS:
            if opened.host.loaders["states"].find(state) is None:
                continue
            try:
                wrong = mistakes(opened.compile_sync([f"args-{state.replace('.', '-')}"]).warnings)
            except CompileError as error:
                wrong = error.issues
            # each example is a tree of its own
            messages = [issue.message for issue in wrong if issue.rule not in {"undone", "refused"}]
            if messages:
                found[state] = messages
    assert found == {}


async def test_every_example_of_an_argument_that_needs_nobody_else_has_a_dry_run(runtime):
    broken = {}
    async with runtime as opened:
        for state in ARGUMENTS:
            if state.partition(".")[0] not in AT_HOME or opened.host.loaders["states"].find(state) is None:
                continue
            report = await opened.apply([f"args-{state.replace('.', '-')}"], test=True, lock=False)
            for row in report.rows.values():
                if row["result"] is False and state not in FAIL:
                    broken[f"{state} {row['__id__']}"] = row["comment"]
    assert not broken, "\n".join(f"{name}: {why}" for name, why in broken.items())
