"""States that change a machine's accounts, packages, services and kernel, and the throw-away root in which pairs of them run.

Accounts and packages are changed by the real programs; systemctl, mount, crontab and the like are stood for by those of
``machine_programs``, which keep their state in files. ``bare`` is the machine at first, ``made`` has what the features make.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from apt_root import put_package
from recording import filled
from tables import beside

TABLES = beside(__file__)

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ1bm5pbmd0aGVzYW1ldGVzdGluZXZlcnlvcmRlcjAw"
PROGRAMS = Path(__file__).parent / "machine_programs"
UNIT = "[Service]\nExecStart=/bin/sleep 3000\n[Install]\nWantedBy=multi-user.target\n"
SWAP_SPACE = f"{' ' * 4086}SWAPSPACE2"
"""A page with the mark that mkswap writes at its end."""
FOLDERS = ("etc", "home", "mnt", "opt", "root", "run", "srv", "var")
"""All that the features change; each pair finds it as it was."""
MAKE = TABLES["make"]


class Feature(NamedTuple):
    """One state of a machine, in a family of those that can meet."""

    name: str
    function: str
    arguments: dict[str, Any]

    def declaration(self, *more: dict[str, Any]) -> dict[str, Any]:
        return {self.function: [{key: value} for key, value in self.arguments.items()] + list(more)}


_TEXTS = {"<key>": KEY, "<unit>": UNIT, "<swap space>": SWAP_SPACE}
FAMILIES = {
    family: [Feature(name, *call) for name, calls in filled(table, _TEXTS).items() for call in calls.items()]
    for family, table in TABLES["families"].items()
}
"""States of one family can meet; those of two do not, but where a family has some of another's."""
FAMILIES["packages"] += FAMILIES["services"][:4]


def build_root(root: Path) -> None:
    """Make the bare machine in an empty folder. It has packages to install, in two repositories."""
    for path, text in filled(TABLES["files"], _TEXTS).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for folder in TABLES["folders"]:
        (root / folder).mkdir(parents=True, exist_ok=True)
    shutil.copytree(PROGRAMS, root / "programs")
    files = {"etc/sun.conf": "setting = 1\n", "opt/sun/sun": "shines", "etc/systemd/system/sun.service": UNIT}
    account = "id sund >/dev/null 2>&1 || useradd --system sund"
    (root / "repository").mkdir()
    (root / "more").mkdir()
    for version in ("0.9", "1.0"):
        put_package(root / "repository", "sun", version, files, {"postinst": account})
    put_package(root / "repository", "moon", "1.0", {"opt/moon": "moon"}, {}, Depends="sun")
    put_package(root / "more", "star", "1.0", {"opt/star": "star"}, {})
    shutil.rmtree(root / "build")
