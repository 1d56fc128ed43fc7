"""Wheels of packages that consist of one line, and an environment to put them into: no network is needed."""

from __future__ import annotations

import sys
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pip

if TYPE_CHECKING:
    from plugin_harness import PluginHarness


def make_wheel(folder: Path, name: str, version: str, requires: tuple[str, ...] = ()) -> Path:
    """Write a wheel that pip can install."""
    plain = name.replace("-", "_")
    info = f"{plain}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    files = {
        f"{plain}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    folder.mkdir(exist_ok=True)
    path = folder / f"{plain}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            archive.writestr(inside, text)
    return path


def make_environment(path: Path) -> Path:
    """Make a virtual environment that borrows the pip of this one: quicker than to install one."""
    venv.create(path, with_pip=False)
    lend_pip(path)
    return path


def lend_pip(path: Path) -> None:
    """Let ``python -m pip`` work in an environment."""
    site = path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (site / "pip").symlink_to(Path(pip.__file__).parent)


class FakePip:
    """Stands for pip behind ``cmd.run_all``: ``installed`` packages, ``available`` versions, and the ``calls`` made.

    ``complaint`` makes an installation fail.
    """

    def __init__(self) -> None:
        self.installed: dict[str, str] = {"pip": "23.0.1"}
        self.available: dict[str, list[str]] = {}
        self.calls: list[list[str]] = []
        self.options: list[dict[str, object]] = []
        self.complaint = ""

    def __call__(self, command: list[str], **options: object) -> dict[str, object]:
        arguments = command[command.index("pip") + 1 :] if "-m" in command else command[1:]
        self.calls.append(arguments)
        self.options.append(options)
        words = [word for word in arguments if not word.startswith("-")]
        handler = getattr(self, f"do_{words[0]}", None) if words else None
        code, out, err = handler(arguments, words[1:]) if handler else (0, "pip 23.0.1 from /x (python 3.11)", "")
        return {"retcode": code, "stdout": out, "stderr": err, "pid": 1}

    def do_list(self, arguments: list[str], _: list[str]) -> tuple[int, str, str]:
        import json

        if "--outdated" in arguments:
            newer = [name for name in self.installed if self.available.get(name, [""])[-1] > self.installed[name]]
            entries = [
                {"name": name, "latest_version": self.available[name][-1], "latest_filetype": "wheel"} for name in newer
            ]
            return 0, json.dumps(entries), ""
        return 0, json.dumps([{"name": name, "version": self.installed[name]} for name in self.installed]), ""

    def do_freeze(self, *_: list[str]) -> tuple[int, str, str]:
        return 0, "\n".join(f"{name}=={version}" for name, version in self.installed.items()), ""

    def do_index(self, _: list[str], words: list[str]) -> tuple[int, str, str]:
        versions = self.available.get(words[1], [])
        if not versions:
            return 1, f"ERROR: No matching distribution found for {words[1]}", ""
        return 0, f"{words[1]} ({versions[-1]})\nAvailable versions: {', '.join(reversed(versions))}", ""

    def do_install(self, arguments: list[str], words: list[str]) -> tuple[int, str, str]:
        if "--dry-run" in arguments:
            return 2, "", "no such option: --dry-run"
        if self.complaint:
            return 1, "Looking", self.complaint
        said = []
        for word in words:
            name, _, version = word.replace(" ", "").replace(">=", "==").partition("==")
            if name in self.available:
                self.installed[name] = version or self.available[name][-1]
                said.append(f"Successfully installed {name}-{self.installed[name]}")
        return 0, "\n".join(said), ""

    def do_uninstall(self, _: list[str], words: list[str]) -> tuple[int, str, str]:
        for word in words:
            if not self.complaint:
                self.installed.pop(word, None)
        return int(bool(self.complaint)), "", self.complaint


def pip_of(plugins: PluginHarness) -> FakePip:
    """Return a pip for the states, and one user who may run it."""
    plugins.salt["user.info"] = lambda name: {"name": name} if name == "www" else {}
    plugins.salt["cmd.run_all"] = fake = FakePip()
    return fake
