"""Real servers, started for the tests in folders of their own; a test is skipped where their programs are not."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from plugin_harness import PluginHarness

ACCOUNT = "postgres"


def _programs() -> str | None:
    """The folder of PostgreSQL's server programs, which Debian keeps off the PATH."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    return next((folder for folder in reversed(folders) if os.access(f"{folder}/initdb", os.X_OK)), None)


@pytest.fixture(scope="session")
def postgres_socket():
    """The folder of the socket of a server that lets the account ``postgres`` in by peer authentication."""
    programs = _programs()
    if programs is None or os.geteuid() != 0:
        pytest.skip("needs root and PostgreSQL's server programs")
    account = pwd.getpwnam(ACCOUNT)
    folder = Path(tempfile.mkdtemp(prefix="asyncstate-pg-"))
    os.chown(folder, account.pw_uid, account.pw_gid)
    folder.chmod(0o755)

    def run(*command):
        done = subprocess.run(
            command, user=account.pw_uid, group=account.pw_gid, extra_groups=[], cwd=folder,
            env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    data = folder / "data"
    run(f"{programs}/initdb", "--pgdata", data, "--auth-local=peer", "--auth-host=scram-sha-256", "--no-sync")
    settings = f"-c unix_socket_directories={folder} -c listen_addresses='' -c fsync=off"
    run(f"{programs}/pg_ctl", "start", "--wait", "--pgdata", data, "--log", folder / "log", "--options", settings)
    yield str(folder)
    run(f"{programs}/pg_ctl", "stop", "--wait", "--mode=immediate", "--pgdata", data)
    shutil.rmtree(folder)


@pytest.fixture
def postgres(postgres_socket, tmp_path):
    """The bundled PostgreSQL modules and states on that server. What a test makes, it removes."""
    harness = PluginHarness(tmp_path, **{"postgres.host": postgres_socket, "postgres.user": ACCOUNT})
    for name in ("cmd", "config", "postgres"):
        harness.load("modules", name)
    for name in ("user", "group", "database", "schema", "extension", "privileges", "tablespace"):
        harness.load("states", f"postgres_{name}")
    return harness
