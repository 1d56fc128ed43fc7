"""Init systems of their own in a scratch folder: OpenRC in a chroot, runit, supervisord; each really runs a service."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from asyncstate.modules import gentoo_service, runit, supervisord_service
from plugin_harness import PluginHarness

TOOLS = Path(__file__).parents[2] / "build" / "platform-tools"
"""Where .ci/platform-tools unpacks the programs."""

LIBRARIES = TOOLS / "lib/x86_64-linux-gnu"
PYTHON = TOOLS / "usr/lib/python3/dist-packages"
_LIBRARY = re.compile(r"/\S+")


class InitRoot:
    """``harness`` runs ``service`` against the init system; the service ``sun`` sleeps."""

    module = ""
    program = ""

    def __init__(self, tmp_path: Path, monkeypatch) -> None:
        assert (TOOLS / self.program).exists(), f".ci/platform-tools unpacks {self.program}"
        self.folder = tmp_path
        self.ran: list[list[str]] = []
        self.harness = PluginHarness(tmp_path)
        self.harness.salt["cmd.run_all"] = self.run_all
        self.set_up(monkeypatch)
        self.harness.load("modules", self.module)
        self.harness.load("states", "service")

    def run_all(self, command, **_):
        self.ran.append(list(command))
        done = subprocess.run(
            self.command(list(command)), env=self.environ(), stdin=-3, capture_output=True, text=True, check=False
        )
        return {"pid": 1, "retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip()}

    def command(self, command: list[str]) -> list[str]:
        return command

    def environ(self) -> dict[str, str]:
        return {"PATH": f"{TOOLS}/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": str(PYTHON)}

    def set_up(self, monkeypatch) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """End whatever still runs."""


class OpenRc(InitRoot):
    module = "gentoo_service"
    program = "sbin/openrc-run"

    def set_up(self, monkeypatch) -> None:
        self.root = self.folder / "root"
        for folder in ("bin", "sbin", "lib", "etc/init.d", "etc/runlevels/default", "etc/runlevels/boot", "dev", "tmp"):
            (self.root / folder).mkdir(parents=True)
        for state in "started starting stopping stopped inactive exclusive options daemons scheduled failed".split():
            (self.root / "run/openrc" / state).mkdir(parents=True)
        (self.root / "run/openrc/softlevel").touch()
        (self.root / "etc/insserv.conf").touch()  # asked for by Debian's build
        os.mknod(self.root / "dev/null", 0o020666, os.makedev(1, 3))
        shutil.copytree(TOOLS / "lib/rc", self.root / "lib/rc", symlinks=True)
        for program in ("openrc-run", "rc-update", "rc-service"):
            shutil.copy(TOOLS / "sbin" / program, self.root / "sbin")
        shutil.copy(TOOLS / "bin/busybox", self.root / "bin")
        for applet in ("sh", "cat", "grep", "sed", "mkdir", "sleep", "kill", "rm", "env", "id", "ls"):
            (self.root / "bin" / applet).symlink_to("busybox")
        self._copy_libraries()
        script = self.root / "etc/init.d/sun"
        script.write_text(
            "#!/sbin/openrc-run\n"
            "start() { sleep 300 >/dev/null 2>&1 & echo $! >/run/sun.pid; }\n"
            "stop() { kill $(cat /run/sun.pid); rm /run/sun.pid; }\n"
        )
        script.chmod(0o755)
        monkeypatch.setattr(gentoo_service, "_SCRIPTS", str(script.parent))

    def _copy_libraries(self) -> None:
        programs = [*(self.root / "sbin").iterdir(), *(self.root / "lib/rc/bin").iterdir()]
        programs += [*(self.root / "lib/rc/sbin").iterdir()]
        listed = subprocess.run(
            ["ldd", *programs],
            env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES)},
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for line in listed.splitlines():
            found = _LIBRARY.search(line) if line.startswith("\t") else None
            if found and os.path.isfile(found[0]):
                target = self.root / found[0].removeprefix(str(TOOLS)).lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(found[0], target)

    def command(self, command: list[str]) -> list[str]:
        return ["chroot", str(self.root), command[0].removeprefix(str(self.root)), *command[1:]]

    def close(self) -> None:
        pid = self.root / "run/sun.pid"
        if pid.exists():
            os.kill(int(pid.read_text()), signal.SIGKILL)


class Runit(InitRoot):
    module = "runit"
    program = "usr/bin/runsvdir"

    def set_up(self, monkeypatch) -> None:
        available, self.running = self.folder / "sv", self.folder / "service"
        self.running.mkdir()
        (available / "sun").mkdir(parents=True)
        (available / "sun/run").write_text("#!/bin/sh\nexec sleep 300\n")
        (available / "sun/run").chmod(0o755)
        monkeypatch.setattr(runit, "_AVAILABLE", (str(available),))
        monkeypatch.setattr(runit, "_RUNNING", (str(self.running),))
        self.process = subprocess.Popen([TOOLS / "usr/bin/runsvdir", self.running], env=self.environ())

    def close(self) -> None:
        self.process.send_signal(signal.SIGHUP)  # ends the services, too
        self.process.wait()


class Supervisor(InitRoot):
    module = "supervisord_service"
    program = "usr/bin/supervisord"

    def set_up(self, monkeypatch) -> None:
        parts = self.folder / "conf.d"
        parts.mkdir()
        (parts / "sun.conf").write_text(
            "; the star\n[program:sun]\ncommand=/bin/sleep 300\nautostart=false\nstartsecs=0\n"
        )
        self.config = self.folder / "supervisord.conf"
        socket = f"/tmp/asyncstate-{os.getpid()}-{time.monotonic_ns()}.sock"  # a socket's path must be short
        self.config.write_text(
            f"[unix_http_server]\nfile={socket}\n"
            f"[supervisord]\nlogfile={self.folder}/log\npidfile={self.folder}/pid\nnodaemon=true\nuser=root\n"
            "[rpcinterface:supervisor]\n"
            "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
            f"[supervisorctl]\nserverurl=unix://{socket}\n[include]\nfiles={parts}/*.conf\n"
        )
        monkeypatch.setattr(supervisord_service, "_FILES", (str(self.config),))
        monkeypatch.setattr(supervisord_service, "_FOLDERS", (str(parts),))
        self.process = subprocess.Popen(
            ["/usr/bin/python3", TOOLS / "usr/bin/supervisord", "-c", self.config], env=self.environ(), stdout=-3
        )
        while not os.path.exists(socket):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)

    def command(self, command: list[str]) -> list[str]:
        return ["/usr/bin/python3", str(TOOLS / "usr/bin/supervisorctl"), "-c", str(self.config), *command[1:]]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


INIT_SYSTEMS = {"openrc": OpenRc, "runit": Runit, "supervisord": Supervisor}
