"""Salt from the package index, in an environment of its own that is made once; and what its salt-call says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

VERSION = "3008.3"
"""The reference."""
PYTHON = "ASYNCSTATE_TEST_SALT"
"""Names the interpreter of a Salt that is installed already."""
_COMPARED = ("name", "result", "changes", "comment")


def installed_salt(checkout: Path) -> Path:
    """Return the interpreter of Salt, which is installed below ``checkout`` if it is not yet; else skip the test."""
    given = os.environ.get(PYTHON)
    if given:
        return Path(given)
    folder = checkout / "build" / "salt"
    python = folder / "bin" / "python"
    if (folder / "bin" / "salt-call").exists():
        return python
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"salt=={VERSION}"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"Salt cannot be installed: {done.stderr.strip().rpartition(chr(10))[2]}")
    return python


class Site:
    """A tree and a minion's configuration, with folders of their own, for Salt and for us."""

    def __init__(self, root: Path, python: Path) -> None:
        self.root = root
        self.python = python
        for name in ("salt", "pillar", "conf", "root", "bin", "home"):
            (root / name).mkdir(parents=True)
        options = {
            "id": "differ",
            "file_client": "local",
            "file_roots": {"base": [str(root / "salt")]},
            "pillar_roots": {"base": [str(root / "pillar")]},
            "cachedir": str(root / "cache"),
            "pki_dir": str(root / "pki"),
            "log_file": str(root / "log"),
            "sock_dir": str(root / "sock"),
            "salt_python": str(python),
            "trust_writable": True,
        }
        (root / "conf" / "minion").write_text(json.dumps(options))
        self._env = {
            **os.environ,
            "PATH": f"{root / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(root / "home"),
            "ASYNCSTATE_STATE_DIR": str(root / "state"),
        }

    def program(self, name: str, text: str = "exit 0") -> None:
        """Put a program on PATH that stands for one of the system."""
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def salts(self, *words: str) -> dict[str, dict[str, object]]:
        """Return the rows of salt-call."""
        program = [str(self.python.with_name("salt-call")), "-c", str(self.root / "conf"), "--local", "--out", "json"]
        return _rows(self._run([*program, "state.sls", "d", *words])["local"])

    def ours(self, *words: str) -> dict[str, dict[str, object]]:
        """Return our rows."""
        program = [sys.executable, "-m", "asyncstate", "apply", "d", "--config", str(self.root / "conf" / "minion")]
        return _rows(self._run([*program, "--trust-writable", "--out", "json", *words]))

    def grains(self) -> tuple[dict[str, object], dict[str, object]]:
        """Return the grains of salt-call, and ours."""
        words = ["--local", "--out", "json", "grains.items"]
        salts = self._run([str(self.python.with_name("salt-call")), "-c", str(self.root / "conf"), *words])
        config = ["--config", str(self.root / "conf" / "minion")]
        ours = self._run([sys.executable, "-m", "asyncstate", "call", "grains.items", *config, "--out", "json"])
        return dict(salts["local"]), dict(ours)

    def _run(self, command: list[str]) -> dict[str, dict[str, dict[str, object]]]:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self._env, timeout=170)
        start = done.stdout.find("{")
        assert start >= 0, done.stdout + done.stderr
        found = json.loads(done.stdout[start:])
        return found if isinstance(found, dict) else {}


def _rows(rows: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    return {tag: {key: _settled(row.get(key)) for key in _COMPARED} for tag, row in rows.items()}


def _settled(value: object) -> object:
    """Return a part of a row without what no two runs have in common: frames of tracebacks, addresses."""
    if isinstance(value, str):
        if "Traceback" in value:
            return f"Traceback: {value.strip().rpartition(chr(10))[2]}"
        return re.sub(r"0x[0-9a-f]{6,}", "0x…", value)
    return value
