"""Record what the real salt-call answers to the command lines of ``tests/recorded/salt_call/command_lines.txt``.

    python -m venv /tmp/salt && /tmp/salt/bin/pip install salt
    python tests/extras/support/record_salt_call.py /tmp/salt/bin/salt-call

Writes ``outcomes.json`` beside them: command line -> exit code and standard output, with the folder of the tree as
``@ROOT@``. Every command line gets a fresh copy of the tree. Those recorded already are kept: remove them to ask again.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[2] / "recorded" / "salt_call"
PLACE = "@ROOT@"


def command_lines():
    """Return the command lines, in their order."""
    lines = (HERE / "command_lines.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def copy_tree(root):
    """Write a copy of the tree to ``root``, with the name of that folder in its files."""
    for source in sorted((HERE / "tree").rglob("*")):
        if source.is_file():
            target = root / source.relative_to(HERE / "tree")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.read_text(encoding="utf-8").replace(PLACE, str(root)), encoding="utf-8")


def words(line, root):
    """Return the arguments of one command line for the tree at ``root``."""
    return ["--config-dir", f"{root}/etc", "--local", *shlex.split(line.replace(PLACE, str(root)))]


def _record(salt_call, line):
    root = Path(tempfile.mkdtemp())
    try:
        copy_tree(root)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(root), "LANG": "C.UTF-8"}
        done = subprocess.run(
            [salt_call, *words(line, root)],
            env=environment,
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return {"exit": done.returncode, "stdout": done.stdout.decode().replace(str(root), PLACE)}
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    target = HERE / "outcomes.json"
    outcomes = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    recorded = {}
    for line in command_lines():
        recorded[line] = outcomes.get(line) or _record(sys.argv[1], line)
        sys.stdout.write(f"{recorded[line]['exit']} {line}\n")
        target.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
