"""The commands of a fleet with a real server and real agents, each a process of its own, on this machine."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from fleet_server import PATIENCE, FleetServer
from report_page import Page

from asyncstate.extras.fleet import credentials

TREES = {
    "db1": "database:\n  cmd.run:\n    - name: echo db >> {out}/log\n",
    "web1": "site:\n  cmd.run:\n    - name: echo web >> {out}/log\n    - require:\n      - {{host: 'G@role:db', cmd: database}}\n",
    "lb1": "balance:\n  cmd.run:\n    - name: echo lb >> {out}/log\n    - require:\n      - {{host: web1, sls: app}}\n",
}


SLOW = {
    "db1": (
        "first:\n  cmd.run:\n    - name: echo first >> {out}/slow\n"
        "second:\n  cmd.run:\n    - name: test -e {out}/begun || {{ touch {out}/begun; sleep 20; }}\n"
        "    - require:\n      - cmd: first\n"
    ),
    "web1": "last:\n  cmd.run:\n    - name: echo last >> {out}/slow\n    - require:\n      - {{host: db1, cmd: second}}\n",
}


ORDERED = (
    "ordered:\n  cmd.run:\n    - name: echo {host} >> {out}/ordered\n    - fleet_order: {order}\n"
    "in line:\n  cmd.run:\n    - name: mkdir {out}/alone && sleep 0.1 && rmdir {out}/alone\n    - fleet_lane: line\n"
)
"""The order of hosts is said by numbers; two states of the lane at once would be in each other's way."""


