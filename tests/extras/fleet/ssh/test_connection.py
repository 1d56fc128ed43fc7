"""Connections: the route to a host, and authentication."""

import sys
import time

import asyncssh
import msgspec
import pytest
from cut_connection import Line

from asyncstate.extras.fleet.ssh import connection
from asyncstate.extras.fleet.ssh.connection import Ways
from asyncstate.extras.fleet.ssh.ssh_options import SshOptions

RELAY = """
import os, socket, sys, threading
far = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def back():
    while data := far.recv(65536):
        os.write(1, data)
threading.Thread(target=back, daemon=True).start()
while data := os.read(0, 65536):
    far.sendall(data)
"""


async def test_a_proxy_command_and_an_alias_of_the_host_key_are_those_of_ssh(place):
    place.write("relay.py", RELAY)
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    command = f"{sys.executable} {place.folder}/relay.py %h %p"
    host = await place.host("a1", options=SshOptions(proxy_command=command, host_key_alias="the-alias"))
    place.write("known_hosts", f"the-alias {host.key.export_public_key().decode()}")
    session, end = await place.apply("app")
    assert session.failed == {}
    assert end.exit_code == 0


@pytest.mark.slow
async def test_a_host_behind_a_slow_link_gets_the_bundle(place):
    """It takes longer than a host that does not answer may."""
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    host = await place.host("a1", options=SshOptions(host_key_alias="the-alias"), timeout=10)
    place.write("known_hosts", f"the-alias {host.key.export_public_key().decode()}")
    begun = time.monotonic()
    async with Line(host.port) as line:
        line.rate = 50_000
        port = int(line.url.rpartition(":")[2])
        place.roster = [msgspec.structs.replace(entry, port=port) for entry in place.roster]
        session, end = await place.apply("app")
    assert session.failed == {}
    assert end.exit_code == 0
    assert time.monotonic() - begun > 60


async def test_an_encrypted_key_needs_its_passphrase(place):
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    await place.host("a1")
    key = asyncssh.read_private_key(place.client_key)
    key.write_private_key(place.client_key, "pkcs8-pem", passphrase="right words")
    (entry,) = place.roster
    place.roster = [
        msgspec.structs.replace(entry, id=id_, priv_passwd=words)
        for id_, words in (("good", "right words"), ("wrong", "wrong words"), ("none", ""))
    ]
    session, end = await place.apply("app")
    assert set(end.hosts) == {"good"}
    assert end.exit_code == 0
    assert set(session.failed) == {"wrong", "none"}
    assert "Passphrase must be specified" in session.failed["none"]
    assert "words" not in session.failed["wrong"]


def test_who_has_no_known_hosts_yet_is_told_where_to_keep_a_key(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(connection, "_USUAL", ("~/.ssh/known_hosts",))
    client = connection._Client(Ways(), "web1", 22)
    key = asyncssh.generate_private_key("ssh-ed25519")
    for there in (False, True):
        if there:
            (tmp_path / ".ssh").mkdir()
            (tmp_path / ".ssh/known_hosts").write_text("")
        assert not client.validate_host_public_key("web1", "", 22, key)
        assert client.refused.endswith(f"ssh-keyscan -p 22 web1 >> {tmp_path}/.ssh/known_hosts")
        assert (f"is not in {tmp_path}/.ssh/known_hosts." in client.refused) == there
        assert ("there are no known hosts yet" in client.refused) != there
