"""The ``ssh_options`` of a roster: the options of ``ssh -o`` that apply here."""

from __future__ import annotations

import os
import re
from typing import Final

import msgspec

from asyncstate.nearest import nearest

_JUMP: Final = re.compile(r"(?:([^@\s]+)@)?(\[[0-9A-Fa-f:.]+\]|[^:@\s]+)(?::(\d{1,5}))?")
_KNOWN: Final = {
    name.lower(): name
    for name in (
        "ConnectTimeout ForwardAgent HostKeyAlias IdentitiesOnly IdentityFile Port ProxyCommand ProxyJump User"
    ).split()
}
_REFUSED: Final = {
    "stricthostkeychecking": "keys of hosts are always checked",
    "userknownhostsfile": "use --ssh-known-hosts FILE",
    "globalknownhostsfile": "use --ssh-known-hosts FILE",
    "port": "use the key port",
    "user": "use the key user",
    "connecttimeout": "use the key timeout",
    "requesttty": "a terminal would change the protocol on the runner's streams",
}
_SILENT: Final = frozenset({"batchmode", "controlmaster", "controlpath", "controlpersist", "loglevel"})
"""Options of the program ssh without effect here: each host has one connection, and there are no prompts."""
_YES: Final = {"yes": True, "no": False}


class SshOptions(msgspec.Struct, frozen=True, kw_only=True):
    """``jumps`` are user ("" for the host's user), name and port of the hosts on the way, the first one first."""

    jumps: tuple[tuple[str, str, int], ...] = ()
    proxy_command: str = ""
    identity_files: tuple[str, ...] = ()
    identities_only: bool = False
    host_key_alias: str = ""
    forward_agent: bool = False


def read_options(given: list[str]) -> tuple[SshOptions, list[tuple[str, str]]]:
    """Return the options, and the mistakes in them: messages with hints."""
    reader = _Reader()
    for each in given:
        reader.take(each)
    return SshOptions(**reader.values), reader.mistakes  # type: ignore[arg-type]  # each has the type of its field


class _Reader:
    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self.mistakes: list[tuple[str, str]] = []

    def take(self, text: str) -> None:
        found = re.fullmatch(r"\s*(?:-o\s*)?(\w+)\s*(?:=\s*|\s)\s*(.*\S)\s*", text)
        if found is None:
            self.mistakes.append((f"expected Name=value, found {text!r}", "for example ProxyJump=bastion.example.com"))
            return
        name, value = found[1].lower(), found[2].strip("\"'")
        if name in _REFUSED:
            self.mistakes.append((f"{found[1]} is not supported", _REFUSED[name]))
        elif name == "proxyjump":
            self._jumps(value)
        elif name == "proxycommand":
            self.values["proxy_command"] = "" if value == "none" else value
        elif name == "identityfile":
            path = os.path.expanduser(value)
            if not os.path.isfile(path):
                self.mistakes.append((f"there is no private key {path}", "IdentityFile is a file of this machine"))
            self.values["identity_files"] = (*self.values.get("identity_files", ()), path)  # type: ignore[misc]
        elif name == "hostkeyalias":
            self.values["host_key_alias"] = value
        elif name in {"identitiesonly", "forwardagent"}:
            self._flag("identities_only" if name == "identitiesonly" else "forward_agent", found[1], value)
        elif name not in _SILENT:
            near = nearest(name, [*_KNOWN])
            hint = f"did you mean {_KNOWN[near]}?" if near else "what the program ssh reads from ~/.ssh/config is read"
            self.mistakes.append((f"{found[1]} is no option that is supported here", hint))

    def _flag(self, field: str, name: str, value: str) -> None:
        if value.lower() not in _YES:
            self.mistakes.append((f"{name} is yes or no, not {value!r}", ""))
        self.values[field] = _YES.get(value.lower(), False)

    def _jumps(self, value: str) -> None:
        jumps = []
        for each in value.split(",") if value != "none" else ():
            found = _JUMP.fullmatch(each.strip().removeprefix("ssh://"))
            if found is None:
                self.mistakes.append((f"ProxyJump: {each!r} is no [user@]host[:port]", ""))
                continue
            jumps.append((found[1] or "", found[2].strip("[]"), int(found[3] or 22)))
        self.values["jumps"] = tuple(jumps)
