"""A scratch root with a package database and a local repository of its own: apt and dpkg for real, nothing installed."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from plugin_harness import PluginHarness

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("apt-get", "apt-cache", "apt-mark", "dpkg", "dpkg-deb", "dpkg-query", "ldconfig", "start-stop-daemon")

needs_apt = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)),
    reason="needs root and Debian's apt and dpkg",
)


class AptRoot:
    """``harness`` runs the bundled ``pkg`` modules against the scratch root; ``ran`` lists the commands."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "root"
        self.repository = tmp_path / "repository"
        self.repository.mkdir()
        for folder in (
            "var/lib/dpkg/info",
            "var/lib/dpkg/updates",
            "var/lib/apt/lists/partial",
            "var/cache/apt/archives/partial",
            "var/log/apt",
            "etc/apt/sources.list.d",
            "etc/apt/apt.conf.d",
            "etc/apt/preferences.d",
            "etc/apt/trusted.gpg.d",
        ):
            (self.root / folder).mkdir(parents=True)
        for name in ("status", "available"):
            (self.root / "var/lib/dpkg" / name).touch()
        (self.root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{self.repository} ./\n")
        config = tmp_path / "apt.conf"
        config.write_text(
            f'Dir "{self.root}/";\nDir::State::status "{self.root}/var/lib/dpkg/status";\n'
            f'Dir::Log "{self.root}/var/log/apt";\nDir::Etc "{self.root}/etc/apt";\n'
            'DPkg::Options:: "--force-script-chrootless";\nAPT::Sandbox::User "root";\n'
            'Dir::Bin::methods "/usr/lib/apt/methods";\nDir::Bin::dpkg "/usr/bin/dpkg";\n'
            'APT::Architecture "amd64";\nAPT::Architectures:: "amd64";\nAPT::Get::AllowUnauthenticated "false";\n'
        )
        self.environ = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C",
            "APT_CONFIG": str(config),
            "DPKG_ROOT": str(self.root),
            "DPKG_ADMINDIR": str(self.root / "var/lib/dpkg"),
        }
        self.ran: list[list[str]] = []
        self.harness = PluginHarness(tmp_path)
        self.harness.grains.update(osarch="amd64", cpuarch="x86_64", oscodename="bookworm")
        self.harness.salt["cmd.run_all"] = self.run_all
        self.harness.salt["cmd.which"] = shutil.which
        for name in ("aptpkg", "dpkg_lowpkg", "pkg_resource", "config"):
            self.harness.load("modules", name)
        self.harness.load("states", "pkg")

    def run_all(self, command, *, stdin=None, env=None, **_):
        self.ran.append(list(command))
        done = subprocess.run(
            command, env={**(env or {}), **self.environ}, input=stdin or "", capture_output=True, text=True, check=False
        )
        return {"pid": 1, "retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip()}

    def package(self, name, version="1.0", *, postinst="", **fields):
        """Put a package into the repository; ``refresh_db`` makes it known. Returns the path of its file."""
        files = {f"usr/share/{name}/version": version, f"etc/{name}.conf": "setting = 1\n"}
        return put_package(self.repository, name, version, files, {"postinst": postinst}, **fields)

    def refreshes(self):
        """How often the lists of packages were fetched."""
        return sum("update" in command for command in self.ran)

    def commands(self, word):
        """The apt-get calls that do ``word``."""
        return [command for command in self.ran if command[0] == "apt-get" and word in command]

    def installed(self):
        """Name and version of what dpkg has."""
        return self.harness.call("pkg.list_pkgs", use_context=False)


def put_package(
    repository: Path, name: str, version: str, files: dict[str, str], scripts: dict[str, str], **fields: str
) -> Path:
    """Put a package with files and maintainer scripts into a repository. Returns the path of its file."""
    tree = repository.parent / "build" / f"{name}-{version}"
    (tree / "DEBIAN").mkdir(parents=True)
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    control = {
        "Package": name,
        "Version": version,
        "Architecture": "amd64",
        "Maintainer": "Test <test@example.org>",
        "Description": f"{name} for tests",
        **{key.replace("_", "-"): value for key, value in fields.items()},
    }
    text = "".join(f"{key}: {value}\n" for key, value in control.items())
    (tree / "DEBIAN/control").write_text(text)
    (tree / "DEBIAN/conffiles").write_text("".join(f"/{path}\n" for path in files if path.startswith("etc/")))
    for script, commands in scripts.items():
        if commands:
            (tree / "DEBIAN" / script).write_text(f"#!/bin/sh\n{commands}\n")
            (tree / "DEBIAN" / script).chmod(0o755)
    target = repository / f"{name}_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(target)], check=True, stdout=-3)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    stanza = f"{text}Filename: ./{target.name}\nSize: {target.stat().st_size}\nSHA256: {digest}\n\n"
    with open(repository / "Packages", "a") as index:
        index.write(stanza)
    with gzip.open(repository / "Packages.gz", "wt") as packed:
        packed.write((repository / "Packages").read_text())
    return target
