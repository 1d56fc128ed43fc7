"""`fleet apply --ssh` with OpenSSH's own sshd: two hosts on loopback, and one of them as the way to the other."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
import sshd
from networks import Networks
from tables import beside

TABLES = beside(__file__)

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(sshd.program() is None, reason="needs sshd: .ci/server-tools unpacks Debian's"),
]


class Operator:
    def __init__(self, folder, *names, network=(), **more):
        """``more`` are those of each server; ``network`` starts the operator's program in a network."""
        self.folder = folder
        self.network = list(network)
        self.key = sshd.keygen(folder / "id")
        self.hosts = {name: sshd.Sshd(folder / name, self.key, **more).start() for name in names}
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
            f"{name}: {{host: {host.address}, port: {host.port}, priv: {self.key}"
            f"{more.get(name) or f', user: {sshd.USER}'}}}\n"
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
            [*self.network, *command],
            cwd=self.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def apply(self):
        run = self.start()
        return run.communicate(timeout=150)[0], run.returncode

    def stop(self):
        for each in self.hosts.values():
            each.stop()

    def left(self):
        until = time.monotonic() + 60
        while any(each.tmp for each in self.hosts.values()) and time.monotonic() < until:
            time.sleep(0.1)
        return [name for each in self.hosts.values() for name in each.tmp]


@pytest.fixture
def operator(tmp_path):
    made = Operator(tmp_path, "db1", "web1")
    yield made
    made.stop()


@pytest.fixture
def made_of(tmp_path):
    """Makes an operator whose hosts are not the usual ones."""
    made = []

    def make(*names, **more):
        made.append(Operator(tmp_path, *names, **more))
        return made[-1]

    yield make
    for each in made:
        each.stop()


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount file systems for itself")


def test_a_state_waits_for_one_of_another_host_also_over_a_jump_host(operator):
    log = operator.folder / "order"
    operator.write("tree/db.sls", f"database:\n  cmd.run:\n    - name: sleep 1; echo db >> {log}\n")
    operator.write(
        "tree/web.sls",
        f"site:\n  cmd.run:\n    - name: echo web >> {log}\n    - require: [{{host: db1, cmd: database}}]\n",
    )
    way = f"{sshd.USER}@127.0.0.1:{operator.hosts['db1'].port}"
    operator.roster(web1=f", user: {sshd.USER}, ssh_options: ['ProxyJump={way}']")
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


NOEXEC = "mount --bind {0} {0}\nmount -o remount,bind,noexec {0}\n"


@as_root
def test_a_folder_that_lets_no_program_run_is_passed_over_and_none_at_all_has_words(made_of, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    own = tmp_path / "db1"
    mounts = "".join(map(NOEXEC.format, (own, "/tmp", "/var/tmp"))) + f"mount --bind {elsewhere} {own}/home\n"
    mounts += f"mount -o remount,bind,exec {own}/home\n"  # the folder of the tests may be below /tmp
    operator = made_of("db1", mounts=mounts)
    operator.write("tree/db.sls", f"where:\n  cmd.run:\n    - name: ls {own}/home > {elsewhere}.listed\n")
    operator.roster()
    said, code = operator.apply()
    assert code == 0, said
    assert "asyncstate-" in (tmp_path / "elsewhere.listed").read_text()
    assert (operator.left(), list(elsewhere.iterdir())) == ([], [])
    operator.roster(db1=f", user: {sshd.USER}, thin_dir: {own}/tmp")
    said, code = operator.apply()
    assert code == 2
    assert f"{own}/tmp" in said
    assert "no folder can be written to whose programs may run: name one as thin_dir" in said
    assert operator.left() == []


@as_root
def test_a_network_that_drops_everything_loses_the_host_and_leaves_nothing_there(made_of):
    with Networks() as networks:
        operator = made_of("db1", network=networks.outside)
        far = sshd.Sshd(operator.folder / "web1", operator.key, network=networks.inside, address=networks.INSIDE)
        operator.hosts["web1"] = far.start()
        near = operator.hosts.pop("db1")
        near.stop()
        operator.know(far)
        mark = operator.folder / "mark"
        operator.write("tree/web.sls", f"slow:\n  cmd.run:\n    - name: echo $$ > {mark}; exec sleep 600\n")
        operator.roster()
        run = operator.start()
        until = time.monotonic() + 120
        while not (mark.exists() and mark.read_text().strip()) and time.monotonic() < until:
            time.sleep(0.1)
        program = int(mark.read_text())
        networks.cut()
        said = run.communicate(timeout=150)[0]
        assert run.returncode == 2, said
        assert "web1 is lost: there was no sign of it for" in said
        until = time.monotonic() + 150
        while os.path.exists(f"/proc/{program}") and time.monotonic() < until:
            time.sleep(0.2)
        assert not os.path.exists(f"/proc/{program}"), "it goes on though nobody is there any more"
        assert operator.left() == []


@as_root
@pytest.mark.skipif(
    not (sshd.UNPACKED / "usr/bin/sudo").exists(), reason="needs sudo: .ci/server-tools unpacks Debian's"
)
@pytest.mark.parametrize(
    ("rule", "entry", "words"),
    TABLES["real sudo"],
)
def test_real_sudo(made_of, tmp_path, rule, entry, words):
    mounts = sshd.sudo_setup(tmp_path / "db1", rule, "right")
    operator = made_of("db1", mounts=mounts, keys="/run/keys")
    operator.write("tree/db.sls", "who:\n  cmd.run:\n    - name: id -un\n    - shell: /bin/sh\n")
    thin = "" if "nobody" in entry else ", thin_dir: /run/thin"
    operator.roster(db1=f", user: {sshd.DEPLOY}, {entry}{thin}")
    said, code = operator.apply()
    if words in {"", "nobody"}:
        assert code == 0, said
        assert re.search(rf"stdout:\s+{words or 'root'}\n", said), said
    else:
        assert code == 2, said
        assert words in said
        assert "Traceback" not in said
        assert max(map(len, said.splitlines())) < 700, "the loader's text is shown"
    assert "right" not in said.replace("rights", "")
