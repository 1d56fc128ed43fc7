"""The same on real files, with the bundled file and cmd states."""

from __future__ import annotations

import asyncio
import json
import os
import shutil

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asyncstate import Settings, StateRuntime

TIMED = ("start_time", "duration")
NAMES = ("a", "a/b", "a/c", "d", "d/e", "f")
CALLS = ("managed", "append", "absent", "directory", "recurse", "copy", "remove", "look")
KINDS = ("require", "onchanges", "onfail", "watch", "require_any")


@st.composite
def trees(draw, root, max_size=7):
    """An SLS over a few paths below ``root``; commands take their time between looking and writing."""
    high = {}
    for number in range(draw(st.integers(2, max_size))):
        call = draw(st.sampled_from(CALLS))
        path, other = (f"{root}/{draw(st.sampled_from(NAMES))}" for _ in range(2))
        arguments = []
        match call:
            case "managed":
                arguments = [{"name": path}, {"contents": draw(st.sampled_from(("one", "two")))}]
                arguments += [{"makedirs": True}] * draw(st.integers(0, 1))
            case "append":
                arguments = [{"name": path}, {"text": f"line {number}"}]
            case "directory":
                arguments = [{"name": path}]
            case "recurse":
                call = "directory"
                arguments = [
                    {"name": path},
                    {"file_mode": draw(st.sampled_from(("600", "644")))},
                    {"recurse": ["mode"]},
                ]
            case "absent":
                arguments = [{"name": path}]
            case "copy":
                arguments = [{"name": f"t=$(cat {path}) && sleep 0.01 && echo $t $t > {other}"}]
            case "remove":
                arguments = [{"name": f"sleep 0.01; rm -f {path}"}, {"onlyif": f"test -f {path}"}]
            case "look":
                arguments = [{"name": f"sleep 0.005; cat {path}"}]
        module = "cmd" if call in {"copy", "remove", "look"} else "file"
        function = "run" if module == "cmd" else call
        if number and draw(st.integers(0, 3)) == 0:
            arguments.append({draw(st.sampled_from(KINDS)): [f"s{draw(st.integers(0, number - 1))}"]})
        if module == "file" and draw(st.integers(0, 4)) == 0:
            arguments.append({draw(st.sampled_from(("onlyif", "unless"))): f"test -e {other}"})
        high[f"s{number}"] = {f"{module}.{function}": arguments}
    return high


def snapshot(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders.sort()
        found.append((folder, os.stat(folder).st_mode))
        for file in sorted(files):
            path = os.path.join(folder, file)
            with open(path, encoding="utf-8") as stream:
                found.append((path, os.stat(path).st_mode, stream.read()))
    return found


def outcome(roots, sls, root, **options):
    """Apply an SLS to an empty folder; return what is there then, and the rows."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    (roots / "t.sls").write_text(json.dumps(sls))

    async def main():
        settings = Settings(file_roots={"base": [str(roots)]}, pillar_roots={}, cachedir=str(roots.parent / "cache"))
        async with StateRuntime(settings) as runtime:
            return await runtime.apply(["t"], **options)

    report = asyncio.run(main())
    rows = [(tag, {key: value for key, value in row.items() if key not in TIMED}) for tag, row in report.rows.items()]
    for _, row in rows:
        if isinstance(row["changes"], dict):
            row["changes"].pop("pid", None)
    return snapshot(root), rows


def holds(tmp_path, data, **options):
    root, roots = tmp_path / "root", tmp_path / "salt"
    roots.mkdir(exist_ok=True)
    sls = data.draw(trees(root))
    assert outcome(roots, sls, root, **options) == outcome(roots, sls, root, concurrency=1)


ONCE = {"phases": (Phase.generate, Phase.shrink), "suppress_health_check": list(HealthCheck)}


@settings(max_examples=60, **ONCE)
@given(data=st.data(), width=st.integers(2, 16))
def test_files_and_commands_do_the_same_at_any_concurrency(tmp_path, data, width):
    holds(tmp_path, data, concurrency=width)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=600, derandomize=False, **ONCE)
@given(data=st.data(), width=st.integers(2, 16), shuffle=st.none() | st.integers(0, 99))
def test_hundreds_of_trees_of_files(tmp_path, data, width, shuffle):
    holds(tmp_path, data, concurrency=width, shuffle=shuffle)
