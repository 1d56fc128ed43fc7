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
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import trees
import whole

if TYPE_CHECKING:
    from whole import Spent

SIZES = {"wide": 1.0, "chain": 1.0, "layered": 1.0, "watch": 1.0, "jinja": 1.0, "files": 0.2, "sleep": 0.02}


def salt(root: Path, folder: Path) -> list[str]:
    """Return Salt's command line, with a configuration of its own."""
    (folder / "minion").write_text(f"id: bench\nroot_dir: {folder}/salt\nfile_client: local\n", encoding="utf-8")
    pillar = "pillar=" + json.dumps({"root": str(folder / "out")})
    call = [os.environ["SALT_CALL"], "--local", "--config-dir", str(folder), "--file-root", str(root)]
    return [*call, "--out", "json", "state.apply", "bench", pillar]


def ninja(path: str, count: int, folder: Path) -> list[str]:
    """Return ninja's command line for as many edges that sleep a tenth of a second."""
    edges = "".join(f"build w{i}: wait\n" for i in range(count))
    (folder / "build.ninja").write_text(f"rule wait\n  command = sleep 0.1\n{edges}", encoding="utf-8")
    return [path, "-C", str(folder), "-j", "16"]


def beside(shape: str, count: int) -> dict[str, Spent]:
    """Apply a tree with each tool that is there, ours first; return what each took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = trees.write(shape, count, folder)
        found = {"asyncstate": whole.applied(whole.asyncstate(root, folder), count, folder)}
        if "SALT_CALL" in os.environ:
            shutil.rmtree(folder / "out")
            found["salt-call"] = whole.applied(salt(root, folder), count, folder)
        if shape == "sleep" and (path := shutil.which("ninja")):
            found["ninja"] = whole.run(ninja(path, count, folder), folder)[0]
    return found


def main() -> None:
    """Print a table; the last two columns are asyncstate's time as a share of the tool's."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=2000, help="states of a tree (2000)")
    count = parser.parse_args().count
    print(f"{'shape':<10}{'states':>7}  {'tool':<12}{'CPU s':>8}{'wall s':>8}{'ours/CPU':>10}{'ours/wall':>10}")
    for shape, share in SIZES.items():
        states = max(1, int(count * share))
        found = beside(shape, states)
        ours = found["asyncstate"]
        for tool, spent in found.items():
            ratio = f"{ours.cpu / spent.cpu:>10.2f}{ours.wall / spent.wall:>10.2f}"
            print(f"{shape:<10}{states:>7}  {tool:<12}{spent.cpu:>8.2f}{spent.wall:>8.2f}{ratio}", flush=True)


if __name__ == "__main__":
    main()
