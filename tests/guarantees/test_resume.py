"""A run that is killed at any event and resumed ends as one that was left alone: rows, numbers, files.

The trees really change a machine, a folder. A process applies each and kills itself at one event; another resumes it.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parent.parent / "support" / "crash_driver.py"
MODULE = '''
import os

MACHINE = {machine!r}


def _called(name):
    with open(os.path.join(MACHINE, "calls"), "a") as file:
        file.write(name + "\\n")


def made(name, content="", fail=False, **kwargs):
    """Write a file."""
    ret = {{"name": name, "changes": {{}}, "result": True, "comment": "there"}}
    if __opts__["test"]:
        ret["result"] = None if not os.path.exists(os.path.join(MACHINE, name)) else True
        return ret
    _called(name)
    if fail:
        return {{**ret, "result": False, "comment": "fails"}}
    path = os.path.join(MACHINE, name)
    if not os.path.exists(path):
        with open(path, "w") as file:
            file.write(content)
        ret["changes"], ret["comment"] = {{name: "made"}}, "made"
    return ret


def mod_watch(name, sfun=None, **kwargs):
    """Write a file beside it: the restart of a service."""
    _called(name + ".watch")
    with open(os.path.join(MACHINE, name + ".watch"), "w") as file:
        file.write("restarted")
    return {{"name": name, "changes": {{"restarted": name}}, "result": True, "comment": "restarted"}}


def stumbles(name, **kwargs):
    """Succeed at the third attempt."""
    _called(name)
    path = os.path.join(MACHINE, name)
    with open(path, "a") as file:
        file.write("x")
    done = os.path.getsize(path) >= 3
    if done:
        with open(path, "w") as file:
            file.write("xxx")
    return {{"name": name, "changes": {{"tries": "some"}} if done else {{}}, "result": done, "comment": ""}}


def several(name, **kwargs):
    """Report two more states."""
    _called(name)
    low = {{"state": "crash", "__id__": name, "fun": "several"}}
    subs = [{{"low": {{**low, "name": part}}, "result": True, "changes": {{"sub": part}}, "comment": part, "duration": 0.1}}
            for part in ("one", "two")]
    return {{"name": name, "changes": {{"sub": 1}}, "result": True, "comment": "", "sub_state_run": subs}}
'''
TOGETHER = '''
import os

MACHINE = {machine!r}


def there(name, pkgs=None, **kwargs):
    """Write the files of one or of many states at once."""
    with open(os.path.join(MACHINE, "calls"), "a") as file:
        file.write(name + "\\n")
    changes = {{}}
    for each in pkgs or [name]:
        path = os.path.join(MACHINE, each)
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(each)
            changes[each] = "made"
    return {{"name": name, "changes": changes, "result": True, "comment": "there"}}


def mod_aggregate(low, chunks, running):
    names = [low["name"]]
    for chunk in chunks:
        if chunk.get("__agg__") or chunk["fun"] != "there":
            continue
        chunk["__agg__"] = True
        names.append(chunk["name"])
    low["pkgs"] = sorted(set(names))
    return low


def mod_aggregate_split(low, chunks, ret):
    return {{
        "_|-".join((each["state"], each["__id__"], each["name"], each["fun"])): {{
            key: value for key, value in ret["changes"].items() if key == each["name"]
        }}
        for each in chunks
    }}
'''


def tree(count, machine):
    """Return a tree of about so many states in which everything occurs that one state can do to another."""
    lines = []
    for number in range(max(1, count // 20)):
        n = f"s{number}"
        lines += [
            f"{n}_a: {{crash.made: [name: {n}_a]}}",
            f"{n}_conf: {{file.managed: [name: {machine}/{n}.conf, contents: 'port {n}', mode: '0640']}}",
            f"{n}_line: {{file.append: [name: {machine}/{n}.conf, text: 'more']}}",
            f"{n}_daemon: {{crash.made: [name: {n}_daemon, watch: [file: {n}_conf, file: {n}_line]]}}",
            f"{n}_on: {{crash.made: [name: {n}_on, onchanges: [crash: {n}_a]]}}",
            f"{n}_quiet: {{test.succeed_without_changes: [require: [crash: {n}_on]]}}",
            f"{n}_never: {{crash.made: [name: {n}_never, onchanges: [test: {n}_quiet]]}}",
            f"{n}_pre: {{crash.made: [name: {n}_pre, prereq: [crash: {n}_goal]]}}",
            f"{n}_goal: {{crash.made: [name: {n}_goal]}}",
            f"{n}_idle: {{crash.made: [name: {n}_idle, prereq: [test: {n}_nothing]]}}",
            f"{n}_nothing: {{test.succeed_without_changes: [require: [crash: {n}_a]]}}",
            f"{n}_bad: {{crash.made: [name: {n}_bad, fail: true]}}",
            f"{n}_rescue: {{crash.made: [name: {n}_rescue, onfail: [crash: {n}_bad]]}}",
            f"{n}_blocked: {{crash.made: [name: {n}_blocked, require: [crash: {n}_bad]]}}",
            f"{n}_heard: {{crash.made: [name: {n}_heard, listen: [file: {n}_conf]]}}",
            f"{n}_cmd: {{cmd.run: [name: 'echo {n} > {machine}/{n}_cmd', creates: {machine}/{n}_cmd]}}",
            f"{n}_sub: {{crash.several: [name: {n}_sub]}}",
            f"{n}_again: {{crash.stumbles: [name: {n}_again, retry: {{attempts: 5, interval: 0}}]}}",
            f"{n}_p: {{together.there: [name: {n}_p, aggregate: true]}}",
            f"{n}_q: {{together.there: [name: {n}_q, aggregate: true]}}",
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def crash(tmp_path_factory):
    """Apply a tree of so many states, killed at each of some points and resumed; return the answers by point."""

    def crash(count, concurrency, points):
        folder = tmp_path_factory.mktemp("crash")
        states = folder / "salt" / "_states"
        states.mkdir(parents=True)
        machine = str(folder / "machine")
        (states / "crash.py").write_text(MODULE.format(machine=machine))
        (states / "together.py").write_text(TOGETHER.format(machine=machine))
        (folder / "salt" / "site.sls").write_text(tree(count, machine))
        done = subprocess.run(
            [sys.executable, str(DRIVER), str(folder), str(concurrency), *map(str, points)],
            capture_output=True,
            text=True,
            check=False,
            timeout=170 + 3 * len(points),
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return {answer["point"]: answer for answer in map(json.loads, done.stdout.splitlines())}

    return crash


SAID = "It had started when run "


def comparable(answer):
    """Return the rows without times, process numbers, and the sentence of a state that was run again."""
    rows = {}
    for tag, row in answer["rows"].items():
        kept = {key: value for key, value in row.items() if key not in {"start_time", "duration"}}
        kept["comment"] = kept["comment"].partition(SAID)[0].rstrip("\n")
        kept["changes"] = {key: value for key, value in kept["changes"].items() if key != "pid"}
        if SAID in row["comment"]:
            # What it did before it was killed is unknown; others must act on it nevertheless.
            kept = {key: kept[key] for key in ("name", "result", "__id__", "__sls__", "__run_num__")}
        rows[tag] = kept
    return rows


def check(answer, alone):
    assert "error" not in answer, answer
    assert list(answer["rows"]) == list(alone["rows"])
    undisturbed = comparable(alone)
    # A state that had done its work when it was killed finds nothing to do, so that its mod_watch is called as well.
    began = {row["name"] for row in answer["rows"].values() if SAID in row["comment"]}
    wrong = {
        tag: (row, undisturbed[tag])
        for tag, row in comparable(answer).items()
        if row != {key: value for key, value in undisturbed[tag].items() if key in row}
    }
    assert wrong == {}
    more = {path for path in answer["files"].keys() - alone["files"].keys() if path.removesuffix(".watch") in began}
    assert {path: each for path, each in answer["files"].items() if path not in more} == alone["files"]
    assert answer["exit"] == alone["exit"]
    again = set(answer["before"]) & set(answer["after"])
    assert {name.removesuffix(".watch") for name in again} <= began
    assert answer["notices"] == alone["notices"]


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_run_that_is_killed_and_resumed_ends_as_one_that_was_not(crash, concurrency):
    answers = crash(20, concurrency, [-1, *range(0, 62, 5)])
    alone = answers.pop(-1)
    for answer in answers.values():
        check(answer, alone)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("concurrency", [1, 16])
def test_every_event_of_200_states(crash, concurrency):
    answers = crash(200, concurrency, [-1, *range(620)])
    alone = answers.pop(-1)
    for answer in answers.values():
        check(answer, alone)
