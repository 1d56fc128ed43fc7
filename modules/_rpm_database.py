"""The installed packages of rpm and their names, for all package managers on top of rpm."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from asyncstate.dunders import __grains__, __salt__

from . import _rpm_versions
from ._package_listing import Listing, Versions
from ._version_conditions import newest_first

_FIELDS = ("%{NAME}", "%{EPOCH}", "%{VERSION}", "%{RELEASE}", "%{ARCH}", "%{INSTALLTIME}")
_SEPARATOR = "_|-"
QUERY_FORMAT = _SEPARATOR.join(_FIELDS)
"""The format in which rpm prints each package; `parsed` reads it."""

_DATABASES = ("/var/lib/rpm", "/usr/lib/sysimage/rpm")
_FILES = ("rpmdb.sqlite", "rpmdb.sqlite-wal", "Packages", "Packages.db")
_X86_32 = frozenset("athlon geode i386 i486 i586 i686".split())
_X86_64 = frozenset("amd64 ia32e x86_64 x86_64_v2 x86_64_v3".split())
_OTHERS = frozenset(
    "aarch64 armv5tel armv6hl armv6l armv7hl armv7hnl armv7l loongarch64 mips64el ppc ppc64 ppc64le riscv64 s390 s390x"
    " sparc sparc64 src".split()
)
_ARCHITECTURES = _X86_32 | _X86_64 | _OTHERS | {"noarch"}


class Package(NamedTuple):
    """One package of rpm. ``name`` contains the architecture unless it is the machine's."""

    name: str
    version: str
    arch: str
    installed: int | None

    @property
    def install_date(self) -> str | None:
        """The time of installation, as text."""
        return None if self.installed is None else datetime.fromtimestamp(self.installed, UTC).isoformat() + "Z"


def parsed(line: str) -> Package | None:
    """Read a line in `QUERY_FORMAT`; None for any other line."""
    fields = line.split(_SEPARATOR)
    if len(fields) != len(_FIELDS):
        return None
    name, epoch, version, release, architecture, installed = fields
    number = f"{version}-{release}" if release else version
    number = f"{epoch}:{number}" if epoch.isdigit() and int(epoch) else number
    time = int(installed) if installed.isdigit() and int(installed) else None
    return Package(resolved(name, architecture), number, architecture, time)


def resolved(name: str, architecture: str) -> str:
    """Return the name of a package, with an architecture that is not the machine's own."""
    own = __grains__.get("osarch", "")
    fits = architecture in {own, "noarch"} or (architecture in _X86_64 and own in _X86_64)
    return name if fits or (architecture in _X86_32 and own in _X86_32) else f"{name}.{architecture}"


def split_arch(name: str) -> tuple[str, str | None]:
    """Return the name and the architecture of ``name.architecture``; None without an architecture."""
    package, dot, architecture = name.rpartition(".")
    return (package, architecture) if dot and architecture in _ARCHITECTURES else (name, None)


def normalised(name: str) -> str:
    """Return ``name`` without an architecture that is the machine's own."""
    package, architecture = split_arch(name)
    return package if architecture and resolved(package, architecture) == package else name


def named_version(name: str, version: str) -> str:
    """Return dnf's name for one version of a package: ``sun-1.0-1.i686``."""
    package, architecture = split_arch(name)
    number = version.partition(":")[2] or version
    return f"{package}-{number}" + (f".{architecture}" if architecture else "")


def version_of_file(path: str) -> tuple[str, str]:
    """Return the name and version of the package in a file."""
    about = __salt__["lowpkg.bin_pkg_info"](path)
    return str(about["name"]), str(about["version"])


def _query() -> Versions:
    done = __salt__["cmd.run_all"](
        ["rpm", "-qa", "--nodigest", "--nosignature", "--queryformat", f"{QUERY_FORMAT}\n"],
        python_shell=False,
        output_loglevel="trace",
    )
    found: dict[str, list[str]] = {}
    for package in map(parsed, str(done["stdout"]).splitlines()):
        if package is not None and package.name != "gpg-pubkey":
            found.setdefault(package.name, []).append(package.version)
    return {name: newest_first(versions, _rpm_versions.compare)[::-1] for name, versions in found.items()}


LISTING = Listing(_query, *(f"{folder}/{file}" for folder in _DATABASES for file in _FILES))
"""The installed packages."""
