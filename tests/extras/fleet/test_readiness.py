"""The readiness message to a service manager."""

import os
import socket

import pytest

from asyncstate.extras.fleet.readiness import tell_ready


@pytest.mark.parametrize("is_abstract", [False, True])
def test_the_manager_is_told_once_and_programs_that_follow_do_not_see_its_socket(tmp_path, monkeypatch, is_abstract):
    address = f"@{tmp_path}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address.replace("@", "\0"))
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        tell_ready()
        tell_ready()
        assert manager.recv(100) == b"READY=1"
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(100)
    assert "NOTIFY_SOCKET" not in os.environ


def test_without_a_manager_nothing_happens(tmp_path, monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    tell_ready()
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    tell_ready()
