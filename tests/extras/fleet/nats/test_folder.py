"""The folder of a server: its missing files, and whether its server runs."""

import asyncio
import fcntl
import ssl
from datetime import timedelta

import pytest

from asyncstate.errors import FleetError
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.nats import certificates, server
from asyncstate.extras.fleet.nats.folder import Folder


@pytest.fixture
def folder(tmp_path):
    made = Folder(str(tmp_path / "D"))
    made.prepare("127.0.0.1:4222", (), None)
    return made


def test_a_lost_key_of_the_authority_is_an_error_and_no_new_authority(folder, tmp_path):
    certificate = (tmp_path / "D" / "authority.pem").read_bytes()
    (tmp_path / "D" / "authority.key").unlink()
    with pytest.raises(FleetError, match=r"authority\.key is missing"):
        folder.prepare(None, (), None)
    assert (tmp_path / "D" / "authority.pem").read_bytes() == certificate
    assert not (tmp_path / "D" / "authority.key").exists()


def test_a_server_that_is_starting_is_not_one_that_is_stopped(folder, monkeypatch):
    monkeypatch.setattr(server, "_TICK", 0.001)
    with open(folder.within("server.lock"), "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(FleetError, match="is starting, or just ending: try again"):
            server.running(folder)
    assert server.running(folder) is None


def test_several_hosts_are_enrolled_at_once_or_none(folder):
    made = folder.enrol_all(["a", "b"])
    assert [(each.name, each.key.public) for each in made] == [
        (name, host.key) for name, host in folder.settings().hosts.items()
    ]
    with pytest.raises(FleetError, match="cannot be the name of a host"):
        folder.enrol_all(["c", " "])
    assert list(folder.settings().hosts) == ["a", "b"]


@pytest.mark.slow
async def test_a_server_that_runs_for_years_takes_its_new_certificate(own_fleet, monkeypatch):
    async def shown():
        """Return the certificate that the server shows."""
        reader, writer = await asyncio.open_connection("127.0.0.1", int(own_fleet.url.rpartition(":")[2]))
        await reader.readline()
        context = ssl.create_default_context(cafile=own_fleet.folder.within("authority.pem"))
        await writer.start_tls(context, server_hostname="localhost")
        found = writer.get_extra_info("ssl_object").getpeercert()["serialNumber"]
        writer.transport.abort()
        return found

    a = await own_fleet.enrol("a")
    async with own_fleet.board(a) as host:
        await host.put(subjects.lease("a"), b"before")
        before = await shown()
        assert not own_fleet.folder.renew()
        monkeypatch.setattr(certificates, "RENEWED_BEFORE", certificates.SERVER_LIFE + timedelta(days=1))
        assert own_fleet.folder.renew()
        assert await server.reload(own_fleet.folder)
        assert await shown() != before
        await host.put(subjects.lease("a"), b"after")  # connections that are there stay
