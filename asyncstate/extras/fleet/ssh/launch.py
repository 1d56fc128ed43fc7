"""The start of a host's runner: the command for its shell, and the exchange with the loader before there are frames."""

from __future__ import annotations

import base64
import re
import shlex
import sys
import zlib
from importlib.resources import files
from typing import Final

import msgspec

from asyncstate.errors import FleetError
from asyncstate.extras.fleet.ssh import bundle

SUDO_PROMPT: Final = "asyncstate-asks-sudo:"
"""The prompt that sudo prints on its error stream for a password."""
READY: Final = "asyncstate-loader-ready"
"""The loader's first line. Any text before it comes from the host's shell."""
NO_PYTHON: Final = "asyncstate-finds-no-python"
LONGEST_WORDS: Final = 1 << 16
"""Bytes that a host may print before the loader's first line: its shell's messages at login."""

_SHOWN: Final = 150
_NOT_ALLOWED: Final = re.compile(
    r"(?:Sorry, user )?(\S+) (?:is not allowed to execute .* as (\S+) on |may not run sudo|is not in the sudoers file)"
)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The message to the loader: the bundle's sha256, and the folders to use. ``mark`` begins the loader's lines."""

    digest: str
    mark: str
    thin_dir: str = ""
    keep: str = ""
    umask: int = 0o077


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """A host's description of its Python; ``have``: the bundle is there. ``error`` is the reason of a failed start."""

    have: bool = False
    abi: str = ""
    python: str = ""
    machine: str = ""
    uid: int = -1
    error: str = ""


def command(*, sudo: bool, sudo_user: str, password: bool, set_path: str) -> str:
    """Return the command for a host's login shell, of any kind.

    With ``password``, sudo asks for one by `SUDO_PROMPT`.
    """
    loader = base64.b64encode(zlib.compress(files(__package__).joinpath("loader.py").read_bytes(), 9)).decode()
    code = f"import base64,zlib;exec(zlib.decompress(base64.b64decode('{loader}')))"
    own = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    find = f"p=$(command -v {own} || command -v python3) || {{ echo {NO_PYTHON} >&2; exit 127; }}"
    path = f'PATH="{set_path}"; export PATH; ' if set_path else ""
    script = f'{path}{find}; exec "$p" -I -c "{code}"'
    words = ["/bin/sh", "-c", script]
    if sudo:
        asking = ["-S", "-p", SUDO_PROMPT] if password else ["-n"]
        words = ["sudo", *asking, "-u", sudo_user or "root", "--", *words]
    return shlex.join(words)


def require_fitting(hello: Hello) -> None:
    """Raise FleetError, with the requirement, if the bundle of this machine cannot run on a host."""
    if hello.error:
        raise FleetError(hello.error)
    own = bundle.abi()
    if hello.abi != own:
        version = ".".join(map(str, sys.version_info[:2]))
        raise FleetError(
            f"its Python is {hello.python} ({hello.abi or 'unknown kind'}), the runner of this machine needs one of "
            f"the kind {own}. Install Python {version} there (as python{version} in its PATH, or in a folder that "
            "set_path of the roster names), or run this command on such a machine with the Python of the host."
        )


def require_started(hello: Hello) -> None:
    """Raise FleetError if the loader did not start the runner."""
    if hello.error:
        raise FleetError(hello.error)


def shortened(line: str) -> str:
    """Return a line of a host; only the beginning and the end of a long one, which may repeat `command`."""
    return line if len(line) <= 2 * _SHOWN else f"{line[:_SHOWN]} … {line[-_SHOWN:]}"


def hint_of(said: list[str], *, sudo: bool, password: bool) -> str:
    """Return a hint for a host that ended before the loader's first line; ``said`` is its error stream."""
    if NO_PYTHON in said:
        version = ".".join(map(str, sys.version_info[:2]))
        return f"it has no python3 in its PATH: install Python {version} there, or name its folder with set_path"
    if sudo and not password and any("password" in line for line in said):
        return "sudo asks for a password: give it as passwd in the roster, or allow it without one (NOPASSWD)"
    refused = next((found for line in said if (found := _NOT_ALLOWED.match(line)) is not None), None)
    if sudo and refused is not None:
        return f"sudoers does not let {refused[1]} run /bin/sh as {refused[2] or 'another user'}: allow it there"
    if sudo:
        return "sudo does not start the runner"
    return "its shell does not start Python"
