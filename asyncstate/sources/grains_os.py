"""Grains of the operating system: kernel, distribution, package architecture, init system, locale."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any

from asyncstate.pattern import lazy_pattern
from asyncstate.sources.machine import list_names, read_text, text_in_binary, which

_ESCAPED = lazy_pattern(r'\\([\\"$`])')
_LINUX = lazy_pattern(r"\W(?:gnu/)?linux", re.IGNORECASE)
_SYSTEMD_LIBRARY = lazy_pattern(r"libsystemd-shared-(\d+)")

_FAMILY = {
    "Debian": """Ubuntu, Mint, Trisquel, GCEL, Linaro, elementary, elementary OS, Univention, Raspbian, Devuan, antiX,
        Kali, Parrot OS, neon, KDE neon, Cumulus, Deepin, IDMS, TurnKey, Pop, AstraLinuxCE, AstraLinuxSE, Mendel,
        OSMC""",
    "RedHat": """Fedora, Chapeau, Korora, FedBerry, CentOS, CentOS Stream, GoOSe, Scientific, ScientificLinux, Amazon,
        CloudLinux, Virtuozzo, AlmaLinux, AlmaLinux Kitten, OVS, OEL, XCP, XCP-ng, XenServer, RES, Sangoma, AlterOS,
        VMware Photon OS, RED OS, ALT, Rocky, Alinux, openEuler, RedHat""",
    "Suse": """SLES, SLED, openSUSE, SUSE, SLES_SAP, alfaLinux, alfaLinux Rise, SUSE Enterprise Server,
        SUSE  Enterprise Server, openSUSE Leap, openSUSE Tumbleweed""",
    "Arch": "Arch ARM, Manjaro, Manjaro ARM, Antergos, EndeavourOS",
    "Gentoo": "Funtoo",
    "Mandriva": "Mandrake",
    "VMware": "VMwareESX",
    "Bluewhite": "Bluewhite64",
    "Slackware": "Slamd64",
}
_FAMILY_OF_OS = {name.strip(): family for family, names in _FAMILY.items() for name in names.split(",")}

_OS_OF_NAME = {
    "redhatente": "RedHat",
    "gentoobase": "Gentoo",
    "archarm": "Arch ARM",
    "arch": "Arch",
    "debian": "Debian",
    "raspbian": "Raspbian",
    "fedoraremi": "Fedora",
    "chapeau": "Chapeau",
    "korora": "Korora",
    "amazonami": "Amazon",
    "alt": "ALT",
    "enterprise": "OEL",
    "oracleserv": "OEL",
    "cloudserve": "CloudLinux",
    "cloudlinux": "CloudLinux",
    "virtuozzo": "Virtuozzo",
    "almalinux": "AlmaLinux",
    "almalinuxk": "AlmaLinux",
    "pidora": "Fedora",
    "scientific": "ScientificLinux",
    "synology": "Synology",
    "nilrt": "NILinuxRT",
    "poky": "Poky",
    "manjaro": "Manjaro",
    "manjarolin": "Manjaro",
    "univention": "Univention",
    "antergos": "Antergos",
    "sles": "SUSE",
    "void": "Void",
    "slesexpand": "RES",
    "linuxmint": "Mint",
    "neon": "KDE neon",
    "pop": "Pop",
    "rocky": "Rocky",
    "alibabaclo": "Alinux",
    "mendel": "Mendel",
    "photon": "VMware Photon OS",
}
"""First ten characters of the distribution's name, without spaces, in lower case -> Salt's ``os`` grain."""

_OS_OF_ID_AND_NAME = {
    ("astra", "Astra Linux (Orel)"): "AstraLinuxCE",
    ("astra", "Astra Linux (Smolensk)"): "AstraLinuxSE",
    ("pop", "Pop!_OS"): "Pop",
}
_CODENAME_IN_BRACKETS = frozenset({"almalinux", "rocky", "rhel"})
_NAMED_BY_OS = frozenset({"Debian", "Raspbian", "AlmaLinux"})
_FULL_RELEASE = frozenset({"Ubuntu", "Pop", "NixOS"})
_DPKG_ARCHITECTURE = {
    "x86_64": "amd64",
    "i386": "i386",
    "i486": "i386",
    "i586": "i386",
    "i686": "i386",
    "aarch64": "arm64",
    "armv6l": "armhf",
    "armv7l": "armhf",
    "ppc64le": "ppc64el",
    "riscv64": "riscv64",
    "s390x": "s390x",
    "loongarch64": "loong64",
}


def kernel_grains() -> dict[str, Any]:
    """Return kernel, kernelrelease, kernelversion, nodename and cpuarch."""
    name = os.uname()
    return {
        "kernel": name.sysname,
        "nodename": name.nodename,
        "kernelrelease": name.release,
        "kernelversion": name.version,
        "cpuarch": name.machine,
    }


def distribution_grains(root: str = "/") -> dict[str, Any]:
    """Return os, os_family, osfullname, osrelease, oscodename and lsb_distrib_*, from os-release and lsb-release."""
    release = read_assignments(root, "etc/os-release") or read_assignments(root, "usr/lib/os-release")
    lsb = _lsb_grains(read_assignments(root, "etc/lsb-release"), release)
    if not release:
        return {"os": "Unknown", "os_family": "Unknown", "osfullname": "Unknown"} | lsb
    fullname = _full_name(release, lsb)
    name = "SUSE" if _is_suse(release) else _os_name(release.get("NAME", ""), release.get("ID", ""))
    grains: dict[str, Any] = {
        "os": name,
        "os_family": _FAMILY_OF_OS.get(name) or _family_of_id(release) or name,
        "osfullname": fullname,
        "osrelease": _release_number(release, root),
        "oscodename": _codename(release),
    }
    return lsb | {key: value for key, value in grains.items() if value}


def read_assignments(root: str, path: str) -> dict[str, str]:
    """Read a file of shell assignments (``NAME="Debian GNU/Linux"``); {} if there is none."""
    found: dict[str, str] = {}
    for line in read_text(root, path).splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            value = value.strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = _ESCAPED.sub(r"\1", value[1:-1])
            found[key] = value
    return found


def _lsb_grains(lsb: dict[str, str], release: dict[str, str]) -> dict[str, str]:
    grains = {f"lsb_{key.lower()}": value for key, value in lsb.items() if key.startswith("DISTRIB_")}
    if "lsb_distrib_id" in grains:
        return grains
    substitutes = {
        "lsb_distrib_id": release.get("NAME"),
        "lsb_distrib_release": release.get("VERSION_ID"),
        "lsb_distrib_codename": release.get("VERSION_CODENAME") or release.get("PRETTY_NAME"),
    }
    return grains | {key: value for key, value in substitutes.items() if value}


def _is_suse(release: dict[str, str]) -> bool:
    parts = release.get("CPE_NAME", "").lower().split(":")
    vendor = parts[3:4] if parts[1:2] == ["2.3"] else parts[2:3]
    return vendor in (["suse"], ["opensuse"])


def _full_name(release: dict[str, str], lsb: dict[str, str]) -> str:
    if _is_suse(release):
        if release.get("NAME") == "openSUSE Leap":
            return "Leap"
        if release.get("VERSION") == "Tumbleweed" or "Tumbleweed" in release.get("NAME", ""):
            return "Tumbleweed"
    return (release.get("NAME") or lsb.get("lsb_distrib_id", "")).strip()


def _os_name(fullname: str, os_id: str) -> str:
    if name := _OS_OF_ID_AND_NAME.get((os_id, fullname)):
        return name
    distribution = _LINUX.sub("", fullname).strip()
    short = distribution.replace(" ", "").lower()[:10]
    return _OS_OF_NAME.get(short, distribution)


def _family_of_id(release: dict[str, str]) -> str:
    """Return the family of a distribution: its oldest ancestor, the last one in ``ID_LIKE``."""
    like = release.get("ID_LIKE", "").split()
    if not like:
        return ""
    if {"debian", "ubuntu"} & {release.get("ID"), *like}:
        return "Debian"
    oldest = like[-1]
    return {"fedora": "RedHat", "rhel": "RedHat", "suse": "Suse", "opensuse": "Suse"}.get(oldest, oldest.capitalize())


def _release_number(release: dict[str, str], root: str) -> str:
    if release.get("ID") == "centos":  # its os-release has no minor number
        number = re.search(r"\d+\.\d+", read_text(root, "etc/centos-release"))
        return number[0] if number else release.get("VERSION_ID", "")
    return release.get("VERSION_ID") or release.get("BUILD_ID", "")


def _codename(release: dict[str, str]) -> str:
    if release.get("ID") == "astra":
        return release.get("VARIANT_ID", "")
    if release.get("ID") in _CODENAME_IN_BRACKETS:
        bracketed = re.search(r"\((.+)\)", release.get("VERSION", ""))
        return bracketed[1] if bracketed else ""
    return release.get("VERSION_CODENAME", release.get("PRETTY_NAME", ""))


def release_grains(grains: dict[str, Any]) -> dict[str, Any]:
    """Return osrelease_info, osmajorrelease and osfinger for the result of `distribution_grains`."""
    release = grains.get("osrelease")
    if not release:
        return {}
    info = tuple(int(part) if part.isdigit() else part for part in release.split("."))
    name = grains["os"] if grains["os"] in _NAMED_BY_OS else grains["osfullname"]
    finger = release if grains["os"] in _FULL_RELEASE else info[0]
    derived: dict[str, Any] = {"osrelease_info": info, "osfinger": f"{name}-{finger}"}
    if isinstance(info[0], int):
        derived["osmajorrelease"] = info[0]
    return derived


def package_architecture(family: str, cpuarch: str, root: str = "/") -> str:
    """Return the package manager's name of the architecture: dpkg's name on Debian, the machine's elsewhere."""
    if family != "Debian":
        return cpuarch
    own = read_text(root, "var/lib/dpkg/arch").split()
    if own:
        return own[0]
    if cpuarch == "x86_64" and sys.maxsize < 2**32:
        return "i386"  # a 32-bit system on a 64-bit kernel
    return _DPKG_ARCHITECTURE.get(cpuarch, cpuarch)


