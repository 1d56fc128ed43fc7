"""A throw-away Debian: an overlay over a built root, in namespaces of its own, gone with the test that asked for it.

It has its own mounts, processes, network (loopback only), host name and System V IPC, and may not change settings of the
kernel that are not its own. Nothing done in it reaches the machine below.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

PROGRAMS = ("unshare", "nsenter", "mount", "ip")
ENVIRON = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PYTHONPATH": "/opt/asyncstate:/opt/python",
    "PYTHONDONTWRITEBYTECODE": "1",
    "DEBIAN_FRONTEND": "noninteractive",
}

_CGROUPS = next(filter(Path.is_dir, map(Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"))), Path("/sys/fs/cgroup"))
_OWN_RECORDS = (
    "/var/cache/asyncstate", "/var/lib/asyncstate", "/srv/salt/tested.sls",
    "/var/lib/apt/lists", "/var/cache/apt", "/var/log/apt", "/var/lib/postgresql", "/var/log/postgresql",
)  # fmt: skip


@dataclass
class Applied:
    """One apply: Salt's rows by tag."""

    returncode: int
    rows: dict[str, dict[str, Any]]
    errors: str = ""

    @property
    def changed(self) -> set[str]:
        return {tag for tag, row in self.rows.items() if row["changes"]}

    @property
    def failed(self) -> dict[str, str]:
        return {tag: row["comment"] for tag, row in self.rows.items() if row["result"] is False}

    @property
    def predicted(self) -> set[str]:
        return {tag for tag, row in self.rows.items() if row["result"] is None}


@dataclass
class DebianMachine:
    """Start one with `boot`, and end it with `halt`; or use it as a context.

    ``more`` are folders of the machine below that it has too, read-only. With ``systemd`` its process 1 is its own
    systemd, in a cgroup of its own.
    """

    base: Path
    work: Path
    checkout: Path
    more: tuple[Path, ...] = ()
    systemd: bool = False
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)
    _cgroup: Path | None = None
    _init: int = 0

    def __enter__(self) -> Self:
        self.boot()
        return self

    def __exit__(self, *_: object) -> None:
        self.halt()

    def boot(self) -> None:
        self.work.mkdir(parents=True)
        namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--net", "--uts", "--ipc", "--propagation=private"]
        mounts = [self.base / "root", self.work, self.checkout, self.base / "python", *self.more]
        init = [sys.executable, Path(__file__).with_name("debian_init.py"), *(["--systemd"] if self.systemd else [])]
        if self.systemd:
            self._cgroup = _CGROUPS / f"throwaway-{os.getpid()}-{self.work.name}"
            self._cgroup.mkdir()
            namespaces.append("--cgroup")
        into = f"echo $$ > {self._cgroup}/cgroup.procs; " if self._cgroup else ""
        self._process = subprocess.Popen(
            ["sh", "-c", f'{into}exec "$@"', "sh", "unshare", *namespaces, *map(str, [*init, *mounts])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "up\n":
            self.halt()
            raise RuntimeError("the machine did not come up")
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        self._init = int(children.read_text())

    def halt(self) -> None:
        """Kill every process in it; its file system goes with them."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._cgroup is not None:
            events = self._cgroup / "cgroup.events"
            while "populated 1" in events.read_text():  # the kernel kills them all, in a while
                time.sleep(0.05)
            for folder in sorted((path for path in self._cgroup.rglob("*") if path.is_dir()), reverse=True):
                folder.rmdir()
            self._cgroup.rmdir()
            self._cgroup = None

    @property
    def root(self) -> Path:
        """Its / as seen from outside, for looking at files. Absolute links in there point outside: mind them."""
        return Path(f"/proc/{self._init}/root")

    def run(self, *command: str, check: bool = True, stdin: str | None = None, timeout: float = 120) -> str:
        """Run a command in the machine; return its output. ``check`` makes a failure an error that shows it."""
        done = self._enter(command, stdin, timeout)
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def succeeds(self, *command: str) -> bool:
        return self._enter(command, None, 120).returncode == 0

    def write(self, path: str, text: str | bytes, mode: int = 0o644) -> None:
        """Write a file, its folders with it. Text loses its common indentation."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        file.chmod(mode)

    def read(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()

    def apply(self, sls: str, *, test: bool = False, arguments: tuple[str, ...] = ()) -> Applied:
        """Apply a text of SLS from /srv/salt."""
        self.write("/srv/salt/tested.sls", sls)
        command = [
            "python3", "-m", "asyncstate", "apply", "tested", "--file-root", "/srv/salt", "--pillar-root", "/srv/pillar",
            "--out", "json", "-j", "8", *(["--test"] if test else []), *arguments,
        ]  # fmt: skip
        done = self._enter(command, None, 300)
        try:
            rows = json.loads(done.stdout)
        except ValueError:
            rows = None
        assert isinstance(rows, dict), f"{done.returncode}\n{done.stdout}{done.stderr}"
        return Applied(done.returncode, rows, done.stderr)

    def changed_files(self) -> dict[str, tuple[int, int, int]]:
        """Every file that is not as it was when the machine was built: (mode, size, time of change in ns) by path.

        What asyncstate and apt know of the world is left out, what a database server writes when it likes, /run and /tmp.
        """
        listing = subprocess.run(
            ["nsenter", f"--target={self._init}", "--mount", "--", "find", self.work / "upper", "-not", "-type", "d",
             "-printf", "/%P\\t%m\\t%s\\t%T@\\n"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        files = {}
        for line in listing.splitlines():
            path, mode, size, changed = line.split("\t")
            if not path.startswith(_OWN_RECORDS):
                files[path] = (int(mode, 8), int(size), int(float(changed) * 1e6))
        return files

    def until(self, *command: str, seconds: float = 30) -> None:
        """Wait until a command succeeds."""
        deadline = time.monotonic() + seconds
        while not self.succeeds(*command):
            assert time.monotonic() < deadline, f"{command} never succeeded"
            time.sleep(0.05)

    def _enter(
        self, command: tuple[str, ...] | list[str], stdin: str | None, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        inside = ["nsenter", f"--target={self._init}", "--mount", "--pid", "--net", "--uts", "--ipc", "--root"]
        return subprocess.run(
            [*inside, "--", "env", "--chdir=/", *command], env=ENVIRON, input=stdin or "",
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip


@cache
def missing() -> str:
    """Why this host cannot have such a machine; empty if it can."""
    if os.geteuid() != 0:
        return "needs root"
    absent = [program for program in PROGRAMS if not shutil.which(program)]
    if absent:
        return f"needs {', '.join(absent)}"
    allowed = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--net", "true"], check=False, capture_output=True
    )
    return "" if allowed.returncode == 0 else "may not make namespaces here"
