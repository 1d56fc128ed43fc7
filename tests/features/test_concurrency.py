"""Running beside each other: limits, lanes, locks, interruptions, and one report for any width."""

import asyncio
import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import time

import pytest

from asyncstate.errors import LockHeld
from asyncstate.guard.lock import RunLock
from asyncstate.model.event import ChunkFinished, ChunkStarted


class Crowd:
    """Counts how many states run at once, all of them and by the first letter of their name.

    Nobody leaves before as many have come in as are expected: ``expect(all=3)``, ``expect(d=2)``.
    """

    def __init__(self):
        self.now, self.most, self.expected = {}, {}, {}

    def expect(self, **numbers):
        self.expected = {key: (number, asyncio.Event()) for key, number in numbers.items()}

    async def run(self, name, **kwargs):
        for key in ("all", name[0]):
            self.now[key] = self.now.get(key, 0) + 1
            self.most[key] = max(self.most.get(key, 0), self.now[key])
        if name[0] == "e":
            assert self.now["all"] == 1
        for key in ("all", name[0]):
            number, complete = self.expected.get(key, (0, None))
            if complete is not None:
                if self.now[key] >= number:
                    complete.set()
                await asyncio.wait_for(complete.wait(), 40)
        await asyncio.sleep(0.003)
        for key in ("all", name[0]):
            self.now[key] -= 1
        return {"name": name, "result": True, "changes": {}, "comment": ""}


@pytest.fixture
def crowd(tree):
    tree.crowd = Crowd()
    tree.states["x.run"] = tree.crowd.run
    return tree


@pytest.mark.feature("F130")
@pytest.mark.parametrize("limit", [1, 3, 16])
def test_as_many_as_allowed_run_at_once(crowd, limit):
    crowd.write({"a.sls": "\n".join(f"s{n}: x.run" for n in range(20))})
    crowd.crowd.expect(all=limit)
    assert crowd.report(concurrency=limit).ok
    assert crowd.crowd.most["all"] == limit


@pytest.mark.feature("F134", "F136")
def test_exclusive_states_and_lanes(crowd):
    lines = [f"d{n}: {{x.run: [{{lane: downloads}}]}}" for n in range(6)]
    lines += [f"o{n}: {{x.run: [{{lane: [one, downloads]}}]}}" for n in range(3)]
    lines += [f"u{n}: {{x.run: [{{lane: unnamed}}]}}" for n in range(3)]
    lines += [f"f{n}: x.run" for n in range(6)] + ["e: {x.run: [{exclusive: true}]}"]
    expected = {"d": 2, "o": 1, "u": 1, "f": 6, "e": 1}
    crowd.crowd.expect(**expected)
    report = crowd.write({"a.sls": "\n".join(lines)}).report(concurrency=16, lanes={"downloads": 2})
    assert report.ok, [row["comment"] for row in report.rows.values()]
    assert {key: crowd.crowd.most[key] for key in "doufe"} == expected


@pytest.mark.feature("F135")
def test_a_module_whose_states_run_alone(crowd):
    module = "__exclusive__ = True\nasync def run(name):\n    return await __states__['x.run'](name=name)\n"
    lines = [f"e{n}: alone.run" for n in range(3)] + [f"f{n}: x.run" for n in range(3)]
    crowd.write({"_states/alone.py": module, "a.sls": "\n".join(lines)})
    report = crowd.report(concurrency=16)
    assert report.ok, [row["comment"] for row in report.rows.values()]
    assert crowd.crowd.most["e"] == 1


@pytest.mark.feature("F135")
def test_a_state_of_such_a_module_that_may_run_beside_others(crowd):
    module = "__exclusive__ = True\nasync def run(name):\n    return await __states__['x.run'](name=name)\n"
    lines = [f"f{n}: {{alone.run: [{{exclusive: false}}]}}" for n in range(3)]
    crowd.write({"_states/alone.py": module, "a.sls": "\n".join(lines)})
    crowd.crowd.expect(f=3)
    assert crowd.report(concurrency=16).ok
    assert crowd.crowd.most["f"] == 3


