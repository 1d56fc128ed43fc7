"""Roster: the hosts and the ways to reach them, in the format of Salt's flat roster.

It is rendered like an SLS (``jinja|yaml``). All mistakes are gathered into one CompileError, each with file and line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from asyncstate import filesystem
from asyncstate.config import Settings
from asyncstate.errors import AsyncStateError, CompileError, Issue, RenderError
from asyncstate.extras.fleet.ssh.ssh_options import SshOptions, read_options
from asyncstate.nearest import nearest
from asyncstate.redact import Secrets
from asyncstate.services import RuntimeServices

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME: Final = re.compile(r"[^\s,@]+")
_FOLDERS: Final = re.compile(r"[\w./:$+-]+")
_FORWARDED: Final = "agent-forwarding"
_REFUSED: Final = {
    "tty": "a terminal would change the protocol on the runner's streams; sudo needs none here",
    "ssh_pre_flight": "no script is run before the runner: bring the host up to Python with other means",
    "ssh_pre_flight_args": "see ssh_pre_flight",
    "ssh_pre_hook": "no program is run on this machine before: run it before this command",
    "relenv": "the runner needs a Python of the host",
    "wipe_ssh": "nothing is left behind unless --ssh-keep says so",
    "mods": "name the SLS on the command line",
}
_TREE: Final = frozenset({"file_roots", "pillar_roots", "id", "pillar", "test"})
"""Options that `minion_opts` cannot replace: the tree is the operator's."""


class RosterHost(msgspec.Struct, frozen=True, kw_only=True):
    """One host. ``jumps`` are user, name and port of the hosts on the way; ``minion_opts`` are settings of the host."""

    id: str
    host: str
    user: str = "root"
    port: int = 22
    passwd: str = ""
    priv: str = ""
    priv_passwd: str = ""
    forward_agent: bool = False
    sudo: bool = False
    sudo_user: str = ""
    timeout: float = 30.0
    thin_dir: str = ""
    set_path: str = ""
    umask: int = 0o077
    minion_opts: dict[str, Any] = {}
    options: SshOptions = SshOptions()

    def __repr__(self) -> str:
        return f"RosterHost(id={self.id!r}, host={self.host!r})"

    @property
    def grains(self) -> dict[str, Any]:
        """The grains of the host in the roster."""
        return dict(self.minion_opts.get("grains") or {})


def read(path: str, settings: Settings) -> list[RosterHost]:
    """Return the hosts of a roster, by ID. Blocks. Raises CompileError, which lists all mistakes.

    The setting ``roster_defaults`` holds for every host that does not say otherwise.
    """
    path = os.path.abspath(path)
    issues: list[Issue] = []
    data, line_of = _rendered(path, settings)
    if not isinstance(data, Mapping) or not data:
        raise CompileError(
            [Issue("a roster is a dictionary of hosts: 'web1: {host: web1.example.com}'", path, 1, code="E601")]
        )
    defaults = settings.extra.get("roster_defaults") or {}
    if not isinstance(defaults, Mapping):
        origin = settings.origins.get("roster_defaults", "")
        raise CompileError(
            [Issue(f"roster_defaults: expected a dictionary, found {defaults!r} ({origin})", code="E601")]
        )
    hosts: list[RosterHost] = []
    for id_, given in data.items():
        found = _Host(str(id_), given, defaults, path, line_of)
        hosts += found.hosts
        issues += found.issues
    if issues:
        raise CompileError(issues)
    return sorted(hosts, key=lambda host: host.id)


def _rendered(path: str, settings: Settings) -> tuple[Any, Callable[..., int]]:
    secrets = Secrets()
    services = RuntimeServices(settings, secrets=secrets)
    try:
        with filesystem.open_read(path):
            pass
        with secrets.kept_out_of_errors():
            services.refresh(grains=True, pillar=False)
            rendered = services.render_file(path)
    except OSError as error:
        raise CompileError(
            [Issue(f"the roster cannot be read: {error.strerror or error}", path, code="E601")]
        ) from None
    except RenderError as error:
        raise CompileError([Issue(error.message, error.file or path, error.line, code="E601")]) from None
    return rendered.data, rendered.line_of


