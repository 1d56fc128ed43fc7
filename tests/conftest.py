"""Fixtures every test may use. None of them changes anything outside its own test."""

from __future__ import annotations

import fcntl
import gc
import importlib
import logging
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
from contextlib import chdir, contextmanager
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers
from tables import pytest_pycollect_makeitem
from warm_program import warm_program

__all__ = ["pytest_pycollect_makeitem"]

ROOT = Path(__file__).parent.parent
_NUMBERS = count()
_running = {"name": "own"}

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, max_examples=60, database=None, **_COMMON)
settings.register_profile("mutation", settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate))
settings.register_profile("explore", max_examples=2000, **_COMMON)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
settings.load_profile(_PROFILE)
if _PROFILE == "explore":
    os.environ.setdefault("PYTEST_TIMEOUT", "3600")  # the limit in pyproject.toml is one for 60 cases
else:  # cases depend on the test alone, not on the constants of what the worker has imported
    providers._get_local_constants = lambda: providers._local_constants


def pytest_configure():
    """Take signals also where the tests were started in the background: what is ignored, every program inherits.

    Settings in the environment are those of whoever runs the tests. Temporary folders are in memory where there is room: removing a file from a disk can take milliseconds.
    """
    for name in [name for name in os.environ if name.startswith("ASYNCSTATE_")]:
        del os.environ[name]
    if _has_room(IN_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", IN_MEMORY)
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGQUIT, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


IN_MEMORY = "/dev/shm"


def _has_room(folder):
    """Say whether a file system takes a gigabyte of files, and programs among them."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize > 2**30 and not status.f_flag & (os.ST_NOEXEC | os.ST_RDONLY)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep thousands of tests out of every later search for garbage: they are none as long as the session lasts."""
    gc.disable()
    try:
        with _compiled_once():
            return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@contextmanager
def _compiled_once():
    """On a fresh clone, let one worker compile all tests while the others wait, instead of each for itself."""
    last = ROOT / "tests" / "testing" / "__pycache__"
    if sys.dont_write_bytecode or "PYTEST_XDIST_WORKER" not in os.environ or last.exists():
        yield
        return
    with (ROOT / "tests" / "conftest.py").open("rb") as gate:
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fcntl.flock(gate, fcntl.LOCK_SH)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable():
    """Let a worker send whatever a test wrote, also text that UTF-8 has no form for."""
    data = yield
    if data and data.get("outcome") == "passed" and not data["sections"]:
        data["keywords"] = {}  # names of the test and the folders above it, which no report needs
        return data  # nothing in it is a test's own text
    return _encodable(data)


def _encodable(data):
    if isinstance(data, str):
        return data.encode(errors="backslashreplace").decode()
    if isinstance(data, dict):
        return {_encodable(key): _encodable(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(map(_encodable, data))
    return data


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionstart(session):
    """Count branches (``--cov``) from the first test on that is to be counted, and what modules do on import.

    In a worker of pytest-xdist, pytest-cov starts a counter before it knows where it is, and a second one over it. The
    first would go on whenever the second pauses, and its counts are never read.
    """
    counter = _branch_counter(session.config)
    if counter and "PYTEST_XDIST_WORKER" in os.environ:
        counter.pause()
    yield
    if counter:
        counter = _branch_counter(session.config)
        for room in sorted(COUNTED):
            for module in pkgutil.walk_packages([str(ROOT / "asyncstate" / room)], f"asyncstate.{room}."):
                importlib.import_module(module.name)
        counter.pause()


def _branch_counter(config):
    plugin = config.pluginmanager.getplugin("_cov")
    return plugin and plugin.cov_controller


def pytest_runtest_setup(item):
    """Give each test a name of its own for what it did not ask for, and a log that no command line has silenced."""
    _running["name"] = f"own-{next(_NUMBERS)}"
    logging.getLogger().setLevel(logging.WARNING)
    _count_branches(item)


COUNTED = frozenset({"model", "compile", "effects", "run", "ahead", "resume", "guard"})


def _count_branches(item):
    """Count branches (``--cov``) in the tests of the rooms that are counted, without their properties.

    It multiplies a test's time, and the others hardly add a branch; nor do those of great size, marked ``no_cover``.
    """
    counter = _branch_counter(item.config)
    counted = item.path.relative_to(ROOT / "tests").parts[0] in COUNTED and not is_hypothesis_test(item.obj)
    if counter and counter.started != counted:
        counter.pause() if counter.started else counter.resume()


@pytest.fixture(scope="session", autouse=True)
def private_directories(tmp_path_factory):
    """Let no test use the machine's own cache directory, where each run takes a lock, because it named no other.

    The folder has its own name for each test but is not made before somebody uses it: pytest looks through all it has
    made for each further `tmp_path`.
    """
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "asyncstate.config.settings._user_directory", lambda _system, _variable, _home: str(base / _running["name"])
        )
        patch.setattr("asyncstate.config.settings.JOURNALED", False)  # tests of the journal ask for it
        yield


@pytest.fixture(scope="session", autouse=True)
def validating_machine():
    """Let the scheduler check itself after every transition, in every run that a test starts in its own process."""
    from validating_machine import ValidatingMachine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asyncstate.run.engine.Engine.machine", ValidatingMachine)
        yield


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the source tree."""
    return ROOT


@pytest.fixture
def loop_guard():
    """``with loop_guard():`` makes a blocking call of this package on the event loop an error."""
    from blockbuster import blockbuster_ctx

    @contextmanager
    def guard():
        with blockbuster_ctx("asyncstate") as guarded:
            guarded.functions["threading.Lock.acquire"].can_block_in("coverage/collector.py", {"lock_data"})
            yield

    return guard


@pytest.fixture(scope="module")
def gpg_home(tmp_path_factory):
    """An empty home for gpg, whose agent ends with it. Its path is short, as a socket in it has 107 characters at most."""
    if shutil.which("gpg") is None:
        pytest.skip("needs gpg")
    home = tmp_path_factory.mktemp("g")
    home.chmod(0o700)
    yield home
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, capture_output=True)


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """The path of the command line, whose imports are done."""
    with warm_program(tmp_path_factory.mktemp("program")) as program:
        yield program


def _kept_in(folder):
    """Return what the environment of a program says that keeps all in a folder."""
    return {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "xdg"),
        "ASYNCSTATE_CACHEDIR": str(folder / "cache"),
        "ASYNCSTATE_STATE_DIR": str(folder / "state"),
    }


@pytest.fixture
def run_cli(program, tmp_path):
    """Run the installed command line as a user does, in a process of its own, with its state kept in tmp_path.

    ``run_cli("apply", "web", cwd=…)`` returns the completed process, its output as text.
    """
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("ASYNCSTATE_", "COVERAGE_"))}
    environ |= {**_kept_in(tmp_path), "PATH": f"{program.parent}{os.pathsep}{environ.get('PATH', '')}"}

    def run(*arguments: object, cwd: Path | str = "/", timeout: float = 50) -> subprocess.CompletedProcess[str]:
        command = [str(program), *map(str, arguments)]
        return subprocess.run(
            command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=timeout, check=False
        )

    run.environ = environ
    return run


@pytest.fixture
def run_here(tmp_path, monkeypatch, capfd):
    """`run_cli` without a process: it takes half the time, and proves as much of what a command does and says."""
    from asyncstate.cli import main

    monkeypatch.setattr("asyncstate.config.settings.JOURNALED", True)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in _kept_in(tmp_path).items():
        monkeypatch.setenv(name, value)

    def run(*arguments: object, cwd: Path | str = "/") -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        with chdir(cwd):
            code = main([*map(str, arguments)])
        return subprocess.CompletedProcess(arguments, code, *capfd.readouterr())

    return run


def pytest_xdist_auto_num_workers():
    """Run half as many workers again as there are cores: many a test waits for a program or a clock."""
    return (os.cpu_count() or 1) * 3 // 2


@pytest.fixture
def patience():
    """An alarm that ends a test which waits for a pipe."""

    def end(*_):
        raise TimeoutError("it waits for a writer")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
