"""Every bundled state that takes a path, called with a path that a test gives, in a harness with the modules it needs."""

from __future__ import annotations

import base64
import subprocess
import sys
import tarfile
import zipfile
from functools import cache
from typing import TYPE_CHECKING, Any

from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOBODY = 65534
UNKNOWN = "asyncstate-tests-nobody-has-this-name"
"""A user and a group that no machine has."""

TOLD = ("crontab", "debconf-set-selections")
"""Programs that would change this machine: what they are told is kept, for all to see."""


PIP_VERSION = [sys.executable, "-m", "pip", "--version"]


@cache
def pip_version() -> dict[str, Any]:
    """Ask pip once: it says the same wherever it is asked."""
    done = subprocess.run(PIP_VERSION, capture_output=True, text=True, check=True)
    return {"retcode": 0, "stdout": done.stdout.strip(), "stderr": "", "pid": 1}


def run_all(command, cwd=None, told=None, stdin="", **options):
    if options.get("runas") == UNKNOWN:
        raise CommandExecutionError(f"User '{UNKNOWN}' is not available")
    if command == PIP_VERSION:
        return dict(pip_version())
    if command[0] in TOLD:
        told.write_text(stdin)
        return {"retcode": 0, "stdout": "", "stderr": "", "pid": 1}
    assert command[0] not in ("mount", "umount", "swapon")
    if isinstance(command, list) and command[1:3] == ["-m", "venv"]:
        command = [*command[:3], "--without-pip", *command[3:]]  # an environment in a tenth of a second
    done = subprocess.run(
        command, cwd=cwd, shell=isinstance(command, str), capture_output=True, text=True, check=False, timeout=20
    )
    return {"retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip(), "pid": 1}


def harness_of_states(tmp_path: Path) -> PluginHarness:
    """Return a harness with all states that take paths, and the files in ``tmp_path`` that their arguments name."""
    harness = PluginHarness(tmp_path, pki_dir=str(tmp_path))
    for name in (
        "file", "archive", "hashutil", "ini", "git", "virtualenv", "x509", "cmd", "ssh", "cron", "debconf", "pip",
        "linux_sysctl", "mount", "hosts", "aliases", "cp",
    ):  # fmt: skip
        harness.load("modules", name)
    for name in (
        "file", "archive", "ini_manage", "git", "virtualenv", "x509", "cmd", "ssh_auth", "ssh_known_hosts", "cron",
        "debconfmod", "pip", "sysctl", "mount", "host", "alias",
    ):  # fmt: skip
        harness.load("states", name)
    bot = {"uid": NOBODY, "gid": NOBODY, "home": str(tmp_path / "home"), "groups": ["nogroup"]}
    harness.salt["user.info"] = lambda name: {} if name == UNKNOWN else {"name": name, **bot}
    harness.salt["config.option"] = lambda name: harness.pillar.get(name, "")
    harness.salt["cp.cache_file"] = lambda path, saltenv="base", **_: (
        path if path.startswith("/") else harness.file_client.find(path.removeprefix("salt://"), saltenv) or False
    )
    harness.salt["cmd.run_all"] = lambda command, **options: run_all(
        command, told=tmp_path / "home" / "told", **options
    )
    harness.salt["cmd.run_stdout"] = lambda command, **_: ""  # no crontab yet
    harness.salt["cmd.run"] = lambda command, **options: run_all(command, **options)["stdout"]
    harness.salt["cmd.retcode"] = lambda command, **options: run_all(command, **options)["retcode"]
    if not MADE:
        _make_files(harness)
        MADE.update((name, ((tmp_path / name).read_bytes(), (tmp_path / name).stat().st_mode)) for name in FILES)
    for name, (content, mode) in MADE.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(mode)
    for name in PACKED:
        harness.salt_file(f"tree/{name}", "own=1\n")
    return harness


PACKED = ("f", "d/g", "new")
FILES = ("own.txt", "pkg.tar", "pkg.zip", "own.key", "own.crt")
MADE: dict[str, tuple[bytes, int]] = {}
"""The contents and modes of the files, which are the same for each harness."""


def _make_files(harness: PluginHarness) -> None:
    base = harness.tmp_path
    (base / "own.txt").write_text("own=1\n")
    with tarfile.open(base / "pkg.tar", "w") as archive:
        for name in PACKED:
            archive.add(base / "own.txt", name)
    with zipfile.ZipFile(base / "pkg.zip", "w") as packed:
        for name in PACKED:
            packed.write(base / "own.txt", name)
    harness.call("x509.create_private_key", algo="ec", path=f"{base}/own.key")
    harness.call(
        "x509.create_certificate", signing_private_key=f"{base}/own.key", CN="x", path=f"{base}/own.crt",
        basicConstraints="CA:TRUE",
    )  # fmt: skip


def _file(fun: str, **arguments: Any) -> Callable[[str, Path], tuple[str, dict[str, Any]]]:
    return lambda path, base: (f"file.{fun}", {"name": path, **arguments})


def _with(state: str, key: str, /, **arguments: Any) -> Callable[[str, Path], tuple[str, dict[str, Any]]]:
    """Make the planted path the argument ``key``; ``{base}`` in others is the folder of the whole ground."""

    def call(path: str, base: Path) -> tuple[str, dict[str, Any]]:
        filled = {
            name: value.format(base=base) if isinstance(value, str) else value for name, value in arguments.items()
        }
        return state, {**filled, key: path}

    return call


GIVE = {"user": "nobody", "mode": "0666"}
STATES: dict[str, Callable[[str, Path], tuple[str, dict[str, Any]]]] = {
    "managed": _file("managed", contents="x", **GIVE),
    "managed, not following": _file("managed", contents="x", follow_symlinks=False, **GIVE),
    "managed, owner only": _file("managed", replace=False, **GIVE),
    "managed, makedirs": _file("managed", contents="x", makedirs=True, **GIVE),
    "managed, backup": _file("managed", contents="x", backup="minion", **GIVE),
    "managed, attributes": _file("managed", contents="x", attrs="i"),
    "managed from a local source": _with("file.managed", "source", name="{base}/home/got", **GIVE),
    "managed from a local template": _with("file.managed", "source", name="{base}/home/got", template="jinja", **GIVE),
    "directory": _file("directory", user="nobody", dir_mode="0777", makedirs=True),
    "directory, forced": _file("directory", force=True, **GIVE),
    "directory, backup": _file("directory", backupname="/nowhere/at/all", **GIVE),
    "directory, clean": _file("directory", clean=True),
    "directory, recursively": _file("directory", user="nobody", mode="0777", recurse=["user", "mode"]),
    "directory, following": _file("directory", user="nobody", mode="0777", recurse=["user", "mode"], follow_symlinks=True),
    "recurse": _file("recurse", source="salt://tree"),
    "recurse, clean": _file("recurse", source="salt://tree", clean=True, user="nobody"),
    "absent": _file("absent"),
    "touch": _file("touch", makedirs=True),
    "touch at a time": _file("touch", atime=5, mtime=5),
    "symlink": _file("symlink", target="/etc/hostname"),
    "symlink, forced": _file("symlink", target="/etc/hostname", force=True, makedirs=True, user="nobody"),
    "symlink, backup": _file("symlink", target="/etc/hostname", backupname="aside", force=True),
    "hardlink": _with("file.hardlink", "name", target="{base}/own.txt", makedirs=True),
    "hardlink, forced": _with("file.hardlink", "name", target="{base}/own.txt", force=True),
    "hardlink to": _with("file.hardlink", "target", name="{base}/home/got"),
    "mknod": _file("mknod", ntype="p", user="nobody", mode="0666"),
    "copy to": _with("file.copy", "name", source="{base}/own.txt", makedirs=True, **GIVE),
    "copy to, forced": _with("file.copy", "name", source="{base}/own.txt", force=True, **GIVE),
    "copy into": _with("file.copy", "name", source="{base}/own.txt", force=True, subdir=True, **GIVE),
    "copy from": _with("file.copy", "source", name="{base}/home/got", **GIVE),
    "copy from, preserving": _with("file.copy", "source", name="{base}/home/got", preserve=True),
    "rename to": _with("file.rename", "name", source="{base}/own.txt", makedirs=True),
    "rename to, forced": _with("file.rename", "name", source="{base}/own.txt", force=True),
    "rename from": _with("file.rename", "source", name="{base}/got"),
    "append": _file("append", text="x"),
    "append, makedirs": _file("append", text="x", makedirs=True),
    "prepend": _file("prepend", text="x"),
    "replace": _file("replace", pattern="secret", repl="x"),
    "replace, adding": _file("replace", pattern="nothing", repl="x", append_if_not_found=True),
    "blockreplace": _file("blockreplace", content="x", append_if_not_found=True),
    "comment": _file("comment", regex="^root"),
    "uncomment": _file("uncomment", regex="root"),
    "keyvalue": _file("keyvalue", key="root", value="x", separator="="),
    "line": _file("line", content="x", mode="insert", location="end"),
    "line, making the file": _file("line", content="x", mode="insert", location="end", create=True),
    "keyvalue, making the file": _file("keyvalue", key="root", value="x", create_if_missing=True),
    "serialize, makedirs": _file("serialize", dataset={"a": 1}, serializer="json", makedirs=True, **GIVE),
    "serialize": _file("serialize", dataset={"a": 1}, serializer="json", **GIVE),
    "serialize, merging": _file("serialize", dataset={"a": 1}, serializer="json", merge_if_exists=True),
    "decode": _file("decode", encoded_data=base64.b64encode(b"x").decode()),
    "patch": _with("file.patch", "name", source="salt://tree/f"),
    "tidied": _file("tidied", age=0, matches=[".*"], rmdirs=True),
    "tidied, following": _file("tidied", age=0, matches=[".*"], rmdirs=True, followlinks=True),
    "pruned": _file("pruned", recurse=True),
    "retention": _file("retention_schedule", retain={"most_recent": 0}),
    "exists": _file("exists"),
    "missing": _file("missing"),
    "extracted": _with("archive.extracted", "name", source="{base}/pkg.tar", enforce_toplevel=False, overwrite=True),
    "extracted, clean": _with("archive.extracted", "name", source="{base}/pkg.tar", enforce_toplevel=False, clean=True),
    "extracted, clean parent": _with("archive.extracted", "name", source="{base}/pkg.tar", enforce_toplevel=False, clean_parent=True),
    "extracted for a user": _with("archive.extracted", "name", source="{base}/pkg.tar", enforce_toplevel=False, overwrite=True, user="nobody"),
    "extracted by tar": _with(
        "archive.extracted",
        "name",
        source="{base}/pkg.tar",
        enforce_toplevel=False,
        overwrite=True,
        options="--no-same-owner",
    ),
    "extracted zip": _with("archive.extracted", "name", source="{base}/pkg.zip", enforce_toplevel=False, overwrite=True),
    "extracted from": _with("archive.extracted", "source", name="{base}/home/got/", archive_format="tar"),
    "ini option": _with("ini.options_present", "name", sections={"root": {"a": 1}}),
    "ini section": _with("ini.sections_absent", "name", sections=["root"]),
    "git": _with("git.latest", "target", name="{base}/nowhere", force_clone=True),
    "git, forced": _with("git.present", "name", force=True),
    "virtualenv": _with("virtualenv.managed", "name", venv_bin="venv"),
    "x509 key": _with("x509.private_key_managed", "name", algo="ec"),
    "git clone": _with("git.cloned", "target", name="{base}/nowhere"),
    "git, a commit": _with("git.detached", "target", name="{base}/nowhere", rev="x", force_clone=True),
    "git setting": _with("git.config_set", "repo", name="a.b", value="x"),
    "no git setting": _with("git.config_unset", "repo", name="a.b"),
    "cached": _file("cached"),
    "not cached": _file("not_cached"),
    "ini option, absent": _with("ini.options_absent", "name", sections={"root": ["secret"]}),
    "ini section, present": _with("ini.sections_present", "name", sections=["more"]),
    "ssh key": _with("ssh_auth.present", "config", name="AAAA", user="nobody"),
    "ssh keys from": _with("ssh_auth.present", "source", name="x", user="nobody", config="{base}/home/got"),
    "ssh key, absent": _with("ssh_auth.absent", "config", name="AAAA", user="nobody"),
    "ssh keys": _with("ssh_auth.manage", "config", name="x", ssh_keys=["AAAA"], user="nobody"),
    "known host": _with("ssh_known_hosts.present", "config", name="h", user="nobody", key="AAAA", enc="ssh-rsa", hash_known_hosts=False),
    "known host, absent": _with("ssh_known_hosts.absent", "config", name="root=secret", user="nobody"),
    "crontab": _with("cron.file", "name", user="nobody"),
    "answers": _with("debconf.set_file", "source", name="x"),
    "sysctl": _with("sysctl.present", "config", name="kernel.ostype", value="Linux"),
    "fstab": _with("mount.fstab_present", "config", name="/dev/none", fs_file="/none", fs_vfstype="x", mount=False),
    "fstab, absent": _with("mount.fstab_absent", "config", name="root=secret", fs_file="/none"),
    "script": _with("cmd.script", "source", name="x"),
    "pip": _with("pip.installed", "bin_env", name="no-such-package", no_index=True),
    "pip, requirements": _with("pip.installed", "requirements", name="x", no_index=True),
    "pip, removed": _with("pip.removed", "bin_env", name="no-such-package"),
    "pip, all": _with("pip.uptodate", "bin_env", name="x"),
    "x509 request": _with("x509.csr_managed", "name", private_key="{base}/own.key", CN="x"),
    "x509 certificate": _with("x509.certificate_managed", "name", signing_private_key="{base}/own.key", CN="x"),
    "x509 list": _with("x509.crl_managed", "name", signing_private_key="{base}/own.key", signing_cert="{base}/own.crt", revoked=[]),
    "x509 key from": _with("x509.csr_managed", "private_key", name="{base}/home/got", CN="x"),
    "x509 pem": _with("x509.pem_managed", "name", text="-----BEGIN A-----\nAAAA\n-----END A-----\n"),
}  # fmt: skip
