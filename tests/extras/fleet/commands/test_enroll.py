"""`fleet enroll` and `fleet revoke`, with a running server and without."""

import asyncio
import stat
import subprocess
import sys

import pytest
from fleet_server import FleetServer

from asyncstate.extras.fleet import credentials, subjects
from asyncstate.extras.fleet.errors import BoardError


@pytest.fixture
def fleet(tmp_path):
    made = FleetServer(tmp_path)
    made.start()
    yield made
    made.stop()


async def let_in(fleet, path):
    """Return whether the server takes the credentials in a file, and what they let their host do."""
    found = credentials.read(str(path))
    said = ""
    try:
        async with fleet.board(found) as board:
            await board.put(subjects.lease(found.name), b"x")
            return await board.get(subjects.lease(found.name)) == b"x"
    except BoardError as error:
        said = str(error)
    assert "does not know the key" in said
    return False


async def test_a_host_comes_is_given_a_new_key_and_goes(fleet, run_cli, tmp_path):
    def call(command, host, *more):
        return run_cli("fleet", command, host, "--dir", fleet.folder.path, *more)

    old, new, other, late = (tmp_path / f"{name}.creds" for name in ("old", "new", "other", "late"))
    done = await asyncio.to_thread(call, "enroll", "db1.example.com", "--out", old)
    assert (done.returncode, done.stdout) == (0, f"db1.example.com: credentials in {old}\n"), done.stderr
    assert done.stderr == ""
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert await let_in(fleet, old)
    assert (await asyncio.to_thread(call, "enroll", "other", "--out", other)).returncode == 0
    assert (await asyncio.to_thread(call, "enroll", "db1.example.com", "--out", new)).returncode == 0
    assert [await let_in(fleet, each) for each in (old, new, other)] == [False, True, True]
    done = await asyncio.to_thread(call, "revoke", "db1.example.com")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("db1.example.com: its credentials no longer work; ")
    assert [await let_in(fleet, each) for each in (new, other)] == [False, True]
    async with fleet.board() as operator:
        assert await operator.get(subjects.lease("db1.example.com")) is None
        assert await operator.get(subjects.lease("other")) == b"x"
    fleet.stop()
    done = await asyncio.to_thread(call, "revoke", "other")
    assert f"once the server has read {fleet.folder.within('accounts.conf')}" in done.stdout
    assert "remove what it wrote: `asyncstate fleet prune --host other`" in done.stdout
    done = await asyncio.to_thread(call, "enroll", "late", "--out", tmp_path)
    assert f"they work once the server has read {fleet.folder.within('accounts.conf')}" in done.stdout
    assert credentials.read(str(late)).name == "late"
    fleet.start()
    assert [await let_in(fleet, each) for each in (other, late)] == [False, True]


def test_the_folder_of_credentials_is_made(run_cli, tmp_path):
    path = tmp_path / "D"
    assert run_cli("fleet", "up", "--dir", path, "--print-config").returncode == 0
    for hosts, out, files in (
        (("a", "b"), "many", ("many/a.creds", "many/b.creds")),
        (("c",), "one/", ("one/c.creds",)),
        (("d",), "deep/er/d", ("deep/er/d",)),
    ):
        done = run_cli("fleet", "enroll", *hosts, "--dir", path, "--out", f"{tmp_path}/{out}")
        assert done.returncode == 0, done.stderr
        for each in files:
            assert (tmp_path / each).stat().st_mode & 0o777 == 0o600
            assert (tmp_path / each).parent.stat().st_mode & 0o777 == 0o700


def test_what_cannot_be(run_cli, tmp_path):
    path = tmp_path / "D"
    assert run_cli("fleet", "up", "--dir", path, "--print-config").returncode == 0
    assert run_cli("fleet", "enroll", "web1", "--dir", path, "--out", tmp_path / "web1").returncode == 0
    before = (path / "fleet.json").read_bytes()
    for arguments, words in (
        (("revoke", "web2", "--dir", path), "web2 is not enrolled"),
        (("revoke", "web2", "--dir", path), "Did you mean web1?"),
        (("revoke", "web1", "--dir", tmp_path), "is not the folder of a fleet's server"),
        (("revoke", "web1", "--dir", tmp_path / "no"), "is not the folder of a fleet's server"),
        (("enroll", "web1", "--dir", tmp_path / "no", "--out", tmp_path / "x"), "is not the folder"),
        (("enroll", "web1", "--dir", path, "--out", path / "fleet.json" / "x"), "cannot be a folder for credentials"),
        (("enroll", "a", "b", "--dir", path, "--out", path / "fleet.json"), "cannot be a folder for credentials"),
        (("enroll", "a", "../b", "--dir", path, "--out", tmp_path / "x"), "cannot be the name of a file"),
        (("enroll", "a", "../b", "--dir", path, "--out", tmp_path), "cannot be the name of a file"),
        (("enroll", "../b", "--dir", path, "--out", tmp_path), "cannot be the name of a file"),
        (("enroll", "", "--dir", path, "--out", tmp_path / "x"), "cannot be the name of a host"),
        (("enroll", "web2", "--dir", path, "--out", tmp_path / "web1"), "has the credentials of host web1 already"),
        (
            ("enroll", "a", "--dir", path, "--out", path / "operator.creds"),
            "has the credentials of an operator already",
        ),
        (("enroll", "a\nb", "--dir", path, "--out", tmp_path / "x"), "cannot be the name of a host"),
    ):
        done = run_cli("fleet", *arguments)
        assert done.returncode == 1, arguments
        assert words in done.stderr, (arguments, done.stderr)
        assert "Traceback" not in done.stderr
    assert (path / "fleet.json").read_bytes() == before
    assert not (tmp_path / "x").exists()


def test_names_of_hosts_cannot_reach_into_the_configuration(run_cli, tmp_path):
    path = tmp_path / "D"
    run_cli("fleet", "up", "--dir", path, "--print-config")
    for number, name in enumerate(('a"}', "*", ">", "a.b", "_INBOX", "BOARD", "ü ö", "$SYS", "a" * 200)):
        assert run_cli("fleet", "enroll", name, "--dir", path, "--out", tmp_path / str(number)).returncode == 0
    from asyncstate.extras.fleet.nats.server import _run, find_program

    (path / "jetstream").mkdir()
    assert "is valid" in _run([find_program().path, "-t", "-c", str(path / "server.conf")])
    text = (path / "accounts.conf").read_text()
    assert '"HOST-=2A"' in text
    assert '"put.lease.=3E"' in text


@pytest.mark.parametrize("library", ["cryptography", "nats"])
def test_without_the_extra_the_error_names_it(tmp_path, library):
    code = (
        f"import sys; sys.modules[{library!r}] = None; from asyncstate.cli import main; "
        f"sys.exit(main(['fleet', 'enroll', 'a', '--dir', {str(tmp_path)!r}, '--out', 'x']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'nats-py>=2.9' 'cryptography>=43'" in done.stderr
    assert "Traceback" not in done.stderr


async def test_several_hosts_come_at_once(fleet, run_cli, tmp_path):
    folder = tmp_path / "creds"
    folder.mkdir()
    done = await asyncio.to_thread(
        run_cli, "fleet", "enroll", "a", "b", "a", "--dir", fleet.folder.path, "--out", folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"a: credentials in {folder}/a.creds\nb: credentials in {folder}/b.creds\n"
    assert [await let_in(fleet, folder / f"{name}.creds") for name in "ab"] == [True, True]
