"""What a dry run says of a mount comes true: each case is mounted for real, in a mount namespace of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tables import beside

TABLES = beside(__file__)

SUPPORT = Path(__file__).parents[1] / "support"
USUAL: dict[str, dict[str, Any]] = {
    "mount.unmounted": {"name": "{d}/m"},
    "mount.mounted": {"name": "{d}/m", "device": "two", "fstype": "tmpfs", "persist": False, "mkmnt": True},
    "mount.fstab_present": {"name": "three", "fs_file": "{d}/m", "fs_vfstype": "tmpfs", "fs_mntops": "size=1m"},
}
"""The arguments of each state, but for those that a case has itself."""


def _call(before=(), held=None, after=(), **call: Any) -> dict[str, Any]:
    ((state, arguments),) = call.items()
    more = {"held": held} if held else {}
    return {"state": state, "arguments": USUAL[state] | arguments, "before": before, "after": after, **more}


COME_TRUE = {title: _call(**words) for title, words in TABLES["come true"].items()}
if not shutil.which("mount.nfs"):
    COME_TRUE["a share without its program"] = _call(**{"mount.mounted": {"fstype": "nfs", "device": "nas.invalid:/x"}})
if not shutil.which("mount.fuse"):
    COME_TRUE["a program's file system without its program"] = _call(
        **{"mount.mounted": {"fstype": "fuse.x", "device": "x"}}
    )
COME_TRUE["/proc"] = {"state": "mount.unmounted", "arguments": {"name": "/proc"}}


@pytest.mark.feature("F112")
@pytest.mark.timeout(120)
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="mounts need root and a namespace")
def test_what_a_dry_run_says_of_a_mount_comes_true(tmp_path):
    command = ["unshare", "-m", sys.executable, str(SUPPORT / "mounts_inside.py"), str(tmp_path)]
    path = os.pathsep.join([str(SUPPORT), str(SUPPORT.parents[1])])
    done = subprocess.run(
        command, input=json.dumps(COME_TRUE), env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lies = {
        title: [(row["result"], row["comment"]) for row in (dry, real)]
        for title, (dry, real) in json.loads(done.stdout).items()
        if (dry["result"] is False) != (real["result"] is False) or (dry["result"] is True and real["changes"])
    }
    assert lies == {}
