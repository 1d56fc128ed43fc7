"""This Python, mounted into another root: interpreter, libraries and packages, with this system's dynamic loader.

The other root may have another C library, another Python or none. So its own dynamic
loader starts the interpreter, and takes every library from folders that come with it.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

PLACE = "/.asyncstate"
"""The folder of all mounts."""

_BOOT = (
    "import os, sys; "
    "[os.environ.pop(n, None) for n in ('PYTHONHOME', 'PYTHONDONTWRITEBYTECODE')]; "
    "sys.path[:] = [p for p in sys.path if p] + {path!r}; "
    "from asyncstate.extras.proof.shake.room_program import main; main()"
)


class Python(NamedTuple):
    """Pairs of source and mount point, the command that runs `inside` there, and its environment."""

    mounts: list[tuple[str, str]]
    command: list[str]
    environ: dict[str, str]


def this_python() -> Python:
    """Return the running Python, with everything that it can import."""
    home = f"{PLACE}/python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = f"{home}/bin/{version}"
    mounts = [(os.path.realpath(sys.executable), program)]
    mounts += [(folder, f"{home}/{name}/{version}") for name, folder in _standard_library().items()]
    path = []
    for number, folder in enumerate(_package_folders()):
        path.append(f"{PLACE}/path/{number}")
        mounts.append((folder, path[-1]))
    loader, folders = _libraries()
    command = [program]
    if loader:
        libraries = []
        for number, folder in enumerate(folders):
            libraries.append(f"{PLACE}/lib/{number}")
            mounts.append((folder, libraries[-1]))
        mounts.append((loader, f"{PLACE}/loader"))
        command = [f"{PLACE}/loader", "--library-path", ":".join(libraries), program]
    environ = {"PYTHONHOME": home, "PYTHONDONTWRITEBYTECODE": "1"}
    return Python(mounts, [*command, "-s", "-S", "-c", _BOOT.format(path=path)], environ)


def _standard_library() -> dict[str, str]:
    """Return the folder of the standard library, and of its compiled modules if that is another one."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = {"lib": sysconfig.get_path("stdlib")}
    if sys.platlibdir != "lib":
        found[sys.platlibdir] = f"{sys.base_exec_prefix}/{sys.platlibdir}/{version}"
    return {name: os.path.realpath(folder) for name, folder in found.items() if os.path.isdir(folder)}


def _package_folders() -> list[str]:
    """Return the folders of importable packages, asyncstate's included, without the standard library."""
    standard = set(_standard_library().values())
    ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folders = [ours, *(folder for folder in sys.path if folder and os.path.isdir(folder))]
    real = dict.fromkeys(map(os.path.realpath, folders))
    standard |= {"/", *(f"{folder}/lib-dynload" for folder in standard)}
    return [folder for folder in real if folder not in standard]


def _libraries() -> tuple[str, list[str]]:
    """Return the dynamic loader of this process and the folders of its libraries; "" where there is no loader."""
    mapped = re.findall(r" (/\S+\.so\S*)$", Path("/proc/self/maps").read_text(encoding="utf-8"), re.MULTILINE)
    loader = next((path for path in mapped if re.match(r"ld(-|\d|\.so)", os.path.basename(path))), "")
    mounted = (*_standard_library().values(), *_package_folders())
    # The system's folder comes last: it may hold a library of the same name that another Python needs.
    of_system = os.path.dirname(os.path.realpath(loader))
    found = dict.fromkeys(os.path.dirname(os.path.realpath(path)) for path in mapped if path != loader)
    folders = [folder for folder in found if folder != of_system and not folder.startswith(mounted)]
    return loader, [*folders, of_system]
