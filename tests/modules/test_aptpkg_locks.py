"""Another program holds the locks of apt or dpkg, for real: it is waited for, and then the work is done."""

import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules.aptpkg import _programs

from asyncstate.errors import CommandExecutionError
from asyncstate.prefetch import Prefetched

pytestmark = needs_apt

HOLDER = """
import fcntl, sys
files = [open(path, "w") for path in sys.argv[1:]]
for file in files:
    fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
DPKG = ("var/lib/dpkg/lock-frontend", "var/lib/dpkg/lock")
LISTS = ("var/lib/apt/lists/lock",)


class Holder:
    """Another process that holds locks below a root until it is told to let go."""

    def __init__(self, root, locks):
        command = [sys.executable, "-c", HOLDER, *(str(root / lock) for lock in locks)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout.readline() == "held\n"

    def let_go(self):
        self._process.communicate()

    @property
    def holds(self):
        return self._process.poll() is None


@pytest.fixture
def apt(tmp_path):
    root = AptRoot(tmp_path)
    root.package("alpha")
    root.harness.call("pkg.refresh_db")
    return root


@pytest.fixture
def hold(apt):
    """Hold locks; whoever still does at the end of the test lets go."""
    holders = []

    def start(locks):
        holders.append(Holder(apt.root, locks))
        return holders[-1]

    yield start
    for holder in holders:
        if holder.holds:
            holder.let_go()


def test_apt_get_waits_for_the_package_database(apt, hold):
    holder = hold(DPKG)
    said = []

    def run_all(command, *, env=None, **_):
        if "install" not in command:
            return AptRoot.run_all(apt, command, env=env)
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(
            command, env={**(env or {}), **apt.environ}, stdin=subprocess.DEVNULL, **options
        ) as running:
            for line in running.stdout:
                said.append(line)
                if line.startswith("Waiting for cache lock"):
                    holder.let_go()
        return {"pid": running.pid, "retcode": running.returncode, "stdout": "".join(said), "stderr": ""}

    apt.harness.salt["cmd.run_all"] = run_all
    row = apt.harness.state("pkg.installed", name="alpha")
    assert (row["result"], row["changes"]) == (True, {"alpha": {"old": "", "new": "1.0"}})
    assert any(line.startswith("Waiting for cache lock") for line in said)
    assert not holder.holds


def test_fetching_ahead_waits_for_no_lock(apt, hold, tmp_path):
    hold((*DPKG, "var/cache/apt/archives/lock"))
    ahead = Prefetched(str(tmp_path / "cache"))
    with apt.harness.calling() as context:
        context.prefetched = ahead
        apt.harness.salt["pkg.prefetch"]([{"name": "alpha"}])
    assert "Waiting" not in str(apt.ran)
    assert list((apt.root / "var/cache").glob("prefetch-apt-*/partial"))
    ahead.close()


def test_lists_that_another_program_fetches_are_waited_for(apt, hold, monkeypatch):
    holder, pauses = hold(LISTS), []

    def pause(seconds):
        pauses.append(seconds)
        holder.let_go()

    monkeypatch.setattr(_programs, "time", SimpleNamespace(sleep=pause, monotonic=time.monotonic))
    assert None in apt.harness.call("pkg.refresh_db").values(), "a list was fetched, and is as it was"
    assert pauses == [_programs._LOCK_PAUSE]


def test_a_lock_that_is_never_let_go_is_an_error_that_names_who_holds_it(apt, hold):
    hold(DPKG)
    apt.harness.opts["apt_lock_timeout"] = 0
    row = apt.harness.state("pkg.installed", name="alpha")
    assert row["result"] is False
    assert "lock" in row["comment"]
    hold(LISTS)
    with pytest.raises(CommandExecutionError, match=r"lists/lock\. It is held by process"):
        apt.harness.call("pkg.refresh_db")
