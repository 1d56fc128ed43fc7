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
CALLS = ("managed", "append", "absent", "directory", "recurse", "symlink", "copy", "remove", "look", "wait", "within")
KINDS = ("require", "onchanges", "onfail", "watch", "require_any", "onchanges_any", "onfail_all")
ORDERS = (1, 2, "last")


@st.composite
def calls(draw, root, number):
    """(module, function, arguments) of one state."""
    path, other = (f"{root}/{draw(st.sampled_from(NAMES))}" for _ in range(2))
    match draw(st.sampled_from(CALLS)):
        case "managed":
            text = {"contents": draw(st.sampled_from(("one", "two")))}
            return "file", "managed", [{"name": path}, text, *[{"makedirs": True}] * draw(st.integers(0, 1))]
        case "append":
            return "file", "append", [{"name": path}, {"text": f"line {number}"}]
        case "directory":
            return "file", "directory", [{"name": path}]
        case "recurse":
            mode = {"file_mode": draw(st.sampled_from(("600", "644")))}
            return "file", "directory", [{"name": path}, mode, {"recurse": ["mode"]}]
        case "absent":
            return "file", "absent", [{"names": [path, f"{root}/link"]} if draw(st.booleans()) else {"name": path}]
        case "symlink":
            return "file", "symlink", [{"name": f"{root}/link"}, {"target": path}]
        case "copy":
            return "cmd", "run", [{"name": f"t=$(cat {path}) && sleep 0.01 && echo $t $t > {other}"}]
        case "remove":
            return "cmd", "run", [{"name": f"sleep 0.01; rm -f {path}"}, {"onlyif": f"test -f {path}"}]
        case "look":
            return "cmd", "run", [{"name": f"sleep 0.005; cat {path}"}]
        case "wait":
            return "cmd", "wait", [{"name": f"sleep 0.005; echo again >> {path}"}]
        case _:
            return "cmd", "run", [{"name": "sleep 0.005; cat *"}, {"cwd": f"{root}/{draw(st.sampled_from('ad'))}"}]


@st.composite
def trees(draw, root, max_size=7):
    """An SLS over a few paths below ``root``; commands take their time between looking and writing."""
    high, asked_by = {}, None
    size = draw(st.integers(2, max_size))
    for number in range(size):
        module, function, arguments = draw(calls(root, number))
        known = [other for other in range(number) if other != asked_by]
        if known and (function == "wait" or draw(st.integers(0, 3)) == 0):
            kind = "watch" if function == "wait" else draw(st.sampled_from(KINDS))
            arguments.append({kind: [f"s{draw(st.sampled_from(known))}"]})
        if module == "file" and draw(st.integers(0, 4)) == 0:
            condition = f"test -e {root}/{draw(st.sampled_from(NAMES))}"
            arguments.append({draw(st.sampled_from(("onlyif", "unless"))): condition})
        if draw(st.integers(0, 7)) == 0:
            arguments.append({"order": draw(st.sampled_from(ORDERS))})
        if draw(st.integers(0, 7)) == 0:
            arguments.append({"listen_in": [f"s{draw(st.integers(0, size - 1))}"]})
        asks = asked_by is None and number + 1 < size and draw(st.integers(0, 5)) == 0
        asked_by = number if asks else None
        if asks:
            arguments.append({"prereq": [f"s{number + 1}"]})
        high[f"s{number}"] = {f"{module}.{function}": arguments}
    return high


def snapshot(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders.sort()
        found.append((folder, os.stat(folder).st_mode))
        for file in sorted(files):
            path = os.path.join(folder, file)
            if os.path.islink(path):
                found.append((path, os.readlink(path)))
                continue
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


ONCE = {"phases": (Phase.generate,), "suppress_health_check": list(HealthCheck)}


@pytest.mark.timeout(300)
@settings(max_examples=50, **ONCE)
@given(data=st.data(), width=st.integers(2, 16))
def test_files_and_commands_do_the_same_at_any_concurrency(tmp_path, data, width):
    holds(tmp_path, data, concurrency=width)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=600, derandomize=False, **ONCE)
@given(data=st.data(), width=st.integers(2, 16), shuffle=st.none() | st.integers(0, 99))
def test_hundreds_of_trees_of_files(tmp_path, data, width, shuffle):
    holds(tmp_path, data, concurrency=width, shuffle=shuffle)
