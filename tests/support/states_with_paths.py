"""Every bundled state that takes a path, called with a path that a test gives, in a harness with the modules it needs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from plugin_harness import PluginHarness
from recording import filled

from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable

NOBODY = 65534
UNKNOWN = "asyncstate-tests-nobody-has-this-name"
"""A user and a group that no machine has."""

TOLD = ("crontab", "debconf-set-selections")
"""Programs that would change this machine: what they are told is kept, for all to see."""


PIP_VERSION = [sys.executable, "-m", "pip", "--version"]


@cache
def pip_version() -> dict[str, Any]:
    """Ask pip once: it says the same wherever it is asked."""
    done = subprocess.run(PIP_VERSION, capture_output=True, text=True, check=True)
    return {"retcode": 0, "stdout": done.stdout.strip(), "stderr": "", "pid": 1}


def run_all(command, cwd=None, told=None, stdin="", **options):
    if options.get("runas") == UNKNOWN:
        raise CommandExecutionError(f"User '{UNKNOWN}' is not available")
    if command == PIP_VERSION:
        return dict(pip_version())
    if command[0] in TOLD:
        told.write_text(stdin)
        return {"retcode": 0, "stdout": "", "stderr": "", "pid": 1}
    assert command[0] not in ("mount", "umount", "swapon")
    if isinstance(command, list) and command[1:3] == ["-m", "venv"]:
        command = [*command[:3], "--without-pip", *command[3:]]  # an environment in a tenth of a second
    done = subprocess.run(
        command, cwd=cwd, shell=isinstance(command, str), capture_output=True, text=True, check=False, timeout=20
    )
    return {"retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip(), "pid": 1}


def harness_of_states(tmp_path: Path) -> PluginHarness:
    """Return a harness with all states that take paths, and the files in ``tmp_path`` that their arguments name."""
    harness = PluginHarness(tmp_path, pki_dir=str(tmp_path))
    for name in (
        "file", "archive", "hashutil", "ini", "git", "virtualenv", "x509", "cmd", "ssh", "cron", "debconf", "pip",
        "linux_sysctl", "mount", "hosts", "aliases", "cp",
    ):  # fmt: skip
        harness.load("modules", name)
    for name in (
        "file", "archive", "ini_manage", "git", "virtualenv", "x509", "cmd", "ssh_auth", "ssh_known_hosts", "cron",
        "debconfmod", "pip", "sysctl", "mount", "host", "alias",
    ):  # fmt: skip
        harness.load("states", name)
    bot = {"uid": NOBODY, "gid": NOBODY, "home": str(tmp_path / "home"), "groups": ["nogroup"]}
    harness.salt["user.info"] = lambda name: {} if name == UNKNOWN else {"name": name, **bot}
    harness.salt["config.option"] = lambda name: harness.pillar.get(name, "")
    harness.salt["cp.cache_file"] = lambda path, saltenv="base", **_: (
        path if path.startswith("/") else harness.file_client.find(path.removeprefix("salt://"), saltenv) or False
    )
    harness.salt["cmd.run_all"] = lambda command, **options: run_all(
        command, told=tmp_path / "home" / "told", **options
    )
    harness.salt["cmd.run_stdout"] = lambda command, **_: ""  # no crontab yet
    harness.salt["cmd.run"] = lambda command, **options: run_all(command, **options)["stdout"]
    harness.salt["cmd.retcode"] = lambda command, **options: run_all(command, **options)["retcode"]
    if not MADE:
        _make_files(harness)
        MADE.update((name, ((tmp_path / name).read_bytes(), (tmp_path / name).stat().st_mode)) for name in FILES)
    for name, (content, mode) in MADE.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(mode)
    for name in PACKED:
        harness.salt_file(f"tree/{name}", "own=1\n")
    return harness


PACKED = ("f", "d/g", "new")
FILES = ("own.txt", "pkg.tar", "pkg.zip", "own.key", "own.crt")
MADE: dict[str, tuple[bytes, int]] = {}
"""The contents and modes of the files, which are the same for each harness."""


def _make_files(harness: PluginHarness) -> None:
    base = harness.tmp_path
    (base / "own.txt").write_text("own=1\n")
    with tarfile.open(base / "pkg.tar", "w") as archive:
        for name in PACKED:
            archive.add(base / "own.txt", name)
    with zipfile.ZipFile(base / "pkg.zip", "w") as packed:
        for name in PACKED:
            packed.write(base / "own.txt", name)
    harness.call("x509.create_private_key", algo="ec", path=f"{base}/own.key")
    harness.call(
        "x509.create_certificate", signing_private_key=f"{base}/own.key", CN="x", path=f"{base}/own.crt",
        basicConstraints="CA:TRUE",
    )  # fmt: skip


_TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
"""Calls of states, by name: ``<path>`` is the planted path, ``<base>`` the folder of the whole ground."""


def _call(name: str, path: str, base: Path) -> tuple[str, dict[str, Any]]:
    ((function, arguments),) = _TABLE[name].items()
    return function, filled(arguments, {"<path>": path, "<base>": base})


STATES: dict[str, Callable[[str, Path], tuple[str, dict[str, Any]]]] = {name: partial(_call, name) for name in _TABLE}
