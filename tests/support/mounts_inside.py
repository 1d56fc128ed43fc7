"""Runs the cases of guarantees/test_foretold_mounts.py: ``python mounts_inside.py FOLDER < CASES``, in a mount namespace.

It reads ``{title: {"state": FUNCTION, "arguments": {…}, "before": [COMMAND, …], "held": PATH, "after": [COMMAND, …]}}``,
makes each call in a dry run and for real, and writes ``{title: [ROW, ROW]}``. ``{d}`` is a folder of the case.
``held`` is the folder of a process, or a file that one has open; it starts between ``before`` and ``after``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from plugin_harness import PluginHarness

ACCOUNTS = ("passwd", "group", "nsswitch.conf")


def filled(value: Any, folder: Path) -> Any:
    return json.loads(json.dumps(value).replace("{d}", str(folder)))


def harness_of(folder: Path) -> PluginHarness:
    harness = PluginHarness(folder, foresight=True)
    for name in ("cmd", "file", "mount"):
        harness.load("modules", name)
    harness.load("states", "mount")
    return harness


def holder(path: str) -> subprocess.Popen[bytes]:
    """Start a process in a folder, or one that has a file open."""
    if os.path.isdir(path):
        return subprocess.Popen(["sleep", "60"], cwd=path)
    with open(path, "wb") as file:
        return subprocess.Popen(["sleep", "60"], stdout=file)


def done(commands: list[str]) -> None:
    for command in commands:
        subprocess.run(command, shell=True, check=True)


def rows(case: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    folder.mkdir()
    case = filled(case, folder)
    done(case.get("before", ()))
    held = holder(case["held"]) if "held" in case else None
    try:
        done(case.get("after", ()))
        harness = harness_of(folder)
        return [harness.state(case["state"], test=test, **case["arguments"]) for test in (True, False)]
    finally:
        if held is not None:
            held.kill()
            held.wait()


def own_etc(folder: Path) -> None:
    """Put a small /etc in the place of the machine's."""
    folder.mkdir()
    for name in ACCOUNTS:
        if os.path.exists(f"/etc/{name}"):
            shutil.copy(f"/etc/{name}", folder / name)
    (folder / "fstab").write_text("")
    subprocess.run(["mount", "--bind", str(folder), "/etc"], check=True)


def main() -> None:
    base = Path(sys.argv[1])
    own_etc(base / "etc")
    found = {title: rows(case, base / str(number)) for number, (title, case) in enumerate(json.load(sys.stdin).items())}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
