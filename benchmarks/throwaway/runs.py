"""Runs a tool in a room, a new copy of a root that shares nothing with this machine, and says what came of it.

A room is that of ``asyncstate shake``; the only network in it is the mirror. Its daemons never start: the ``systemctl``
of the root notes what should run, so that service states succeed alike whoever applies them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.extras.analyse.profile import Profile, recorded
from asyncstate.extras.proof.shake.outcome import IGNORED, Entry
from asyncstate.extras.proof.shake.room import Seen, Stage
from throwaway.system import NAMESPACES, SALT, own_network

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from throwaway.formulas import Highstate
    from throwaway.mirror import Mirror
    from throwaway.system import Tree

CASE = "/opt/case"
FORMULAS = "/opt/formulas"

_MEASURE = "/opt/measure.py"
_ENVIRON = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}
_OF_THE_TOOLS = (
    "/etc/salt",
    "/etc/salt/*",
    "/opt/*",
    "/root/.cache/*",
    "/srv/*",
    "/var/lib/asyncstate*",
    # What these say is compared as the list of packages; their order is that of the installation.
    "/var/lib/apt/extended_states",
    "/var/lib/dpkg/status",
    "/var/lib/dpkg/triggers/*",
    "/var/cache/salt*",
    # Keys and names that programs make by chance.
    "/etc/ssh/ssh_host_*",
    "/etc/ssl/certs/*",
    "/etc/ssl/private/*",
    "/etc/machine-id",
    "/var/lib/dbus/machine-id",
    "/etc/dbconfig-common/*",
    "/etc/aliases.db",
    "/etc/varnish/secret",
    "/etc/ldap/slapd.d/*",
    "/etc/bind/rndc.key",
    "/var/lib/ldap/*",
    "*/.ssh/known_hosts*",  # the names in there are hashed with a salt
)
NOT_COMPARED = (*IGNORED, *_OF_THE_TOOLS)
"""Paths that may differ between two applies of one tree, beside what ``asyncstate shake`` never compares."""


class Run(msgspec.Struct):
    """One apply: seconds, rows by tag, packages by name, some files' text, changed paths, asyncstate's profile.

    ``fetched`` are the URLs that its mirror did not have.
    """

    wall: float
    cpu: float
    rows: dict[str, dict[str, Any]]
    packages: dict[str, str]
    texts: dict[str, str]
    paths: dict[str, Entry | None]
    code: int
    errors: str
    fetched: list[str]
    profile: Profile | None = None


class _Measured(msgspec.Struct):
    wall: float
    cpu: float
    code: int
    out: str
    err: str
    packages: dict[str, str]
    texts: dict[str, str]
    fetched: list[str] = []


class Runner:
    """Applies highstates in rooms of one root, each with a mirror of its own. Safe to use from several threads."""

    def __init__(
        self, root: Path, mirror: Callable[[], Mirror], formulas: Path, work: Path, *, in_image: bool = False
    ) -> None:
        self._root = root
        self._mirror = mirror
        self._formulas = formulas
        self._work = work
        self._in_image = in_image
        """Whether apt has the configuration of an image, `docker-clean`."""

    def salt(self, highstate: Highstate) -> Run:
        """Apply with Salt."""
        command = [SALT, "--local", "--config-dir", CASE, "--out", "json", "-l", "quiet", "state.apply"]
        measured, seen = self._run(highstate, [*command, ",".join(highstate.sls)], [])
        try:
            rows = msgspec.json.decode(measured.out)["local"]
        except (msgspec.DecodeError, KeyError, TypeError):
            rows = None
        if not isinstance(rows, dict):
            raise SystemExit(f"{highstate.name}: Salt gave no rows: {measured.out[-2000:]} {measured.err[-2000:]}")
        return _run_of(measured, seen, rows)

    def asyncstate(self, highstate: Highstate, tree: Tree, *options: str) -> Run:
        """Apply with a version of asyncstate."""
        command = [*tree.command, "apply", *highstate.sls, "--config", f"{CASE}/minion", "--out", "jsonl", *options]
        measured, seen = self._run(highstate, command, [(str(tree.folder), tree.place)])
        rows: dict[str, dict[str, Any]] = {}
        lines = measured.out.encode().splitlines()
        for event in map(msgspec.json.decode, lines):
            if event["event"] == "chunk_finished" and not event.get("check"):
                rows[event["tag"]] = event["row"]
                rows.update(event.get("sub_rows", {}))
        if not rows:
            raise SystemExit(f"{highstate.name}: asyncstate ({tree.name}) gave no rows: {measured.err[-2000:]}")
        run = _run_of(measured, seen, rows)
        run.profile = recorded(lines)
        return run

    def apt(self, highstate: Highstate, packages: Sequence[str]) -> Run:
        """Install packages in one call of apt and do nothing else: the least that any tool needs for them."""
        install = ["apt-get", "-q", "-y", "-o", "DPkg::Options::=--force-confold", "install", "--", *packages]
        script = 'apt-get -q update && exec "$@"'
        measured, seen = self._run(highstate, ["sh", "-c", script, "sh", *install], [])
        if measured.code:
            raise SystemExit(f"{highstate.name}: apt alone ended with {measured.code}: {measured.err[-2000:]}")
        return _run_of(measured, seen, {})

    def new_packages(self, run: Run) -> list[str]:
        """Return the packages that are installed after a run and not in the root."""
        query = ["dpkg-query", "--admindir", str(self._root / "var/lib/dpkg"), "--show", "--showformat", "${Package}\n"]
        there = set(subprocess.run(query, capture_output=True, check=True, text=True).stdout.split())
        return [name for name, version in run.packages.items() if version.startswith("ii") and name not in there]

    def shake(self, highstate: Highstate, options: Sequence[str]) -> int:
        """Run ``asyncstate shake`` of this checkout, which prints what it finds. Returns its exit code."""
        with tempfile.TemporaryDirectory(dir=self._work) as folder:
            case = highstate.write(f"{folder}/case", str(self._formulas), f"{folder}/case")
            command = [sys.executable, "-m", "asyncstate", "shake", *highstate.sls, "--config", f"{case}/minion"]
            command += ["--root", str(self._root), "--network", *options]
            for glob in _OF_THE_TOOLS:
                command += ["--ignore", glob]
            # The network that is shared with the rooms is one that has nothing but the mirror.
            apart = ["unshare", "--net", "--", *command]
            environ = {**os.environ, "TMPDIR": folder}
            with (
                contextlib.closing(self._mirror()) as mirror,
                own_network(mirror, apart, stdin=subprocess.DEVNULL, env=environ) as process,
            ):
                return process.wait()

    def _run(self, highstate: Highstate, command: list[str], mounts: list[tuple[str, str]]) -> tuple[_Measured, Seen]:
        with tempfile.TemporaryDirectory(dir=self._work) as folder:
            case = highstate.write(f"{folder}/case", FORMULAS, CASE)
            mounts = [
                *mounts,
                (case, CASE),
                (str(self._formulas), FORMULAS),
                (str(Path(__file__).with_name("measure.py")), _MEASURE),
            ]
            if self._in_image:
                mounts.append((str(Path(__file__).with_name("docker-clean")), "/etc/apt/apt.conf.d/docker-clean"))
            work = f"{folder}/work"
            Path(work).mkdir()
            job = msgspec.json.encode({"command": command}).decode()
            stage = Stage(str(self._root), work, mounts, ["/usr/bin/python3", _MEASURE], _ENVIRON, job)
            room = [*NAMESPACES, "--net", "--", sys.executable, "-m", "asyncstate.extras.proof.shake.room"]
            pipe = subprocess.PIPE
            with (
                contextlib.closing(self._mirror()) as mirror,
                own_network(mirror, room, stdin=pipe, stdout=pipe, stderr=pipe) as process,
            ):
                out, errors = process.communicate(msgspec.json.encode(stage))
        if process.returncode:
            raise SystemExit(f"no room can be made: {errors[-2000:].decode(errors='replace')}")
        seen = msgspec.json.decode(out, type=Seen)
        if seen.code:
            raise SystemExit(f"{highstate.name}: nothing was measured: {errors[-2000:].decode(errors='replace')}")
        measured = msgspec.json.decode(seen.answer, type=_Measured)
        measured.fetched = mirror.fetched
        return measured, seen


def _run_of(measured: _Measured, seen: Seen, rows: dict[str, dict[str, Any]]) -> Run:
    return Run(
        measured.wall,
        measured.cpu,
        rows,
        measured.packages,
        measured.texts,
        seen.paths,
        measured.code,
        measured.err,
        measured.fetched,
    )
