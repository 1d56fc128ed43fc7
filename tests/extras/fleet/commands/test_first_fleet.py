"""`docs/extras/fleet.md`: the first fleet in five minutes works as typed."""

import os
import re
import socket
import subprocess
import sys
from contextlib import suppress

from fleet_server import PATIENCE

ENDS = "trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def servers_of(folder):
    """The programs whose arguments name a file of this folder: none outlives the script."""
    found = []
    for process in os.listdir("/proc"):
        if process.isdigit():
            with suppress(OSError), open(f"/proc/{process}/cmdline", "rb") as file:
                if os.fsencode(folder) in file.read():
                    found.append(process)
    return found


def test_the_first_fleet_of_the_documents(run_cli, checkout, tmp_path):
    text = (checkout / "docs" / "extras" / "fleet.md").read_text()
    script = "".join(re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    script = script.replace("/tmp/", f"{tmp_path}/").replace("127.0.0.1:4222", f"127.0.0.1:{free_port()}")
    # The installed program, which obeys SIGTERM and ends its server: the tests' quick one is killed with its caller.
    programs = f"{os.path.dirname(sys.executable)}{os.pathsep}{run_cli.environ['PATH']}"
    done = subprocess.run(
        ["timeout", str(int(4 * PATIENCE)), "bash", "-euo", "pipefail", "-c", ENDS + script],
        cwd=tmp_path,
        env={**run_cli.environ, "PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert (tmp_path / "fleet" / "site.log").read_text() == "port = 5432\nport = 5433\n"
    assert (tmp_path / "fleet" / "run.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "fleet" / "graph.html").read_text().startswith("<!doctype html>")
    assert "db1: there" in done.stdout
    assert re.findall(r"Run [0-9a-f]+: (.*)", done.stdout) == ["2 hosts, 0 failed"] * 4
    assert servers_of(tmp_path) == []
