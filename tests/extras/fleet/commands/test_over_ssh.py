"""``fleet apply --ssh`` as an operator types it: hosts on loopback, the command a process of its own."""

import asyncio
import json
import os
import sys

import anyio
import asyncssh
import pytest
from ssh_server import SshHost, write_known_hosts

WITHOUT_ASYNCSSH = "import sys; sys.modules['asyncssh'] = None; sys.argv[0] = 'asyncstate'; from asyncstate.cli import main; sys.exit(main())"


class Operator:
    def __init__(self, folder):
        self.folder = folder
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.key.write_private_key(folder / "id")
        self.key.write_public_key(folder / "id.pub")
        self.hosts = {}

    def write(self, path, text):
        full = self.folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text)

    async def start(self, *names):
        for name in names:
            self.hosts[name] = await SshHost(self.folder / name, self.folder / "id").start()
        write_known_hosts(self.folder / "known_hosts", *self.hosts.values())
        entries = [
            f"{name}: {{host: 127.0.0.1, port: {host.port}, user: me, priv: {self.folder}/id}}\n"
            for name, host in self.hosts.items()
        ]
        self.write("roster", "".join(entries))

    async def run(self, *words, python=("-m", "asyncstate")):
        """Return what a command says, and its exit code."""
        environ = {
            **os.environ, "HOME": str(self.folder), "ASYNCSTATE_CACHEDIR": str(self.folder / "cache"),
            "ASYNCSTATE_STATE_DIR": str(self.folder / "state"),
        }  # fmt: skip
        run = await asyncio.create_subprocess_exec(
            sys.executable,
            *python,
            "fleet",
            *words,
            cwd=self.folder,
            env=environ,
            stdout=-1,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asyncio.wait_for(run.communicate(), 150)
        return said.decode(), run.returncode

    async def apply(self, *words, **more):
        ways = ("--ssh", "roster", "--ssh-known-hosts", "known_hosts", "--file-root", "tree", "--target", "*")
        return await self.run("apply", *ways, "--progress", "none", *words, **more)


@pytest.fixture
async def operator(tmp_path):
    made = Operator(tmp_path)
    yield made
    for each in made.hosts.values():
        await each.stop()


async def test_dry_runs_roll_outs_lanes_and_reports_are_those_of_every_fleet(operator):
    out = operator.folder / "out"
    operator.write(
        "tree/app.sls",
        f"line:\n  cmd.run:\n    - name: 'echo {{{{ grains.id }}}} >> {out}; test {{{{ grains.id }}}} != b1'\n"
        "    - fleet_lane: line\n",
    )
    await operator.start("a1", "b1", "c1")
    said, code = await operator.apply("app", "--test")
    assert code == 0, said
    assert not out.exists()
    said, code = await operator.apply(
        "app", "--canary", "b1", "--batch", "1", "--max-failures", "0", "--lane", "line=1", "--report", "report.html"
    )
    assert code == 2, said
    assert out.read_text() == "b1\n"
    assert "a1" in (operator.folder / "report.html").read_text()
    assert [host.left for host in operator.hosts.values()] == [[], [], []]


async def test_an_orchestration_whose_steps_have_pillar_of_their_own_and_a_host_is_away(operator):
    out = operator.folder / "out"
    operator.write(
        "tree/orch.sls",
        "one:\n  salt.state: [{tgt: 'db*'}, {sls: app}, {pillar: {version: 1}}]\n"
        "two:\n  salt.state: [{tgt: 'web*'}, {sls: app}, {pillar: {version: 2}}, {require: [salt: one]}]\n"
        "all:\n  salt.state: [{tgt: '*'}, {tgt_type: compound}, {sls: app}, {require: [salt: two]}]\n"
        "ask:\n  salt.function: [{name: test.echo}, {tgt: db1}, {arg: [hello]}]\n",
    )
    operator.write(
        "tree/app.sls", f"a:\n  cmd.run:\n    - name: echo {{{{ grains.id }}}} {{{{ pillar.version }}}} >> {out}\n"
    )
    operator.write("pillar/top.sls", "base:\n  '*': [p]\n")
    operator.write("pillar/p.sls", "version: 0\n")
    await operator.start("db1", "web1", "web2")
    await operator.hosts["web2"].stop()
    ways = ("--ssh", "roster", "--ssh-known-hosts", "known_hosts", "--file-root", "tree", "--pillar-root", "pillar")
    began = anyio.current_time()
    said, code = await operator.run("orchestrate", "orch", *ways, "--out", "json", "--deadline", "100")
    assert anyio.current_time() - began < 90, "who cannot be reached is not waited for"
    assert code == 2, said
    assert "web2: " in said.partition("{")[0]
    rows = {row["__id__"]: row for row in json.loads(said[said.index("{") :]).values()}
    assert {id_: row["result"] for id_, row in rows.items()} == {"one": True, "two": False, "all": False, "ask": True}
    assert out.read_text() == "db1 1\nweb1 2\n"
    assert rows["ask"]["changes"]["ret"] == {"db1": "hello"}
    said, code = await operator.run("orchestrate", "orch", *ways, "--target", "L@db1,web1")
    assert code == 0, said
    assert sorted(out.read_text().splitlines()[2:]) == ["db1 0", "db1 1", "web1 0", "web1 2"]
    assert [host.left for host in operator.hosts.values()] == [[], [], []]


async def test_without_asyncssh_the_extra_is_named(operator):
    operator.write("tree/app.sls", "a:\n  test.nop: []\n")
    await operator.start("a1")
    said, code = await operator.apply("app", python=("-c", WITHOUT_ASYNCSSH))
    assert code == 1
    assert "pip install 'asyncssh>=2.18'" in said
    assert "Traceback" not in said


async def test_options_that_do_not_fit_are_refused_with_words(operator):
    operator.write("roster", "a1: a1\n")
    operator.write("known_hosts", "")
    operator.write("tree/app.sls", "a:\n  test.nop: []\n")
    said, code = await operator.apply("--ssh-keep", "kept")
    assert code == 1
    assert "neither absolute nor begins with ~/" in said
    said, _ = await operator.run("apply", "--target", "*", "--creds", "c", "--nats", "n", "--ssh-keep", "/k")
    assert "--ssh-keep goes with --ssh" in said
    said, _ = await operator.run("orchestrate", "app")
    assert "Missing option --creds and --nats; or --ssh ROSTER" in said
    said, _ = await operator.run("orchestrate", "app", "--creds", "c", "--nats", "n", "--target", "*")
    assert "--target goes with --ssh" in said
