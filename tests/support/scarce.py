"""Runs of the command line where something is scarce: memory, processes, the space of a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tables import beside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TABLES = beside(__file__)

CODES = frozenset({0, 1, 2, 70, 74})
"""The exit codes that docs/cli.md has for a run that nothing from outside ends."""
LIMIT = 2.5
"""Seconds of the time limit of each command in `TREE`."""
COMMANDS = 8
_KEEPS = "-all,+dac_override,+dac_read_search"
"""What a plain user keeps of root: the way to the interpreter, wherever that stands."""

TREE = TABLES["tree"]
STATES = 23
STUBBORN = ("stubborn", "deaf")
"""IDs of the commands that do not end on TERM, and so fail for want of time."""
FILES = {"--log-file": "log", "--junit": "junit.xml", "--metrics": "metrics.prom"}
"""The files that a run writes beside its answer, in the folder ``files``."""


class Ended(NamedTuple):
    """How a run ended: its exit code, what it wrote, and how long it took."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def rows(self) -> dict[str, Any]:
        """The rows of the report."""
        rows = json.loads(self.out)
        assert isinstance(rows, dict), rows
        return rows


def few_processes(number: int) -> list[str]:
    """Return the beginning of a command line: what follows runs as a user of its own, with so many processes."""
    user = _user()
    plain = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return [*plain, f"--inh-caps={_KEEPS}", f"--ambient-caps={_KEEPS}", "prlimit", f"--nproc={number}"]


def _user() -> int:
    """Return a user that has no processes."""
    return 60_000_000 + os.getpid()


def little_memory(mebibytes: int) -> list[str]:
    """Return the beginning of a command line: what follows has so much address space."""
    return ["prlimit", f"--as={mebibytes << 20}"]


def small_disk(folder: Path, kibibytes: int) -> list[str]:
    """Return the beginning of a command line: what follows finds a file system of that size at ``folder``."""
    mount = 'mount -t tmpfs -o "size=$1k,mode=0755" scarce "$2" && shift 2 && exec "$@"'
    return ["unshare", "-m", "sh", "-c", mount, "sh", str(kibibytes), str(folder)]


def apply(base: Path, scarce: Sequence[str], *, urls: dict[str, str], seconds: float, **more: Any) -> Ended:
    """Apply `TREE` in ``base``, where something is scarce. Raises TimeoutExpired after ``seconds``."""
    user = _user() if "setpriv" in scarce else 0
    for name in ("srv", "home", "to", "cache", "state", "tmp", "files"):
        (base / name).mkdir(mode=0o755, exist_ok=True)
        if user:
            os.chown(base / name, user, user)
    (base / "srv" / "tree.sls").write_text(TREE)
    pillar = {"to": str(base / "to"), "limit": LIMIT, "urls": urls, **more}
    program = [sys.executable, "-m", "asyncstate", "apply", "tree", "--file-root", str(base / "srv"), "-j", "50"]
    environment = {
        **os.environ,
        "HOME": str(base / "home"),
        "TMPDIR": str(base / "tmp"),
        "ASYNCSTATE_CACHEDIR": str(base / "cache"),
        "ASYNCSTATE_STATE_DIR": str(base / "state"),
    }
    files = [word for option, name in FILES.items() for word in (option, str(base / "files" / name))]
    began = time.monotonic()
    with subprocess.Popen(
        [*scarce, *program, "--pillar", json.dumps(pillar), "--out", "json", *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=base,
    ) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return Ended(process.returncode, out, err, time.monotonic() - began)
