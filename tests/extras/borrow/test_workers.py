from __future__ import annotations

import logging
import os
import resource
import signal
import threading
import time
from contextvars import ContextVar, copy_context
from types import SimpleNamespace

import pytest

from asyncstate.dunders.context import CallContext, CancelToken, SharedContext, current, observer
from asyncstate.errors import CommandExecutionError, InvocationError, LoaderError, RunCancelled
from asyncstate.extras.borrow.failure import LostInSalt
from asyncstate.extras.borrow.finding import SaltMissing
from asyncstate.extras.borrow.workers import SaltWorkers
from asyncstate.run.rows import RunningView


@pytest.fixture
def call(options):
    context = CallContext(
        opts=options,
        grains={},
        pillar={},
        context=SharedContext(threading.RLock()),
        salt={},
        states={},
        utils={},
        low={"name": "n", "state": "x"},
        running={"tag": {"result": True}},
        lowstate=[{"name": "a"}],
        env="dev",
        cancel=CancelToken(),
    )
    token = current.set(context)
    yield context
    current.reset(token)


def run(workers, name, *args, kind="modules", **kwargs):
    return workers.call(kind, name, [name.partition(".")[0]], list(args), kwargs)


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_functions_see_the_options_grains_and_pillar_of_the_runtime(salt, workers, call):
    salt.module(
        "m", "def what(key): return __opts__['id'], __opts__['default_of_salt'], __grains__['os'], __pillar__[key]\n"
    )
    assert run(workers, "m.what", "key") == ("m", 1, "Debian", "value")
    assert run(workers, "m.what", key="key")[3] == "value"


def test_states_see_what_the_run_knows_and_call_salts_own_functions(salt, workers, call):
    salt.module("m", "def twice(n): return n * 2\n")
    salt.state(
        "s",
        """
        def see(name):
            assert __low__["state"] == "x" and __env__ == "dev"
            return __salt__["m.twice"](4), dict(__running__), list(__lowstate__), __opts__["test"]
        """,
    )
    assert run(workers, "s.see", "n", kind="states") == (8, {"tag": {"result": True}}, [{"name": "a"}], False)
    token = current.set(call.derive(test=True))
    assert run(workers, "s.see", "n", kind="states")[3] is True
    current.reset(token)


def test_states_find_the_rows_of_other_hosts_by_their_tags(salt, workers, call):
    salt.state(
        "s",
        """
        def see(name):
            row = __running__["theirs"]
            return row["changes"], "theirs" in __running__, "nobody's" in __running__, 5 in __running__, sorted(__running__)
        """,
    )
    call.running = RunningView({"tag": {"result": True}}, {"theirs": {"changes": {"new": 1}}})
    assert run(workers, "s.see", "n", kind="states") == ({"new": 1}, True, False, False, ["tag"])


def test_context_is_that_of_the_runtime(salt, workers, call):
    salt.module(
        "m",
        """
        def use():
            __context__["mine"] = __context__.get("mine", 0) + 1
            __context__.setdefault("list", []).append(1)
            __context__["object"] = object()
            __context__["retcode"] = 3
            __context__.pop("old", None)
            return sorted(key for key in __context__)
        """,
    )
    call.context.update({"mine": 1, "old": 2, "pkg.list_pkgs": {}, "lock": threading.Lock()})
    assert run(workers, "m.use") == ["list", "mine", "object", "retcode"]
    assert {key: call.context.get(key) for key in ("mine", "old", "list")} == {"mine": 2, "old": None, "list": [1]}
    assert "object" not in call.context
    assert call.retcode == 3
    assert "object" in run(workers, "m.use")
    assert call.context["list"] == [1, 1]


def test_what_salts_code_prints_or_reads_does_not_reach_the_pipe(salt, workers, call, caplog):
    salt.module(
        "m",
        """
        import logging, os, subprocess, sys
        def noise():
            print("printed"); os.write(1, b"written\\n"); subprocess.run(["echo", "of a child"])
            logging.getLogger("salt.m").warning("said")
            return sys.stdin.read()
        """,
    )
    with caplog.at_level("INFO"):
        assert run(workers, "m.noise") == ""
        wait_for(lambda: {"printed", "written", "of a child", "salt.m: said"} <= set(caplog.messages))


def test_what_a_call_writes_is_logged_as_its_own_before_it_returns(salt, workers, call):
    salt.module(
        "m",
        """
        import subprocess
        def say(number, *lines):
            subprocess.run(["printf", *lines])
            return number
        """,
    )
    number, heard = ContextVar("number", default=0), []

    class Listener(logging.Handler):
        def emit(self, record):
            heard.append((number.get(), record.getMessage()))

    def say(*args):
        number.set(args[0])
        run(workers, "m.say", *args)
        return len(heard)

    borrow_log = logging.getLogger("asyncstate.extras.borrow.process")
    listener, level = Listener(), borrow_log.level
    borrow_log.addHandler(listener)
    borrow_log.setLevel(logging.INFO)
    try:
        until = [copy_context().run(say, at, f"line {at}\n\nno end") for at in range(1, 6)]
    finally:
        borrow_log.removeHandler(listener)
        borrow_log.setLevel(level)
    wanted = [[(at, f"line {at}"), (at, ""), (at, "no end")] for at in range(1, 6)]
    assert heard == [each for of_call in wanted for each in of_call]
    assert until == [3, 6, 9, 12, 15]


