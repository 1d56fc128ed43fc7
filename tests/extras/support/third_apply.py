"""Apply trees three times, each with mounts, a network and accounts of its own, in children of one process.

``python third_apply.py`` reads the folder and the tree of each from a line, and writes the rows of the last apply to one.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

from asyncstate import Settings, StateRuntime

OWN_ACCOUNTS = """
    mkdir {own} && mount --make-rprivate / && mount -t tmpfs none {own} && cp -a /etc {own}/ && mount --bind {own}/etc /etc
    for each in /home /var/mail /var/spool; do mount -t tmpfs none $each; done
    mkdir -p /var/spool/cron/crontabs
"""
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000


async def third_apply(root: Path, tree: dict) -> list[dict]:
    """Apply a tree three times, and return the rows of the last one."""
    settings = Settings(
        file_roots={"base": [str(root / "salt")]},
        pillar_roots={},
        cachedir=str(root / "cache"),
        conf_file=str(root / "minion"),
        journal="off",
    )
    async with StateRuntime(settings) as runtime:
        plan = await runtime.compile_data(tree)
        for _ in range(3):
            async with runtime.run(plan, events=False, lock=False) as run:
                pass
        return list(run.report.rows.values())


def contain(root: Path) -> None:
    """Give this process what a tree may change."""
    assert ctypes.CDLL(None).unshare(CLONE_NEWNS | CLONE_NEWNET) == 0
    subprocess.run(["sh", "-ec", OWN_ACCOUNTS.format(own=root / "own")], check=True)
    os.environ["HOME"] = str(root)


def main() -> None:
    for line in sys.stdin:
        reader, writer = os.pipe()
        if os.fork():
            os.close(writer)
            with open(reader) as imported:
                names = imported.read().split()
            os.wait()
            for name in names:  # so that the next child need not
                importlib.import_module(name)
            continue
        known = set(sys.modules)
        root, tree = json.loads(line)
        contain(Path(root))
        rows = asyncio.run(third_apply(Path(root), tree))
        os.write(1, json.dumps(rows, default=str).encode() + b"\n")
        os.write(writer, "\n".join(name for name in sys.modules if name not in known).encode())
        os._exit(0)


if __name__ == "__main__":
    main()
