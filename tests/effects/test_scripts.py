"""Scripts that states run are read when the tree is compiled, where their text is the one that runs."""

import asyncio

import pytest
from bundled_states import Bundled
from messages import said
from trees import plan, reachable

from asyncstate import Settings, StateRuntime

SCRIPT = "#!/bin/sh\necho a > /srv/out\n"
TREE = "/memory/base"
RUNS = "cmd.script: [{name: x}, {source: 'salt://script.sls'}]"
READS = "file.exists: [{name: /srv/out}]"


def compiled(*states, script=SCRIPT):
    tree = {f"f{number}": f"s{number}:\n  {state}\n" for number, state in enumerate(states)}
    return plan(
        {**tree, "script": script},
        list(tree),
        states=Bundled(),
        implicit_order="footprint",
        envs={"dev": {"of_dev": SCRIPT}},
    )


@pytest.mark.parametrize(
    "state",
    [
        RUNS,
        "cmd.script: [{name: 'salt://script.sls with arguments'}]",
        "cmd.wait_script: [{name: x}, {source: 'salt://script.sls'}]",
        "cmd.script: [{name: x}, {source: 'salt://of_dev.sls'}, {saltenv: dev}]",
        "cmd.script: [{name: x}, {source: 'salt://of_dev.sls?saltenv=dev'}]",
    ],
)
def test_what_a_script_writes_is_known(state):
    pair = compiled(state, READS)
    assert reachable(pair, 0, 1)
    assert not pair.unknown


def test_a_script_of_this_machine(tmp_path):
    (tmp_path / "x.sh").write_text(SCRIPT)
    settings = Settings(file_roots={"base": [str(tmp_path)]}, pillar_roots={}, cachedir=str(tmp_path / "c"))
    tree = {"runs": {"cmd.script": [{"name": f"{tmp_path}/x.sh"}]}, "reads": {"file.exists": [{"name": "/srv/out"}]}}

    async def compiled_here():
        async with StateRuntime(settings) as runtime:
            return await runtime.compile_data(tree)

    pair = asyncio.run(compiled_here())
    assert reachable(pair, 0, 1)
    assert not pair.unknown


def test_its_arguments_its_folder_its_variables():
    script = '#!/bin/sh\necho a > "$1"\necho b > here\necho c > $PLACE\n'
    state = "cmd.script: [{name: x}, {source: 'salt://script.sls'}, {args: /a/b}, {cwd: /d}, {env: [{PLACE: /e/f}]}]"
    for place in ("/a/b", "/d/here", "/e/f"):
        pair = compiled(state, f"file.exists: [{{name: {place}}}]", script=script)
        assert reachable(pair, 0, 1)
        assert not pair.unknown


UNKNOWN = {
    "a state writes it": (f"file.managed: [{{name: {TREE}/script.sls}}]", RUNS),
    "a state writes the folder": (f"file.recurse: [{{name: {TREE}}}, {{source: /x}}]", RUNS),
    "a template": ("test.nop: []", "cmd.script: [{name: x}, {source: 'salt://script.sls'}, {template: jinja}]"),
    "it is not there": ("test.nop: []", "cmd.script: [{name: x}, {source: /no/such/script}]"),
    "no path": ("test.nop: []", "cmd.script: [{name: script.sls}]"),
    "a number": ("test.nop: []", "cmd.script: [{name: 5}]"),
    "several": ("test.nop: []", "cmd.script: [{name: x}, {source: ['salt://script.sls']}]"),
    "from a host": ("test.nop: []", "cmd.script: [{name: x}, {source: 'https://h/x.sh'}]"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_text_that_may_be_another_in_the_run_is_unknown(case):
    unknown = compiled(*UNKNOWN[case]).unknown
    assert [reason for reason in unknown.values() if "does is not known" in reason]


def test_a_script_that_writes_a_script():
    writes = f"#!/bin/sh\necho true > {TREE}/script.sls\n"
    pair = compiled(RUNS, RUNS, script=writes)
    assert ["does is not known" in reason for reason in pair.unknown.values()] == [True]
    assert reachable(pair, 0, 1)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "#!/usr/bin/python3\nopen('/x', 'w')\n",
            f"in the script salt://script.sls, {said('other-shell', what='python3')}",
        ),
        ("cp $X /y\n", f"in the script salt://script.sls, {said('open-word', what='$X')}"),
        ("if true\n", ""),
        ("echo 'a\n", f"in the script salt://script.sls, {said('unreadable-script', what='a quote')}"),
    ],
)
def test_what_stays_open_in_a_script_is_told(script, reason):
    told = "; ".join(compiled(RUNS, script=script).unknown.values())
    assert told.startswith(reason)
    assert bool(told) == bool(reason)