class Commands:
    """A server, three agents, and an operator's command line."""

    def __init__(self, home):
        self.home = home
        self.out = home / "out"
        self.out.mkdir()
        self.server = FleetServer(home)
        self.agents = {}

    def start(self):
        self.server.start()
        for host, text in TREES.items():
            root = self.home / host
            root.mkdir()
            (root / "app.sls").write_text(text.format(out=self.out))
            (root / "slow.sls").write_text(SLOW.get(host, "").format(out=self.out))
            order = ["lb1", "db1", "web1"].index(host)
            (root / "ordered.sls").write_text(ORDERED.format(out=self.out, host=host, order=order))
            (root / "free.sls").write_text("x:\n  cmd.run:\n    - name: 'true'\n")
            made = asyncio.run(self.server.enrol(host))
            credentials.write(str(root / "creds"), made)
            (root / "config.yaml").write_text(f"grains: {{role: {host.rstrip('1')}}}\n")
            self.start_agent(host)

    def start_agent(self, host):
        root = self.home / host
        command = [
            *self._program("agent", "--id", host, "--creds", str(root / "creds")),
            *("--file-root", str(root), "--config", str(root / "config.yaml")),
        ]
        with open(root / "stderr", "a", encoding="utf-8") as stderr:
            process = subprocess.Popen(
                command,
                env=self._environ(host),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        self.agents[host] = process
        alarm = threading.Timer(PATIENCE, process.kill)
        alarm.start()
        line = process.stdout.readline()
        alarm.cancel()
        assert line == f"ready {host}\n", (root / "stderr").read_text()

    def kill_agent(self, host):
        process = self.agents[host]
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()

    def stop(self):
        for process in self.agents.values():
            process.send_signal(signal.SIGTERM)
        for process in self.agents.values():
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()
                process.wait()
                process.stdout.close()
        self.server.stop()

    def operator(self, *words):
        process = self.start_operator(*words)
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    def show_graph(self, *words):
        command = [sys.executable, "-m", "asyncstate", "fleet", "graph", *words]
        creds = os.path.join(self.server.folder.path, "operator.creds")
        return subprocess.run(
            [*command, "--nats", self.server.url, "--creds", creds],
            env=self._environ("operator"),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def start_operator(self, *words):
        command = self._program(*words, "--creds", os.path.join(self.server.folder.path, "operator.creds"))
        return subprocess.Popen(
            command, env=self._environ("operator"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def _program(self, *words):
        return [sys.executable, "-m", "asyncstate", "fleet", *words, "--nats", self.server.url]

    def _environ(self, name):
        home = str(self.home / name)
        return {
            **os.environ,
            "HOME": home,
            "ASYNCSTATE_STATE_DIR": f"{home}/state",
            "ASYNCSTATE_CACHEDIR": f"{home}/cache",
        }


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    commands = Commands(tmp_path_factory.mktemp("fleet"))
    try:
        commands.start()
        yield commands
    finally:
        commands.stop()


def test_a_run_across_three_hosts(fleet):
    done = fleet.operator("apply", "app", "--target", "*", "--out", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert list(rows) == ["db1", "lb1", "web1"]
    assert [[row["__id__"] for row in each.values()] for each in rows.values()] == [["database"], ["balance"], ["site"]]
    assert all(row["result"] for each in rows.values() for row in each.values())
    assert (fleet.out / "log").read_text() == "db\nweb\nlb\n"

    listed = json.loads(fleet.operator("runs", "--out", "json").stdout)
    assert [(each["hosts"], each["exit_code"]) for each in listed] == [(["db1", "lb1", "web1"], 0)]
    shown = fleet.operator("show", listed[0]["run"][:6], "--out", "json")
    assert json.loads(shown.stdout) == rows, shown.stderr
    ended = fleet.operator("attach", listed[0]["run"])
    assert (ended.returncode, "has ended: `asyncstate fleet show" in ended.stderr) == (1, True)
    again = fleet.operator("cancel", listed[0]["run"][:6])
    assert (again.returncode, again.stdout, "has ended, no host was told" in again.stderr) == (1, "", True)


def test_a_report_as_a_page_while_it_runs_and_afterwards(fleet, tmp_path):
    done = fleet.operator(
        "apply", "app", "--target", "*", "--report", str(tmp_path / "run.html"), "--progress", "plain"
    )
    assert done.returncode == 0, done.stderr
    assert "[3/3] " in done.stderr
    run = re.search(r"^Run (\w+):", done.stdout, re.MULTILINE)[1]
    shown = fleet.operator("show", run, "--report", str(tmp_path / "again.html"))
    assert shown.returncode == 0, shown.stderr
    for name in ("run.html", "again.html"):
        data = Page((tmp_path / name).read_text()).data
        path = sorted((each for each in data["states"] if each.get("critical")), key=lambda each: each["began"])
        assert [data["hosts"][each.get("host", 0)] for each in path] == ["db1", "web1", "lb1"]


def test_barriers_and_lanes_are_kept_through_a_real_server(fleet):
    done = fleet.operator("apply", "ordered", "--target", "*", "--batch", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (fleet.out / "ordered").read_text() == "lb1\ndb1\nweb1\n"


def test_a_roll_out_is_told_of_where_runs_are_listed_and_shown(fleet):
    done = fleet.operator("apply", "free", "--target", "*", "--batch", "1", "--canary", "web1", "--test")
    assert done.returncode == 0, done.stderr
    run = re.search(r"^Run (\w+):", done.stdout, re.MULTILINE)[1]
    listed = fleet.operator("runs").stdout.splitlines()
    [line] = [line for line in listed if line.startswith(run)]
    assert "(*, batch 1, canary web1), by " in line
    assert line.endswith(f"@{socket.gethostname()}: exit code 0")
    assert "Roll-out: batch 1, canary web1" in fleet.operator("show", run).stderr


def test_a_highstate_without_a_top_file_says_what_was_looked_for(fleet):
    done = fleet.operator("apply", "--target", "db1")
    assert done.returncode == 2
    assert f"there is no top.sls in {fleet.home}/db1 (base); write one, or name one of these: app" in done.stderr


def test_a_dry_run_for_people_as_events_and_for_programs(fleet, tmp_path):
    before = (fleet.out / "log").read_text() if (fleet.out / "log").exists() else ""
    done = fleet.operator("apply", "app", "--target", "* and not lb1", "--test")
    assert done.returncode == 0, done.stderr
    assert "ID: site" in done.stdout
    assert "2 hosts, 0 failed" in done.stdout
    done = fleet.operator("apply", "app", "--target", "db1", "--test", "--state-output", "terse")
    assert "Function: cmd.run" in done.stdout
    assert "ID:" not in done.stdout
    assert "1 host, 0 failed" in done.stdout
    done = fleet.operator("apply", "app", "--target", "db1", "--test", "--out", "jsonl")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["host"] for event in events} == {"db1"}
    assert [events[0]["event"], events[-1]["event"]] == ["run_started", "run_finished"]
    assert ((fleet.out / "log").read_text() if (fleet.out / "log").exists() else "") == before
    told = ("--junit", str(tmp_path / "junit.xml"), "--metrics", str(tmp_path / "m.prom"))
    done = fleet.operator("apply", "app", "--target", "db1", "--test", "-q", "--detailed-exitcode", *told)
    assert (done.returncode, done.stderr) == (3, "")
    assert f'file="{fleet.home}/db1/app.sls" line="2"' in (tmp_path / "junit.xml").read_text()
    assert 'asyncstate_states{host="db1",outcome="changed"} 1' in (tmp_path / "m.prom").read_text()


def test_the_joined_graph_of_hosts_and_of_a_run_that_was(fleet):
    before = (fleet.out / "log").read_text() if (fleet.out / "log").exists() else ""
    drawn = fleet.show_graph("app", "--target", "*", "--format", "mermaid")
    assert drawn.returncode == 0, drawn.stderr
    assert re.findall(r'subgraph h\d\["(\w+)"\]', drawn.stdout) == ["db1", "lb1", "web1"]
    assert drawn.stdout.count("==>|require|") == 2
    assert ((fleet.out / "log").read_text() if (fleet.out / "log").exists() else "") == before
    listed = fleet.operator("runs").stdout.splitlines()
    planned = listed[0].split()[0]
    assert "app (plans only) on 3 hosts" in listed[0]
    for command in ("show", "attach"):
        done = fleet.operator(command, planned)
        assert (done.returncode, "nothing ran" in done.stderr) == (1, True)
    assert "has no joined plans" in fleet.show_graph("--run", planned).stderr

    done = fleet.operator("apply", "app", "--target", "*", "--test")
    run = re.search(r"^Run (\w+):", done.stdout, re.MULTILINE)[1]
    again = fleet.show_graph("--run", run[:8], "--format", "mermaid")
    assert again.stdout == drawn.stdout, again.stderr


def test_the_graph_of_hosts_says_what_it_needs(fleet, run_cli):
    assert "needs hosts (--target) or a run" in fleet.show_graph().stderr
    assert "needs hosts (--target) or a run" in fleet.show_graph("--target", "*", "--run", "x").stderr
    assert "No host of this run fits" in fleet.show_graph("app", "--target", "L@web1,lb1").stderr
    assert "Missing option '--creds'" in run_cli("fleet", "graph", "--target", "*").stderr


def test_a_target_that_is_missing_is_told_with_host_file_and_line(fleet):
    done = fleet.operator("apply", "app", "--target", "L@web1,lb1", "--out", "json")
    assert done.returncode == 1
    assert "No host of this run fits requisite [require: {host: G@role:db, cmd: database}]" in done.stderr
    assert f"web1:{fleet.home}/web1/app.sls:2" in done.stderr


def test_who_is_there(fleet):
    found = json.loads(fleet.operator("status", "--out", "json").stdout)
    assert {host: each["there"] for host, each in found.items()} == dict.fromkeys(["db1", "lb1", "web1"], True)


def until(path):
    for _ in range(int(PATIENCE * 20)):
        if path.exists():
            return
        time.sleep(0.05)  # another process makes it
    raise AssertionError(path)


def test_an_agent_that_is_killed_goes_on_from_its_journal(fleet):
    operator = fleet.start_operator("apply", "slow", "--target", "L@db1,web1", "--out", "json", "--on-lost", "wait")
    until(fleet.out / "begun")
    fleet.kill_agent("db1")
    fleet.start_agent("db1")
    stdout, stderr = operator.communicate(timeout=PATIENCE)
    assert operator.returncode == 0, stderr
    rows = json.loads(stdout)
    assert [row["__id__"] for row in rows["db1"].values()] == ["first", "second"]
    assert (fleet.out / "slow").read_text() == "first\nlast\n"


ORCHESTRATION = """
wait:
  salt.wait_for_event:
    - name: salt/minion/*/start
    - id_list: [web1]
    - timeout: 60
    - parallel: true

database:
  salt.function:
    - name: cmd.run
    - tgt: role:db
    - tgt_type: grain
    - arg: ['echo called >> {out}/called; while test ! -e {out}/go-on; do sleep 0.1; done']

after:
  salt.state:
    - tgt: 'web*'
    - sls: app
    - require: [salt: wait]

not_after:
  salt.function:
    - name: test.ping
    - tgt: lb1
    - require: [salt: database]

instead:
  salt.function:
    - name: test.ping
    - tgt: lb1
    - onfail: [salt: database]
"""


def test_an_orchestration_during_which_agents_are_killed(fleet):
    """A host is there again; a function that was cut off is not called again."""
    tree = fleet.home / "operator-tree"
    tree.mkdir()
    (tree / "deploy.sls").write_text(ORCHESTRATION.format(out=fleet.out))
    (fleet.home / "web1" / "app.sls").rename(fleet.home / "web1" / "kept")
    (fleet.home / "web1" / "app.sls").write_text("site:\n  test.succeed_with_changes: []\n")
    operator = fleet.start_operator("orchestrate", "deploy", "--file-root", str(tree), "--out", "json")
    until(fleet.out / "called")
    for host in ("db1", "web1"):
        fleet.kill_agent(host)
        fleet.start_agent(host)
    stdout, stderr = operator.communicate(timeout=PATIENCE)
    (fleet.out / "go-on").touch()
    (fleet.home / "web1" / "kept").rename(fleet.home / "web1" / "app.sls")
    assert operator.returncode == 2, stderr
    rows = {row["__id__"]: row for row in json.loads(stdout).values()}
    assert rows["wait"]["changes"] == {"minions_seen": ["web1"]}
    assert rows["after"]["comment"] == "States ran successfully. Updating web1."
    assert rows["database"]["comment"].startswith("Running function cmd.run failed on minions: db1")
    assert "is not known, and it is not called again" in stderr
    assert rows["not_after"]["comment"] == "One or more requisite failed: deploy.database"
    assert rows["instead"]["changes"] == {"ret": {"lb1": True}}
    assert (fleet.out / "called").read_text() == "called\n"


def test_a_run_whose_program_was_killed_is_taken_up(fleet):
    (fleet.out / "begun").unlink(missing_ok=True)
    operator = fleet.start_operator("apply", "slow", "--target", "L@db1,web1")
    until(fleet.out / "begun")
    operator.kill()
    operator.communicate(timeout=PATIENCE)
    run = json.loads(fleet.operator("runs", "--out", "json").stdout)[0]["run"]
    taken_up = fleet.operator("attach", run, "--out", "json")
    assert taken_up.returncode == 0, taken_up.stderr
    assert [row["__id__"] for row in json.loads(taken_up.stdout)["web1"].values()] == ["last"]


def test_mistakes_of_use_say_what_to_do(fleet):
    done = fleet.operator("apply", "app", "--target", "web2")
    assert done.returncode == 1
    assert "no host fits the target 'web2': did you mean 'web1'?" in done.stderr
    done = fleet.operator("cancel", "zzz")
    assert (done.returncode, "there is no run 'zzz'" in done.stderr) == (1, True)
    done = fleet.operator("agent")
    assert done.returncode == 1
    assert "is an operator's. `asyncstate fleet enroll` makes credentials for a host." in done.stderr


def test_the_log_of_an_agent_without_secrets(fleet):
    (fleet.home / "db1" / "secret.sls").write_text(
        "leak:\n  cmd.run:\n    - name: 'echo {{ pillar[\"password\"] }}; false'\n    - no_log: true\n"
    )
    done = fleet.operator("apply", "secret", "--target", "db1", "--pillar", "{password: hunter2hunter2}")
    assert done.returncode == 2
    until_logged(fleet, "came to its end")
    logged = fleet.operator("logs", "db1")
    assert "Run " in logged.stdout
    assert "is offered: secret" in logged.stdout
    assert "hunter2hunter2" not in logged.stdout
    last = fleet.operator("logs", "db1", "--lines", "1", "--out", "jsonl")
    (fields,) = map(json.loads, last.stdout.splitlines())
    assert {"timestamp", "level", "event", "logger"} <= fields.keys()
    unknown = fleet.operator("logs", "db2")
    assert (unknown.returncode, "did you mean 'db1'?" in unknown.stderr) == (1, True)


def until_logged(fleet, text):
    follower = fleet.start_operator("logs", "db1", "--follow")
    alarm = threading.Timer(PATIENCE, follower.kill)
    alarm.start()
    found = any(text in line for line in follower.stdout)
    alarm.cancel()
    follower.send_signal(signal.SIGINT)
    follower.communicate(timeout=PATIENCE)
    assert (found, follower.returncode) == (True, 0)


def completed(fleet, run_cli, line):
    creds = os.path.join(fleet.server.folder.path, "operator.creds")
    environ = {
        **run_cli.environ,
        "_ASYNCSTATE_COMPLETE": "bash",
        "COMP_LINE": line,
        "ASYNCSTATE_FLEET_CREDS": creds,
        "ASYNCSTATE_FLEET_NATS": fleet.server.url,
    }
    command = [sys.executable, "-m", "asyncstate"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.stderr == ""
    return done.stdout.split()[1:]


def test_a_shell_completes_commands_hosts_and_runs(fleet, run_cli):
    assert completed(fleet, run_cli, "asyncstate fleet lo") == ["logs"]
    assert completed(fleet, run_cli, "asyncstate fleet logs ") == ["db1", "lb1", "web1"]
    assert completed(fleet, run_cli, f"asyncstate fleet revoke --dir {fleet.server.folder.path} w") == ["web1"]
    assert completed(fleet, run_cli, "asyncstate fleet revoke --dir /nowhere w") == []
    runs = [line.split()[0] for line in fleet.operator("runs").stdout.splitlines()]
    assert completed(fleet, run_cli, "asyncstate fleet show ") == runs
    assert completed(fleet, run_cli, "asyncstate fleet graph --run ") == runs
    assert completed(fleet, run_cli, "asyncstate fleet show --nats tls://127.0.0.1:1 ") == []
