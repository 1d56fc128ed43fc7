"""Connections: the ways to a host, and how it lets us in."""

import sys

import asyncssh
import msgspec

from asyncstate.fleet.ssh.ssh_options import SshOptions

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
