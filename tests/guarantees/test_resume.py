"""A run that is killed at any moment and resumed ends as one that was left alone: rows, numbers, files.

The trees really change a machine, a folder. A process applies each and kills itself at one moment; another resumes it.
What can differ is the row of a state that was cut off in mid-call, and only so: what it had done before the kill is not
among its changes any more. `LATER` says what its row is then.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import messages
import pytest

DRIVER = Path(__file__).parent.parent / "support" / "crash_driver.py"
MODULE = '''
import os
import sys

MACHINE = {machine!r}


def _called(name):
    sys.crash_moment("call")
    with open(os.path.join(MACHINE, "calls"), "a") as file:
        file.write(name + "\\n")


def _written(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def _done(ret):
    sys.crash_moment("done")
    return ret


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
        _written(path, content)
        ret["changes"], ret["comment"] = {{name: "made"}}, "made"
    return _done(ret)


def mod_watch(name, sfun=None, **kwargs):
    """Write a file beside it: the restart of a service."""
    _called(name + ".watch")
    _written(os.path.join(MACHINE, name + ".watch"), "restarted")
    return _done({{"name": name, "changes": {{"restarted": name}}, "result": True, "comment": "restarted"}})


def stays(name, **kwargs):
    """Find nothing to do, so that only what it watches makes it act."""
    _called(name)
    return _done({{"name": name, "changes": {{}}, "result": True, "comment": "as it was"}})


def stumbles(name, **kwargs):
    """Succeed at the third attempt."""
    _called(name)
    path = os.path.join(MACHINE, name)
    with open(path, "a") as file:
        file.write("x")
    done = os.path.getsize(path) >= 3
    if done:
        _written(path, "xxx")
    return _done({{"name": name, "changes": {{"tries": "some"}} if done else {{}}, "result": done, "comment": ""}})


def several(name, **kwargs):
    """Report two more states."""
    _called(name)
    low = {{"state": "crash", "__id__": name, "fun": "several"}}
    subs = [{{"low": {{**low, "name": part}}, "result": True, "changes": {{"sub": part}}, "comment": part, "duration": 0.1}}
            for part in ("one", "two")]
    return _done({{"name": name, "changes": {{"sub": 1}}, "result": True, "comment": "", "sub_state_run": subs}})
'''
TOGETHER = '''
import os
import sys

MACHINE = {machine!r}


def there(name, pkgs=None, **kwargs):
    """Write the files of one or of many states at once."""
    sys.crash_moment("call")
    with open(os.path.join(MACHINE, "calls"), "a") as file:
        file.write(name + "\\n")
    changes = {{}}
    for each in pkgs or [name]:
        path = os.path.join(MACHINE, each)
        if not os.path.exists(path):
            with open(path + ".new", "w") as file:
                file.write(each)
            os.rename(path + ".new", path)
            changes[each] = "made"
    sys.crash_moment("done")
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
            f"{n}_served: {{crash.stays: [name: {n}_served, watch: [file: {n}_conf]]}}",
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


@pytest.fixture
def crash(tmp_path):
    """Apply a tree of so many states, killed at some points and resumed; yield the answer to each."""

    def crash(count, concurrency, *points):
        folder = Path(tempfile.mkdtemp(dir=fast_folder(tmp_path)))
        try:
            yield from answers(folder, count, concurrency, points)
        finally:
            shutil.rmtree(folder)

    return crash


def fast_folder(otherwise):
    """Return a folder in memory, where a sync takes no time."""
    memory = "/dev/shm"
    return memory if os.path.ismount(memory) and os.access(memory, os.W_OK) else otherwise


def answers(folder, count, concurrency, points):
    states = folder / "salt" / "_states"
    states.mkdir(parents=True)
    machine = str(folder / "machine")
    (states / "crash.py").write_text(MODULE.format(machine=machine))
    (states / "together.py").write_text(TOGETHER.format(machine=machine))
    (folder / "salt" / "site.sls").write_text(tree(count, machine))
    command = [sys.executable, str(DRIVER), str(folder), str(concurrency), *points]
    with (
        (folder / "errors").open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as driver,
    ):
        yield from map(json.loads, driver.stdout)
    assert driver.returncode == 0, (folder / "errors").read_text()[-3000:]


SAID = "It had started "
UNTOLD = {"interrupted": messages.said("cut-off")}
LATER = {
    # function: what its row says, and its changes, if a call before has done all or a part of the work
    "made": [("there", {}), ("restarted", {"restarted": ...})],
    "managed": [("is in the correct state", {})],
    "append": [("File", {})],
    "run": [("exists", {})],
    "there": [("there", {})],
    "stumbles": [("", {"tries": "some"})],  # some of its attempts are used up
}


def lasting(row):
    """Return a row without its times and process numbers."""
    kept = {key: value for key, value in row.items() if key not in {"start_time", "duration"}}
    kept["changes"] = {key: value for key, value in row["changes"].items() if key != "pid"}
    return kept


def said_later(row, tag):
    """Whether a row is one of a state whose work was done, or begun, when it was run again."""
    name, function = tag.split("_|-")[2:]
    for words, changes in LATER.get(function, ()):
        changes = {key: name if value is ... else value for key, value in changes.items()}
        if words in row["comment"] and row["changes"] in (changes, changes or UNTOLD):
            return True
    return False


def unlike(row, undisturbed, tag, *, cut_off):
    """Return how the row of a state differs from what it may be; "" if it does not."""
    own = lasting(row)
    comment, said, _ = own["comment"].partition(SAID)
    if not said:
        return "" if own == undisturbed else "another row"
    if not cut_off:
        return "says that it was cut off"
    own["comment"] = comment.removesuffix("\n")
    if own == undisturbed or own == {**undisturbed, "changes": undisturbed["changes"] or UNTOLD}:
        return ""
    # A second call may say more, or less, than that it changed something (`cmd.run` with `creates`: skip_watch).
    fixed = ("name", "result", "__id__", "__sls__", "__run_num__")
    same = all(own[key] == undisturbed[key] for key in fixed)
    return "" if same and said_later(row, tag) else "no row that it can have"


def check(answer, alone):
    deaths = answer["deaths"]
    if "error" in answer and deaths[-1]["finished"]:
        assert "came to its end: " in answer["error"]
        assert answer["files"] == alone["files"]
        return
    if "error" in answer:  # it had not begun
        assert "has no runs" in answer["error"]
        assert not any(death["begun"] or death["calls"] for death in deaths)
        return
    ended, cut_off = {}, set()
    for death, calls in zip(deaths, [*(death["calls"] for death in deaths[1:]), answer["calls"]], strict=True):
        cut_off |= {each for tag in death["open"] for each in (tag, *partners(tag, alone, death))} - ended.keys()
        for tag, row in death["ended"].items():
            # What has ended is not run again, and its row stands with its times.
            assert {**ended.get(tag, row)} == row
            ended[tag] = row
        assert not {called_by(tag) for tag in ended} & set(calls)
    assert list(answer["rows"]) == list(alone["rows"])
    wrong = {}
    for tag, row in answer["rows"].items():
        problem = unlike(row, lasting(alone["rows"][tag]), tag, cut_off=tag in cut_off)
        if not problem and tag in ended and {**ended[tag], "__run_num__": row["__run_num__"]} != row:
            problem = "not the row that it had"
        if problem:
            wrong[tag] = problem, row, alone["rows"][tag]
    assert wrong == {}
    # A state that had done its work when it was killed finds nothing to do, so that its mod_watch is called as well.
    may_be_more = {tag.split("_|-")[2] + ".watch" for tag in cut_off}
    more = (answer["files"].keys() - alone["files"].keys()) & may_be_more
    assert {path: each for path, each in answer["files"].items() if path not in more} == alone["files"]
    assert answer["exit"] == alone["exit"]
    assert answer["notices"] == alone["notices"]


def partners(tag, alone, death):
    """Return the tags whose work the call of a state may have done as well: all of the group, if it is the first."""
    group = [each for each in alone["rows"] if each.startswith("together_|-")]
    return [] if tag not in group or death["ended"].keys() & set(group) else group


def called_by(tag):
    """Return what the module of the tree writes down when a state calls it; a listener calls its mod_watch."""
    name, function = tag.split("_|-")[2:]
    return f"{name}.watch" if function.endswith("mod_watch") else name


def tried(crash, count, concurrency, *points):
    """Check the answers to points; return how many there were."""
    found = iter(crash(count, concurrency, *points))
    alone, number = next(found), 0
    for answer in found:
        if not answer["deaths"]:  # it was not killed: with many states at once the number of calls varies
            continue
        try:
            check(answer, alone)
        except AssertionError as error:
            error.add_note(f"killed at {answer['point']} of -j {concurrency}")
            raise
        number += 1
    return number


@pytest.mark.parametrize(("concurrency", "least"), [(1, 12), (16, 12)])
def test_a_run_that_is_killed_and_resumed_ends_as_one_that_was_not(crash, concurrency, least):
    points = ["after:*/13+3", "torn:*/7+2", "call:*/7", "done:*/7+3", "after:15,torn:5,done:3"]
    assert tried(crash, 20, concurrency, *points) >= least


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize(
    ("points", "least"), [("after:*/1", 500), ("torn:*/1", 230), ("call:*/3", 50), ("done:*/2+1", 50)]
)
def test_every_moment_of_200_states(crash, concurrency, points, least):
    """After each line of the log, when each state has done its work, and in calls: of attempts, and of mod_watch."""
    assert tried(crash, 200, concurrency, points) >= least


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("concurrency", [1, 16])
def test_chains_of_runs_that_are_killed(crash, concurrency):
    kinds = [("after", 211), ("torn", 97), ("call", 13), ("done", 5)]
    chains = [
        ",".join(f"{kind}:{(start + 37 * place) % most}" for place, (kind, most) in enumerate(kinds))
        for start in range(5, 205, 10)
    ]
    assert tried(crash, 200, concurrency, *chains) == len(chains)