def test_folder_and_umask_of_a_worker_stay_as_they_were(salt, workers, call):
    salt.module(
        "m",
        """
        import os
        def where(): return os.getcwd(), _umask()
        def _umask():
            now = os.umask(0); os.umask(now); return now
        def move(): os.chdir("/"); return _umask()
        """,
    )
    before = run(workers, "m.where")
    call.umask = 0o7
    assert run(workers, "m.move") == 0o7
    call.umask = None
    assert run(workers, "m.where") == before


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        ("salt.exceptions.CommandExecutionError('no')", CommandExecutionError, "no"),
        ("salt.exceptions.SaltInvocationError('bad')", InvocationError, "bad"),
        ("FileNotFoundError(2, 'gone')", FileNotFoundError, "[Errno 2] gone"),
        ("type('Own', (KeyError,), {})('k')", KeyError, "\"'k'\""),
        ("UnicodeDecodeError('utf-8', b'x', 0, 1, 'why')", LoaderError, "why"),
        ("SystemExit(3)", LoaderError, "sys.exit(3)"),
        ("KeyboardInterrupt()", LoaderError, "sys.exit"),
    ],
)
def test_what_a_function_raises_is_raised_here(salt, workers, call, raised, kind, text):  # noqa: PLR0917
    salt.module("m", f"import salt.exceptions\ndef fail(): raise {raised}\ndef ping(): import os; return os.getpid()\n")
    pid = run(workers, "m.ping")
    with pytest.raises(kind) as caught:
        run(workers, "m.fail")
    assert text.strip('"') in str(caught.value)
    assert "in fail" in caught.value.shown
    assert "worker.py" not in caught.value.shown
    assert run(workers, "m.ping") == pid


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("os._exit(5)", "status 5"),
        ("os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("os.close(4), os._exit(0)", "status 0"),
        ("os.write(4, b'nonsense' * 9)", "a message of"),
    ],
)
def test_a_worker_that_ends_is_replaced(salt, workers, call, end, words):
    salt.module(
        "m", f"import os, sys\ndef die(): print('last words', flush=True); {end}\ndef ping(): return os.getpid()\n"
    )
    pid = run(workers, "m.ping")
    with pytest.raises(LostInSalt) as caught:
        run(workers, "m.die")
    assert words in str(caught.value)
    assert "last words" in caught.value.shown
    assert run(workers, "m.ping") != pid
    assert not alive(pid)


