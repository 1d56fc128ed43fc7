"""Programs of BusyBox in place of the usual ones."""

from __future__ import annotations

import os
import shutil


def has_applet(name: str) -> bool:
    """Return whether a program of this name is BusyBox's."""
    path = shutil.which(name)
    return path is not None and os.path.basename(os.path.realpath(path)).startswith("busybox")


def argv(name: str, root: str | None = None) -> list[str]:
    """Return the command line of an applet, within ``root`` if given."""
    return ["chroot", root, name] if root else [name]
