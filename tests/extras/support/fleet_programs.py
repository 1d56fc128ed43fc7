"""A fleet of real programs on this machine: a server, agents and operators, each a process with folders of its own.

Every state appends its ID to one file when it ends, so the file has the order and the number of runs. A state that is
*held* begins, and ends once the test releases it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from fleet_server import PATIENCE, FleetServer

from asyncstate.extras.fleet import credentials

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class FleetPrograms:
    """``home`` is a folder of its own. Use it with ``with``: leaving the block ends everything that was started."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.out = home / "out"
        self.out.mkdir()
        self.server = FleetServer(home)
        self.agents: dict[str, subprocess.Popen[str]] = {}
        self._operators: list[Operator] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for path in self.out.glob("*.begun"):
            self.let_go(path.stem)
        for operator in self._operators:
            operator.kill()
        self.stop_agents()
        self.server.stop()

    # states

    def state(self, id_: str, *requires: str, held: bool = False, extra: str = "") -> str:
        """Return a state as YAML. ``requires`` are IDs of this host, or ``host/id``; ``extra`` are more arguments."""
        wait = f"until test -e {self.out}/{id_}.go; do sleep 0.05; done; " if held else ""
        lines = [f"{id_}:", "  cmd.run:"]
        lines += [f"    - name: touch {self.out}/{id_}.begun; {wait}echo {id_} >> {self.out}/log"]
        if requires:
            lines.append("    - require:")
        for each in requires:
            host, slash, id_of = each.partition("/")
            lines.append(f"      - {{host: {host}, cmd: {id_of}}}" if slash else f"      - cmd: {each}")
        return "\n".join([*lines, *([f"    - {extra}"] if extra else []), ""])

    def ran(self) -> list[str]:
        """Return the IDs of the states that came to their end, in the order in which they did."""
        path = self.out / "log"
        return path.read_text().split() if path.exists() else []

    def let_go(self, id_: str) -> None:
        """Let a state that is held come to its end."""
        (self.out / f"{id_}.go").touch()

    def until_begun(self, id_: str) -> None:
        """Wait until a state runs."""
        until((self.out / f"{id_}.begun").exists, id_)

    def forget(self) -> None:
        """Forget what ran, and hold again what is held."""
        for path in self.out.iterdir():
            path.unlink()

    # who takes part

    def tree(self, host: str, **sls: str) -> None:
        """Give a host its SLS files."""
        root = self.home / host / "tree"
        root.mkdir(parents=True, exist_ok=True)
        for name, text in sls.items():
            (root / f"{name}.sls").write_text(text)

    def enrol(self, host: str, config: Mapping[str, Any] | None = None) -> None:
        """Give a host its credentials, before the server starts, or while it runs. ``config`` are its settings."""
        self.tree(host)
        self.command("enroll", host, "--dir", self.server.folder.path, "--out", str(self.home / host / "creds"))
        (self.home / host / "config.yaml").write_text(json.dumps(config or {}))

    def prepare(self, *hosts: str, address: str = "", replicas: int = 1) -> None:
        """Make the server's folder and the credentials of hosts, before the server starts."""
        folder = self.server.folder
        folder.prepare(address or None, (), replicas)
        for host in hosts:
            self.tree(host)
            credentials.write(str(self.home / host / "creds"), folder.enrol(host))
            (self.home / host / "config.yaml").write_text("{}")

    def start(self, *hosts: str, address: str = "") -> None:
        """Start the server with these hosts enrolled, and their agents."""
        self.prepare(*hosts, address=address)
        self.server.start("--listen", address or "127.0.0.1:0")
        for host in hosts:
            self.start_agent(host, ready=False)
        for host in hosts:
            self.until_ready(host)

    def start_agent(
        self,
        host: str,
        *words: str,
        ready: bool = True,
        url: str = "",
        prefix: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Start the agent of a host; ``prefix`` is a program that starts programs. With ``ready``, wait until it is."""
        home = self.home / host
        command = [
            *(
                *(prefix or self.server.prefix),
                sys.executable,
                "-m",
                "asyncstate",
                "fleet",
                "agent",
                "--creds",
                str(home / "creds"),
            ),
            *("--nats", url or self.server.url, "--config", str(home / "config.yaml")),
            *("--file-root", str(home / "tree"), *words),
        ]
        environ = {**self.environ(host), **(environ or {})}
        with open(home / "stderr", "a", encoding="utf-8") as stderr:
            self.agents[host] = subprocess.Popen(
                command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True
            )
        if ready:
            self.until_ready(host)

    def until_ready(self, host: str) -> None:
        """Wait until an agent takes offers."""
        process = self.agents[host]
        assert process.stdout is not None
        alarm = threading.Timer(PATIENCE, process.kill)
        alarm.start()
        line = process.stdout.readline()
        alarm.cancel()
        assert line == f"ready {host}\n", self.said(host)

    def said(self, host: str) -> str:
        """Return what the agent of a host wrote to its standard error."""
        return (self.home / host / "stderr").read_text()

    def kill_agent(self, host: str, number: int = signal.SIGKILL) -> int:
        """End the agent of a host; return its exit code."""
        self.agents[host].send_signal(number)
        return self.until_gone(host)

    def until_gone(self, host: str) -> int:
        """Wait until the agent of a host has ended; return its exit code."""
        process = self.agents.pop(host)
        try:
            return process.wait(PATIENCE)
        finally:
            _reap(process)

    def stop_agents(self) -> None:
        """End all agents as a service manager does."""
        for process in self.agents.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for host in list(self.agents):
            self.until_gone(host)

    # what operators do

    def apply(self, *words: str, url: str = "") -> Operator:
        """Start ``fleet apply`` with its report as JSON."""
        return self.operator("apply", *words, "--out", "json", url=url)

    def operator(self, *words: str, url: str = "") -> Operator:
        """Start a command of an operator."""
        creds = os.path.join(self.server.folder.path, "operator.creds")
        command = [*self.server.prefix, sys.executable, "-m", "asyncstate", "fleet", *words, "--creds", creds]
        home = self.home / "operator"
        home.mkdir(exist_ok=True)
        started = Operator(
            [*command, "--nats", url or self.server.url],
            self.environ("operator"),
            home / f"{len(self._operators)}.stderr",
        )
        self._operators.append(started)
        return started

    def run(self) -> str:
        """Return the ID of the newest run."""
        return str(json.loads(self.operator("runs", "--out", "json").end().out)[0]["run"])

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Do a command of ``asyncstate fleet`` that must succeed."""
        return subprocess.run(
            [sys.executable, "-m", "asyncstate", "fleet", *words],
            env=self.environ("operator"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )

    def environ(self, name: str) -> dict[str, str]:
        """Return the environment of a party: folders of its own."""
        home = str(self.home / name)
        own = {"HOME": home, "ASYNCSTATE_STATE_DIR": f"{home}/state", "ASYNCSTATE_CACHEDIR": f"{home}/cache"}
        return {**os.environ, **own}


class Operator:
    """A command of an operator that has been started."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], path: Path) -> None:
        self._path = path
        with open(path, "w", encoding="utf-8") as stderr:
            self.process = subprocess.Popen(
                command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True
            )

    def said(self) -> str:
        """Return what it wrote to its standard error so far."""
        return self._path.read_text()

    def end(self, patience: float = 2 * PATIENCE) -> Ended:
        """Wait for its end."""
        try:
            out, _ = self.process.communicate(timeout=patience)
        finally:
            _reap(self.process)
        return Ended(self.process.returncode, out, self.said())

    def kill(self) -> None:
        """End it as a machine does that loses its power."""
        _reap(self.process)


class Ended(NamedTuple):
    """How a command of an operator ended."""

    code: int
    out: str
    said: str

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """Return the rows of a report by host and ID."""
        found = json.loads(self.out)
        return {host: {row["__id__"]: row for row in rows.values()} for host, rows in found.items()}

    def results(self) -> dict[str, dict[str, bool | None]]:
        """Return the result of each state, by host and ID."""
        return {host: {id_: row["result"] for id_, row in rows.items()} for host, rows in self.rows.items()}


def until(what: Any, name: object = "") -> None:
    """Wait until something is true. Another process makes it so."""
    for _ in range(int(PATIENCE * 20)):
        if what():
            return
        time.sleep(0.05)
    raise AssertionError(f"it never became true: {name or what}")


def _reap(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
