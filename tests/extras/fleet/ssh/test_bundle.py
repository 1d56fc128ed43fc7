"""The bundle: the same bytes for the same files, kept privately, with all imports of a runner."""

import hashlib
import io
import os
import sys
import zipfile
from pathlib import Path

import anyio
import pytest

from asyncstate.errors import FleetError
from asyncstate.extras.fleet.ssh import bundle


async def test_it_is_made_once_and_kept_where_only_its_owner_reads(cachedir):
    made = await bundle.made(cachedir)
    assert made.digest == hashlib.sha256(made.content).hexdigest()
    (kept,) = (Path(cachedir) / "ssh").iterdir()
    before = kept.stat()
    assert (before.st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert await bundle.made(cachedir) == made
    assert kept.stat().st_ino == before.st_ino


async def test_it_holds_plugins_and_no_part_of_the_operators_side(cachedir):
    made = await bundle.made(cachedir)
    names = zipfile.ZipFile(io.BytesIO(made.content)).namelist()
    assert {"__main__.py", "asyncstate/states/test.py", "asyncstate/extras/fleet/ssh/runner.pyc"} <= set(names)
    assert not [
        name for name in names if name.startswith(("asyncstate/cli", "asyncstate/extras/fleet/nats", "asyncssh"))
    ]
    assert not [name for name in names if name.startswith("/") or ".." in name.split("/")]


async def test_it_runs_with_nothing_else_installed(cachedir, tmp_path):
    path = tmp_path / "bundle.pyz"
    path.write_bytes((await bundle.made(cachedir)).content)
    ended = await anyio.run_process([sys.executable, "-I", "-S", str(path), str(tmp_path)], input=b"", check=False)
    assert b"the operator's program did not begin" in ended.stderr
    assert ended.returncode == 1


async def test_the_extras_in_it_are_found_on_a_host(cachedir, tmp_path):
    with zipfile.ZipFile(io.BytesIO((await bundle.made(cachedir)).content)) as archive:
        archive.extractall(tmp_path)
    extras = (path.parent.name for pattern in ("extra.py", "extra.pyc") for path in tmp_path.rglob(pattern))
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from asyncstate import extend; "
        "print(*extend._names()); print(*extend.renderers()); "
        "[extend.offered(part) for part in ('contradictions', 'effects', 'lender', 'salt', 'tracer')]"
    )
    ended = await anyio.run_process([sys.executable, "-I", "-S", "-c", program], check=False)
    assert ended.stderr == b""
    found, renderers = ended.stdout.decode().splitlines()
    assert found.split() == sorted(extras) == ["contradictions", "fleet", "namespace", "proof", "renderers"]
    assert renderers.split() == ["pyobjects", "stateconf"]


def test_older_ones_are_forgotten(tmp_path):
    for age in range(6):
        path = tmp_path / f"{age}.pyz"
        path.touch()
        os.utime(path, (age, age))
    bundle._forget_older(str(tmp_path), str(tmp_path / "0.pyz"))
    assert sorted(os.listdir(tmp_path)) == ["0.pyz", "4.pyz", "5.pyz"]


async def test_a_folder_that_cannot_be_made_is_an_error_with_its_name(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FleetError, match=r"the bundle for hosts cannot be made in .*file/ssh"):
        await bundle.made(str(tmp_path / "file"))
