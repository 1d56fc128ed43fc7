"""Whole commands, cold: ``asyncstate apply`` beside ``salt-call`` and ninja, where those are given.

``SALT_CALL=/path/to/salt-call python benchmarks/apply.py [COUNT]``. Nothing of this machine is used: caches, locks and
files lie in a folder that is removed. Every run is checked before it counts: as many rows
as there are states, all of them true. Read the processor column on a machine that does other things too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import trees

SIZES = {"wide": 1.0, "chain": 1.0, "layered": 1.0, "watch": 1.0, "jinja": 1.0, "files": 0.2, "sleep": 0.02}
ASYNCSTATE = str(Path(sys.executable).with_name("asyncstate"))


def asyncstate(root: Path, folder: Path) -> list[str]:
    """Return the command line of ours."""
    pillar = json.dumps({"root": str(folder / "out")})
    return [ASYNCSTATE, "apply", "bench", "--file-root", str(root), "--pillar", pillar, "--out", "json"]


def salt(root: Path, folder: Path) -> list[str]:
    """Return Salt's command line, with a configuration of its own."""
    (folder / "minion").write_text(f"id: bench\nroot_dir: {folder}/salt\nfile_client: local\n", encoding="utf-8")
    pillar = "pillar=" + json.dumps({"root": str(folder / "out")})
    call = [os.environ["SALT_CALL"], "--local", "--config-dir", str(folder), "--file-root", str(root)]
    return [*call, "--out", "json", "state.apply", "bench", pillar]


def ninja(count: int, folder: Path) -> list[str]:
    """Return ninja's command line for as many edges that sleep a tenth of a second."""
    edges = "".join(f"build w{i}: wait\n" for i in range(count))
    (folder / "build.ninja").write_text(f"rule wait\n  command = sleep 0.1\n{edges}", encoding="utf-8")
    return ["ninja", "-C", str(folder), "-j", "16"]


def run(command: list[str], count: int, folder: Path) -> trees.Clock:
    """Run a command to its end and check what it did; return its stopped clock."""
    environ = {
        **os.environ,
        "HOME": str(folder),
        "ASYNCSTATE_CACHEDIR": str(folder / "cache"),
        "ASYNCSTATE_STATE_DIR": str(folder / "state"),
    }
    clock = trees.Clock()
    done = subprocess.run(command, capture_output=True, check=False, env=environ)
    clock.stop()
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stdout[-500:]!r} {done.stderr[-500:]!r}")
    if command[0] != "ninja":
        rows = json.loads(done.stdout)
        rows = rows.get("local", rows)
        if len(rows) != count or not all(row["result"] is True for row in rows.values()):
            raise SystemExit(f"{command[0]}: {len(rows)} rows in place of {count} true ones")
    return clock


def compare(shape: str, count: int) -> None:
    """Print the lines of one shape."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = trees.write(shape, count, folder)
        commands = {"asyncstate": asyncstate(root, folder)}
        if "SALT_CALL" in os.environ:
            commands["salt-call"] = salt(root, folder)
        if shape == "sleep" and shutil.which("ninja"):
            commands["ninja"] = ninja(count, folder)
        ours = None
        for tool, command in commands.items():
            shutil.rmtree(folder / "out", ignore_errors=True)
            (folder / "out").mkdir()
            clock = run(command, count, folder)
            ours = ours or clock
            ratio = f"{ours.cpu / clock.cpu:>10.2f}{ours.wall / clock.wall:>10.2f}"
            print(f"{shape:<10}{count:>7}  {tool:<12}{clock.cpu:>8.2f}{clock.wall:>8.2f}{ratio}")


def main() -> None:
    """Print a table; the last two columns are asyncstate's time as a share of the tool's."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=2000, help="states of a tree (2000)")
    count = parser.parse_args().count
    print(f"{'shape':<10}{'states':>7}  {'tool':<12}{'CPU s':>8}{'wall s':>8}{'ours/CPU':>10}{'ours/wall':>10}")
    for shape, share in SIZES.items():
        compare(shape, max(1, int(count * share)))


if __name__ == "__main__":
    main()
