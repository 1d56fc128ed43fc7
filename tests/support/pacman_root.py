"""A scratch root with a pacman database and a local repository of its own: pacman for real, nothing installed."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from plugin_harness import PluginHarness

if TYPE_CHECKING:
    from pathlib import Path


class PacmanRoot:
    """``harness`` runs the bundled ``pkg`` modules against the scratch root; ``ran`` lists the commands."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.root = tmp_path / "root"
        self.repository = tmp_path / "repository"
        self.repository.mkdir()
        for folder in ("var/lib/pacman", "var/cache/pacman/pkg", "var/log", "hooks", "gpg"):
            (self.root / folder).mkdir(parents=True)
        self.config = tmp_path / "pacman.conf"
        settings = {
            "RootDir": self.root,
            "DBPath": self.root / "var/lib/pacman",
            "CacheDir": self.root / "var/cache/pacman/pkg",
            "LogFile": self.root / "var/log/pacman.log",
            "HookDir": self.root / "hooks",
            "GPGDir": self.root / "gpg",
            "Architecture": "auto",
            "SigLevel": "Never",
        }
        lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
        self.config.write_text(f"[options]\n{lines}[scratch]\nServer = file://{self.repository}\n")
        self.age = 1_600_000_000
        self.ran: list[list[str]] = []
        self.harness = PluginHarness(tmp_path)
        self.harness.grains.update(os_family="Arch", os="Arch", osarch="x86_64")
        self.harness.salt["cmd.run_all"] = self.run_all
        for name in ("pacmanpkg", "pkg_resource", "config"):
            self.harness.load("modules", name)
        for name in ("normalize_name", "parse_arch"):
            assert f"pkg.{name}" not in self.harness.salt
        self.harness.load("states", "pkg")

    def run_all(self, command, *, env=None, **_):
        self.ran.append(list(command))
        done = subprocess.run(
            [command[0], "--config", str(self.config), *command[1:]],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return {"pid": 1, "retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip()}

    def package(self, name, version="1.0-1", **fields):
        """Put a package into the repository; ``refresh_db`` makes it known. Returns the path of its file."""
        tree = self.folder / "build" / f"{name}-{version}"
        (tree / "usr/share" / name).mkdir(parents=True)
        (tree / "usr/share" / name / "version").write_text(version)
        info = {
            "pkgname": name,
            "pkgbase": name,
            "pkgver": version,
            "pkgdesc": f"{name} for tests",
            "url": "http://example.org",
            "builddate": "1600000000",
            "packager": "Test <test@example.org>",
            "size": "4",
            "arch": "any",
            "license": "MIT",
            **fields,
        }
        (tree / ".PKGINFO").write_text("".join(f"{key} = {value}\n" for key, value in info.items()))
        target = self.repository / f"{name}-{version}-any.pkg.tar.gz"
        subprocess.run(["tar", "-C", str(tree), "-czf", str(target), ".PKGINFO", "usr"], check=True)
        database = self.repository / "scratch.db.tar.gz"
        subprocess.run(["repo-add", "-q", str(database), str(target)], check=True, capture_output=True)
        self.age += 60  # pacman fetches a list only if it is newer by seconds
        os.utime(database, (self.age, self.age))
        return target

    def commands(self, word):
        """The commands that do ``word``."""
        return [command for command in self.ran if word in command]

    def installed(self):
        """Name and version of what pacman has."""
        return self.harness.call("pkg.list_pkgs", use_context=False)