class _Host:
    """One entry of a roster, checked."""

    def __init__(
        self, id_: str, given: Any, defaults: Mapping[str, Any], path: str, line_of: Callable[..., int]
    ) -> None:
        self.issues: list[Issue] = []
        self.hosts: list[RosterHost] = []
        self._id = id_
        self._path = path
        self._line_of = line_of
        if isinstance(given, str):
            given = {"host": given}
        if not isinstance(given, Mapping):
            self._issue("", f"expected the keys of a host, found {given!r}", "for example: host: web1.example.com")
            return
        if not _NAME.fullmatch(id_):
            self._issue("", "the ID of a host has no space, comma or @", "it is what targets and requisites name")
        fields = {**defaults, **given}
        values = {key: check(self, fields[key]) for key, check in _CHECKS.items() if fields.get(key) is not None}
        for key, value in fields.items():
            self._know(str(key), value)
        if not values.get("host"):
            self._issue("", "the key host is missing", "it is the name or the address of the host")
        if self.issues:
            return
        private = values.pop("priv", "")
        options = values.pop("ssh_options", SshOptions())
        minion_opts = values.pop("minion_opts", {})
        umask = values.pop("cmd_umask", 0o077)
        self.hosts.append(
            RosterHost(
                id=id_,
                priv="" if private == _FORWARDED else private,
                forward_agent=private == _FORWARDED or options.forward_agent,
                options=options,
                minion_opts=minion_opts,
                umask=umask,
                **values,
            )
        )

    def _issue(self, key: str, message: str, hint: str = "") -> None:
        line = (self._line_of(self._id, key) if key else 0) or self._line_of(self._id)
        named = f"{self._id}: {key}: " if key else f"{self._id}: "
        self.issues.append(Issue(named + message, self._path, line, hint, code="E601"))

    def _know(self, key: str, value: Any) -> None:
        if key in _REFUSED and value not in (False, None, "", []):
            self._issue(key, "this is not supported", _REFUSED[key])
        elif key not in _CHECKS and key not in _REFUSED:
            near = nearest(key, [*_CHECKS])
            self._issue(key, "there is no such key of a host", f"did you mean {near}?" if near else "")

    # the types of values by key

    def text(self, key: str, value: Any) -> str:
        if isinstance(value, (str, int)) and not isinstance(value, bool) and "\n" not in str(value):
            return str(value)
        self._issue(key, f"expected text, found {value!r}" if key not in _SECRET else "expected text")
        return ""

    def flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            self._issue(key, f"expected True or False, found {value!r}")
        return value is True

    def port(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not str(value).isdecimal() or not 0 < int(value) < 1 << 16:
            self._issue(key, f"expected a port from 1 to 65535, found {value!r}")
            return 22
        return int(value)

    def seconds(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
            self._issue(key, f"expected seconds above 0, found {value!r}")
            return 30.0
        return float(value)

    def private_key(self, key: str, value: Any) -> str:
        path = self.text(key, value)
        if not path or path == _FORWARDED:
            return path
        path = os.path.expanduser(path)
        if not os.path.isfile(path):
            self._issue(
                key, f"there is no private key {path}", f"a file, or {_FORWARDED} for the keys of the ssh agent"
            )
        return path

    def folder(self, key: str, value: Any) -> str:
        path = self.text(key, value)
        if not os.path.isabs(path):
            self._issue(key, f"expected an absolute path, found {value!r}")
        return path

    def search_path(self, key: str, value: Any) -> str:
        path = self.text(key, value)
        if not _FOLDERS.fullmatch(path):
            self._issue(key, f"expected folders with colons between them, found {value!r}", "'$PATH:/opt/python/bin'")
        return path

    def mask(self, key: str, value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"0?[0-7]{1,4}", value):
            return int(value, 8)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0o777:
            return value
        self._issue(key, f"expected a mask of permissions, '077' for example, found {value!r}")
        return 0o077

    def minion_options(self, key: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            self._issue(key, f"expected options of a minion, found {value!r}")
            return {}
        for name in sorted(_TREE & value.keys()):
            self._issue(key, f"{name} cannot be set for a host: the tree is the operator's", "use grains")
        try:
            msgspec.convert(Settings.split(value)[0], Settings)
        except (msgspec.ValidationError, AsyncStateError) as error:
            self._issue(key, str(error))
        return {str(name): each for name, each in value.items()}

    def ssh_options(self, key: str, value: Any) -> SshOptions:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self._issue(key, f"expected a list of 'Name=value', found {value!r}")
            return SshOptions()
        options, mistakes = read_options(value)
        for message, hint in mistakes:
            self._issue(key, message, hint)
        return options


_SECRET: Final = frozenset({"passwd", "priv_passwd"})


def _of(key: str, check: Callable[[_Host, str, Any], Any]) -> Callable[[_Host, Any], Any]:
    return lambda host, value: check(host, key, value)


_KINDS: Final[dict[str, Callable[[_Host, str, Any], Any]]] = {
    "host": _Host.text,
    "user": _Host.text,
    "port": _Host.port,
    "passwd": _Host.text,
    "priv": _Host.private_key,
    "priv_passwd": _Host.text,
    "sudo": _Host.flag,
    "sudo_user": _Host.text,
    "timeout": _Host.seconds,
    "thin_dir": _Host.folder,
    "set_path": _Host.search_path,
    "cmd_umask": _Host.mask,
    "minion_opts": _Host.minion_options,
    "ssh_options": _Host.ssh_options,
}
_CHECKS: Final = {key: _of(key, check) for key, check in _KINDS.items()}