@pytest.mark.feature("F134")
def test_a_module_with_a_lane_of_its_own(crowd):
    module = "__lane__ = 'manager'\nasync def run(name):\n    return await __states__['x.run'](name=name)\n"
    lines = [f"m{n}: {{managed.run: [{{parallel: true}}]}}" for n in range(4)] + [f"f{n}: x.run" for n in range(3)]
    crowd.write({"_states/managed.py": module, "a.sls": "\n".join(lines)})
    crowd.crowd.expect(f=3)
    assert crowd.report(concurrency=16).ok
    assert (crowd.crowd.most["m"], crowd.crowd.most["f"]) == (1, 3)


@pytest.mark.feature("F134")
def test_a_function_that_is_not_there_hides_no_lane(crowd):
    module = "__lane__ = 'manager'\nasync def run(name):\n    return await __states__['x.run'](name=name)\n"
    lines = ["a: managed.rnu", *(f"m{n}: {{managed.run: [{{parallel: true}}]}}" for n in range(4))]
    crowd.write({"_states/managed.py": module, "a.sls": "\n".join(lines)})
    report = crowd.report(concurrency=16)
    assert [row["result"] for row in report.rows.values()] == [False, True, True, True, True]
    assert crowd.crowd.most["m"] == 1


@pytest.mark.feature("F134")
@pytest.mark.parametrize("name", ["pkg", "pkgrepo"])
def test_no_two_package_states_at_once(name):
    assert importlib.import_module(f"asyncstate.states.{name}").__lane__ == "pkgdb"


@pytest.mark.feature("F136")
def test_lanes_taken_crosswise_do_not_lock_each_other_out(crowd, width):
    pairs = ["[p, q]", "[q, p]", "[r, p]", "[q, r]"]
    lines = [
        f"s{n}: {{x.run: [{{lane: {pairs[n % 4]}}}, {{require: [{f's{n - 5}' if n > 4 else ''}]}}]}}" for n in range(40)
    ]
    assert crowd.write({"a.sls": "\n".join(lines)}).report(concurrency=width).ok


@pytest.mark.feature("F136")
def test_calls_within_calls_need_no_place_of_their_own(tree, width):
    tree.write(
        {
            "_states/deep.py": "import time\ndef run(name, depth):\n    time.sleep(0.002)\n"
            "    return __states__['deep.run'](name=name, depth=depth - 1) if depth else {'name': name, 'result': True, 'changes': {}, 'comment': ''}\n",
            "a.sls": "\n".join(f"s{n}: {{deep.run: [{{depth: 5}}]}}" for n in range(20)),
        }
    )
    assert tree.report(concurrency=width).ok


@pytest.mark.feature("F131", "B4")
def test_parallel_true_loses_nothing(sls, width):
    process = os.getpid()
    rows = (
        sls(
            "p: {x.run: [{parallel: true}, {changes: {a: 1}}]}\nw: {x.run: [{parallel: true}, {watch: [p]}]}\n"
            "l: {x.run: [{parallel: true}, {listen: [p]}]}\nq: {x.run: [{parallel: true}, {prereq: [t]}]}\nt: {x.run: [{predicted: [null, {}]}]}\n"
        )
        .report(concurrency=width)
        .rows
    )
    assert os.getpid() == process
    assert rows["x_|-w_|-w_|-run"]["comment"] == "reacted"
    assert "x_|-listener_l_|-l_|-mod_watch" in rows
    assert rows["x_|-q_|-q_|-run"]["comment"] == "done"
    assert not any("__parallel__" in row for row in rows.values())


@pytest.mark.feature("F132")
def test_states_at_once_see_their_own_dunders(tree):
    tree.write(
        {
            "_states/look.py": "import time\ndef look(name):\n    before = (__low__['name'], __env__, __opts__['test'])\n    time.sleep(0.004)\n"
            "    after = (__low__['name'], __env__, __opts__['test'])\n"
            "    return {'name': name, 'result': before == after and str(before[0]) == name, 'changes': {'env': str(__env__)}, 'comment': ''}\n",
            "a.sls": "\n".join(f"s{n}: {{look.look: [{{saltenv: e{n}}}]}}" for n in range(16)),
        }
    )
    rows = tree.rows(concurrency=16)
    assert all(row["result"] for row in rows.values())
    assert {name: row["changes"]["env"] for name, row in rows.items()} == {f"s{n}": f"e{n}" for n in range(16)}


