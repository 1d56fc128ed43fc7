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

SUPPORT = Path(__file__).parents[1] / "support"
MEMORY = "mkdir {d}/m && mount -t tmpfs one {d}/m"
UNMOUNTED: dict[str, Any] = {"state": "mount.unmounted", "arguments": {"name": "{d}/m"}, "before": [MEMORY]}
NEW: dict[str, Any] = {"name": "{d}/m", "device": "two", "fstype": "tmpfs", "persist": False, "mkmnt": True}
ENTRY: dict[str, Any] = {"name": "three", "fs_file": "{d}/m", "fs_vfstype": "tmpfs", "fs_mntops": "size=1m"}


def _mounted(*before: str, **arguments: Any) -> dict[str, Any]:
    return {"state": "mount.mounted", "before": before, "arguments": {**NEW, **arguments}}


def _entry(*before: str, **arguments: Any) -> dict[str, Any]:
    return {"state": "mount.fstab_present", "before": before, "arguments": {**ENTRY, **arguments}}


COME_TRUE = {
    "unmounted": UNMOUNTED,
    "a folder that a process is in": {**UNMOUNTED, "held": "{d}/m"},
    "a file that a process has open": {**UNMOUNTED, "held": "{d}/m/file"},
    "a process in the folder that is covered": {
        **UNMOUNTED, "before": ["mkdir {d}/m"], "held": "{d}/m", "after": ["mount -t tmpfs one {d}/m"],
    },
    "a mount on it": {**UNMOUNTED, "before": [MEMORY, "mkdir {d}/m/n && mount -t tmpfs two {d}/m/n"]},
    "a mount over it": {**UNMOUNTED, "before": [MEMORY, "mount -t tmpfs two {d}/m"]},
    "mounted": _mounted(),
    "an unknown type": _mounted(fstype="oddfs"),
    "one of two types": _mounted(fstype="oddfs,tmpfs"),
    "none of two types": _mounted(fstype="oddfs,neither"),
    "no type": _mounted(fstype="none"),
    "swap space": _mounted(fstype="swap"),
    "bound with no type": _mounted(fstype="none", device="{d}", opts="bind"),
    "bound with an unknown type": _mounted(fstype="oddfs", device="{d}", opts="bind"),
    "bound, the type says": _mounted(fstype="bind", device="{d}"),
    "a number that no disk has": _mounted(fstype="ext4", device="UUID=00000000-0000-0000-0000-00000000aaaa"),
    "a partition that no disk has": _mounted(fstype="ext4", device="PARTLABEL=asyncstate-none"),
    "another device": _mounted(MEMORY),
    "another device, in use": {**_mounted(MEMORY), "held": "{d}/m"},
    "another device, of an unknown type": _mounted(MEMORY, fstype="oddfs"),
    "options": _mounted(opts="size=1m,mode=0755,noatime,nofail,x-mine=1,uid=root"),
    "a list of options": _mounted(opts=["size=1m", "nosuid"]),
    "an option that no type has": _mounted(opts="nope"),
    "an option of another type": _mounted(opts="data=ordered"),
    "a value that the type does not take": _mounted(opts="size=abc"),
    "a mode that is none": _mounted(opts="mode=9"),
    "an account that is none": _mounted(opts="uid=no-such-account"),
    "an option of no type, bound": _mounted(fstype="none", device="{d}", opts="bind,nope"),
    "an option of another kind of memory": _mounted(fstype="ramfs", opts="nope"),
    "processes that are hidden": _mounted(fstype="proc", opts="hidepid=9"),
    "layers": _mounted("mkdir {d}/l {d}/u", fstype="overlay", opts="lowerdir={d}/l:{d}/u"),
    "layers that are not there": _mounted(fstype="overlay", opts="lowerdir={d}/nope"),
    "other options": _mounted(MEMORY, device="one", opts="size=2m"),
    "other options that no type has": _mounted(MEMORY, device="one", opts="nope"),
    "an entry with an option that no type has": _entry("mkdir {d}/m", fs_mntops="nope"),
    "an entry": _entry("mkdir {d}/m"),
    "an entry without a folder": _entry(),
    "an entry of an unknown type": _entry("mkdir {d}/m", fs_vfstype="oddfs"),
    "an entry of another file": _entry("mkdir {d}/m && touch {d}/fstab", config="{d}/fstab"),
    "an entry of another file, not mounted": _entry("touch {d}/fstab", config="{d}/fstab", mount=False),
    "an entry of what is mounted": _entry(MEMORY),
}  # fmt: skip
if not shutil.which("mount.nfs"):
    COME_TRUE["a share without its program"] = _mounted(fstype="nfs", device="nas.invalid:/x")
if not shutil.which("mount.fuse"):
    COME_TRUE["a program's file system without its program"] = _mounted(fstype="fuse.x", device="x")
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
