"""`fleet apply --ssh` with OpenSSH's own sshd: two hosts on loopback, and one of them as the way to the other."""

import os
import signal
import subprocess
import sys
import time

import pytest
import sshd

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(sshd.program() is None, reason="needs sshd: .ci/server-tools unpacks Debian's"),
]


class Operator:
    def __init__(self, folder):
        self.folder = folder
        self.key = sshd.keygen(folder / "id")
        self.hosts = {name: sshd.Sshd(folder / name, self.key).start() for name in ("db1", "web1")}
        self.know(*self.hosts.values())
        self.write("tree/top.sls", "base:\n  'db1': [db]\n  'web1': [web]\n")

    def know(self, *hosts):
        self.write("known_hosts", "".join(each.known_hosts_line for each in hosts))

    def write(self, path, text):
        full = self.folder / path
        full.parent.mkdir(exist_ok=True)
        full.write_text(text)

    def roster(self, **more):
        entries = [
            f"{name}: {{host: 127.0.0.1, port: {host.port}, user: {sshd.USER}, priv: {self.key}{more.get(name, '')}}}\n"
            for name, host in self.hosts.items()
        ]
        self.write("roster", "".join(entries))

    def start(self):
        (self.folder / "home").mkdir(exist_ok=True)
        environ = {
            **os.environ, "HOME": str(self.folder / "home"), "ASYNCSTATE_CACHEDIR": str(self.folder / "cache"),
            "ASYNCSTATE_STATE_DIR": str(self.folder / "state"),
        }  # fmt: skip
        command = [sys.executable, "-m", "asyncstate", "fleet", "apply", "--target", "*", "--progress", "none"]
        command += ["--ssh", "roster", "--ssh-known-hosts", "known_hosts", "--file-root", "tree"]
        return subprocess.Popen(
            command, cwd=self.folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def apply(self):
        run = self.start()
        return run.communicate(timeout=150)[0], run.returncode

    def left(self):
        until = time.monotonic() + 60
        while any(each.tmp for each in self.hosts.values()) and time.monotonic() < until:
            time.sleep(0.1)
        return [name for each in self.hosts.values() for name in each.tmp]


@pytest.fixture
def operator(tmp_path):
    made = Operator(tmp_path)
    yield made
    for each in made.hosts.values():
        each.stop()


def test_a_state_waits_for_one_of_another_host_also_over_a_jump_host(operator):
    log = operator.folder / "order"
    operator.write("tree/db.sls", f"database:\n  cmd.run:\n    - name: sleep 1; echo db >> {log}\n")
    operator.write(
        "tree/web.sls",
        f"site:\n  cmd.run:\n    - name: echo web >> {log}\n    - require: [{{host: db1, cmd: database}}]\n",
    )
    way = f"{sshd.USER}@127.0.0.1:{operator.hosts['db1'].port}"
    operator.roster(web1=f", ssh_options: ['ProxyJump={way}']")
    said, code = operator.apply()
    assert code == 0, said
    assert log.read_text() == "db\nweb\n"
    assert operator.left() == []


def test_a_key_that_is_not_known_is_refused_and_the_other_host_goes_on(operator):
    operator.write("tree/db.sls", "a:\n  test.nop: []\n")
    operator.roster()
    operator.know(operator.hosts["db1"])
    said, code = operator.apply()
    assert code == 2
    assert "web1: its host key is not known: ssh-ed25519 SHA256:" in said
    assert "2 hosts, 1 failed: web1" in said
    assert operator.left() == []


@pytest.mark.parametrize("end", ["connection", "operator"])
def test_nothing_is_left_when_the_connection_or_the_operator_dies(operator, end):
    mark = operator.folder / "mark"
    operator.write("tree/db.sls", f"slow:\n  cmd.run:\n    - name: echo $$ > {mark}; exec sleep 600\n")
    operator.write("tree/web.sls", "after:\n  test.nop:\n    - require: [{host: db1, cmd: slow}]\n")
    operator.roster()
    run = operator.start()
    until = time.monotonic() + 120
    while not (mark.exists() and mark.read_text().strip()) and time.monotonic() < until:
        time.sleep(0.1)
    program = int(mark.read_text())
    if end == "operator":
        os.kill(run.pid, signal.SIGKILL)
    else:
        operator.hosts["db1"].cut()
    said = run.communicate(timeout=150)[0]
    assert operator.left() == []
    assert not os.path.exists(f"/proc/{program}")
    if end == "connection":
        assert "db1 is lost" in said
        assert run.returncode == 2