def init_grains(root: str = "/") -> dict[str, Any]:
    """Return init (systemd, sysvinit, upstart, openrc …, or unknown) and systemd's version and features, if any."""
    grains: dict[str, Any] = {"init": _init_system(root)}
    if which("systemctl") and which("localectl"):
        grains["systemd"] = _systemd(root)
    grains["transactional"] = which("transactional-update") is not None
    return grains


def _init_system(root: str) -> str:
    if os.path.isdir(os.path.join(root, "run/systemd/system")):
        return "systemd"
    command = read_text(root, "proc/1/cmdline").replace("\0", " ").split()
    if not command:
        return "unknown"
    program = os.path.basename(os.path.realpath(which(command[0]) or command[0]))
    if "/sbin/my_init" in command:
        return "runit"
    for name, inits in _INIT_PROGRAMS.items():
        if program == name or any(os.path.basename(word) == name for word in command[:2]):
            return inits
    if program == "init":
        return "upstart" if os.path.exists(os.path.join(root, "sbin/initctl")) else "sysvinit"
    return "unknown"


_INIT_PROGRAMS = {
    "systemd": "systemd",
    "supervisord": "supervisord",
    "dumb-init": "dumb-init",
    "tini": "tini",
    "runit": "runit",
    "openrc-init": "openrc",
}


def _systemd(root: str) -> dict[str, str]:
    """Return version and features from systemd's private library: systemctl takes longer than all other grains."""
    multiarch = getattr(sys.implementation, "_multiarch", "")
    for directory in ("usr/lib/systemd", f"usr/lib/{multiarch}/systemd", "usr/lib64/systemd", "lib/systemd"):
        for name in list_names(root, directory):
            if found := _SYSTEMD_LIBRARY.match(name):
                features = text_in_binary(root, f"{directory}/{name}", b"+PAM ", b"-PAM ")
                return {"version": found[1], "features": features}
    return {"version": "UNDEFINED", "features": ""}


def locale_grains() -> dict[str, Any]:
    """Return locale_info of this process."""
    import locale  # noqa: PLC0415 - start-up time

    language, encoding = locale.getlocale()
    return {
        "locale_info": {
            "defaultlanguage": language,
            "defaultencoding": encoding,
            "detectedencoding": sys.getfilesystemencoding(),
            "timezone": time.tzname[time.localtime().tm_isdst > 0],
        }
    }