@pytest.mark.parametrize(
    ("piece", "size"),
    [("[],", 90_000_000), ("[", 5_000_000), ("x", 1 << 62), ('{"a":', 90_000_000)],
)
def test_an_answer_beyond_the_limits_is_refused_where_it_arrives(salt, workers, call, piece, size):
    """Salt's code may write what it likes to the pipe: what it costs here is bounded, in memory and in time."""
    salt.module(
        "m",
        f"""
        def flood():
            import os, sys
            data = {piece!r}.encode() * 20000
            pipe = next(
                number for number in range(3, 50)
                if os.path.exists(f"/proc/self/fd/{{number}}")
                and os.readlink(f"/proc/self/fd/{{number}}").startswith("pipe:")
                and int(open(f"/proc/self/fdinfo/{{number}}").read().split()[3], 8) & 1
            )
            os.write(pipe, ({size}).to_bytes(8, "big"))
            left = {size}
            while left > 0:
                left -= os.write(pipe, data[:left])
        """,
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = time.process_time()
    with pytest.raises(LostInSalt, match=r"a message (of|that)"):
        run(workers, "m.flood")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10, "KiB"
    assert time.process_time() - spent < 20


def test_a_fork_that_salts_code_forgets_answers_nothing(salt, workers, call):
    salt.module("m", "import os\ndef fork(): return os.fork() == 0\n")
    assert run(workers, "m.fork") is False
    assert run(workers, "m.fork") is False


def test_a_worker_that_ends_while_its_child_holds_the_pipe_is_noticed(salt, workers, call, tmp_path):
    salt.module(
        "m",
        """
        import os, time
        def hide(file):
            child = os.fork()
            if child:
                with open(file, "w") as out: out.write(str(child))
                os._exit(7)
            time.sleep(1000)
        """,
    )
    of_others = set(threading.enumerate())
    with pytest.raises(LostInSalt, match="status 7"):
        run(workers, "m.hide", str(tmp_path / "child"))
    wait_for(lambda: not any(each.name.startswith("salt-") for each in set(threading.enumerate()) - of_others))
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def test_a_cancelled_call_ends_its_worker_and_what_it_started_but_not_what_an_earlier_call_did(
    salt, workers, call, tmp_path
):
    salt.module(
        "m",
        """
        import os, subprocess, time
        def begin(): return subprocess.Popen(["sleep", "1000"], start_new_session=True).pid, os.getpid()
        def hang(file):
            child = subprocess.Popen(["sleep", "1000"], start_new_session=True).pid
            with open(file + ".new", "w") as out: out.write(str(child))
            os.rename(file + ".new", file)
            time.sleep(1000)
        """,
    )
    daemon, pid = run(workers, "m.begin")
    file = tmp_path / "child"
    call.cancel = token = CancelToken()

    def cut_off():
        wait_for(file.exists)
        token.cancel("timed out")

    thread = threading.Thread(target=cut_off)
    thread.start()
    with pytest.raises(RunCancelled):
        run(workers, "m.hang", str(file))
    thread.join()
    wait_for(lambda: not alive(pid) and not alive(int(file.read_text())))
    assert alive(daemon)
    os.kill(daemon, signal.SIGKILL)
    call.cancel = CancelToken()
    assert run(workers, "m.begin")[1] != pid


def test_calls_at_once_get_workers_of_their_own_up_to_a_limit(salt, workers, call, tmp_path):
    salt.module(
        "m",
        """
        import os, time
        def rest(folder):
            open(f"{folder}/{os.getpid()}", "w").close()
            while len(os.listdir(folder)) < 2: time.sleep(0.01)
            return os.getpid()
        """,
    )
    (tmp_path / "turns").mkdir()
    found = []

    def rest():
        token = current.set(call.derive(cancel=CancelToken()))
        found.append(run(workers, "m.rest", str(tmp_path / "turns")))
        current.reset(token)

    threads = [threading.Thread(target=rest) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert 2 <= len(set(found)) <= 4


def test_renewed_options_reach_workers_that_run(salt, options, workers, call):
    salt.module("m", "import os\ndef who(): return __opts__['id'], os.getpid()\n")
    first = run(workers, "m.who")
    options["id"] = "other"
    assert run(workers, "m.who") == first
    workers.renew()
    assert run(workers, "m.who") == ("other", first[1])


def test_a_hook_that_changes_low_data_in_place_changes_it_here(salt, workers, call):
    salt.state(
        "s",
        """
        def mod_aggregate(low, chunks, running):
            low["names"] = [chunk["name"] for chunk in chunks]
            for chunk in chunks: chunk["__agg__"] = True
            return low
        """,
    )
    low = {"name": "a"}
    chunks = [low, {"name": "b"}]
    assert run(workers, "s.mod_aggregate", low, chunks, {}, kind="states") is low
    assert low == {"name": "a", "names": ["a", "b"], "__agg__": True}
    assert chunks == [low, {"name": "b", "__agg__": True}]


def test_a_module_is_described_with_its_signatures_or_its_refusal(salt, workers):
    salt.state("s", 'def present(name, size=3, *args, only, **kwargs):\n    """Say\n    more."""\n')
    salt.state("t", "def __virtual__(): return False, 'no library'\n")
    told = workers.describe("states", "s", ["s"])
    assert told["file"].endswith("states/s.py")
    assert [each[0] for each in told["functions"]["present"]["parameters"]] == [
        "name",
        "size",
        "args",
        "only",
        "kwargs",
    ]
    assert told["functions"]["present"]["doc"] == "Say\nmore."
    assert workers.describe("states", "nothing", []) == {"refused": ""}
    assert workers.describe("states", "t", ["t"]) == {"refused": "'t' __virtual__ returned False: no library"}


def test_a_worker_that_ends_while_it_describes_a_module_is_lost(salt, workers):
    salt.state("s", "import os\nos._exit(3)\n")
    with pytest.raises(LostInSalt, match=r"did not describe s: it ended with status 3"):
        workers.describe("states", "s", ["s"])


def test_a_salt_that_does_not_load_says_why(salt, workers, call):
    (salt.salt / "config.py").write_text("import nowhere_to_be_found\n")
    with pytest.raises(LostInSalt, match="nowhere_to_be_found"):
        run(workers, "m.x")


def test_without_salt_the_reason_is_told(tmp_path, call):
    workers = SaltWorkers(str(tmp_path / "python"), dict, dict)
    with pytest.raises(SaltMissing, match="not a program"):
        run(workers, "m.x")


def test_idle_workers_end_when_they_are_closed(salt, workers, call):
    salt.module("m", "import os\ndef ping(): return os.getpid()\n")
    pid = run(workers, "m.ping")
    workers.close()
    wait_for(lambda: not alive(pid))
    assert run(workers, "m.ping") != pid


def test_who_follows_a_call_learns_that_a_worker_cannot_be_followed(salt, workers, call):
    salt.module("m", "def f(): return 1\n")
    run(workers, "m.f")
    unseen = []
    token = observer.set(SimpleNamespace(missed=unseen.append))
    assert run(workers, "m.f") == 1
    observer.reset(token)
    assert unseen == ["a worker of Salt"]