@pytest.mark.feature("F133")
def test_interrupted_runs_have_a_report(sls):
    tree = sls("done: x.run\nslow: {x.run: [{sleep: 30}]}\nlater: {x.run: [{require: [slow]}]}\n")

    async def interrupt(how):
        async with tree.runtime() as runtime, runtime.run(await runtime.compile(["a"]), concurrency=4) as run:
            begun = set()
            async for event in run:
                if isinstance(event, ChunkStarted | ChunkFinished):
                    begun.add((type(event), event.tag.split("_|-")[1]))
                if begun >= {(ChunkFinished, "done"), (ChunkStarted, "slow")}:
                    break
            run.stop("SIGTERM")
            if how == "cancel":
                run.cancel("SIGTERM")
        return run.report

    report = asyncio.run(interrupt("cancel"))
    assert report.exit_code == 143
    assert {row["name"]: row["result"] for row in report.rows.values()} == {"done": True, "slow": False}
    assert "cancelled" in report.rows["x_|-slow_|-slow_|-run"]["comment"]
    assert report.not_started == ("x_|-later_|-later_|-run",)


# --- one run at a time


@pytest.mark.feature("F160")
def test_a_lock_names_its_holder_and_can_be_waited_for(tmp_path):
    with RunLock(str(tmp_path)) as lock:
        assert lock.holder().pid == os.getpid()
        assert oct(os.stat(lock.path).st_mode & 0o777) == "0o600"
        before = time.monotonic()  # never returns early; how late it may be is not said
        with (
            pytest.raises(LockHeld, match=rf"process {os.getpid()}, since \d{{4}}-") as caught,
            RunLock(str(tmp_path), wait=0.2),
        ):
            pass
        assert time.monotonic() - before >= 0.2
        assert caught.value.pid == os.getpid()
    assert lock.holder() is None
    with RunLock(str(tmp_path)):
        pass


HOLD = "import sys\nfrom asyncstate.guard.lock import RunLock\nwith RunLock(sys.argv[1]):\n    print('held', flush=True)\n    sys.stdin.readline()\n"


@contextlib.contextmanager
def held(tree):
    """A process that holds the lock of a tree until it is given a line."""
    command = [sys.executable, "-c", HOLD, str(tree.base / "cache")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        yield holder


@pytest.mark.feature("F160")
def test_runs_that_only_look_are_never_locked(run_cli, tree):
    tree.write({"a.sls": "a: test.nop\n"})
    with held(tree) as holder:
        root = ("--file-root", tree.base / "salt")
        refused = run_cli("apply", "a", *root)
        single = run_cli("single", "test.nop", "x")
        looking = [run_cli(*words, *root).returncode for words in (("apply", "a", "--test"), ("show", "lowstate", "a"))]
        holder.kill()
    assert refused.returncode == single.returncode == 75
    assert f"process {holder.pid}, since " in refused.stderr + refused.stdout
    assert looking == [0, 0]
    assert run_cli("apply", "a", *root).returncode == 0


@pytest.mark.feature("F160")
def test_waiting_for_another_run(run_cli, tree):
    tree.write({"a.sls": "a: test.nop\n"})
    command = ["asyncstate", "apply", "a", "--wait", "50", "--file-root", tree.base / "salt"]
    program = shutil.which("asyncstate", path=run_cli.environ["PATH"])
    with (
        held(tree) as holder,
        subprocess.Popen(
            command,
            executable=program,
            env=run_cli.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as waiting,
    ):
        assert f"waiting up to 50 s for process {holder.pid}" in waiting.stderr.readline()
        holder.communicate("go\n")
        waiting.communicate()
    assert waiting.returncode == 0
