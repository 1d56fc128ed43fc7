"""What there is to know about a plugin function: arguments, an example, where it works. For `doc` and for the site."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_CODE_FOLLOWS = re.compile(r"::[ ]*$", re.MULTILINE)
_BEGINS_CODE = re.compile(r"( ?::)[ ]*$", re.MULTILINE)
_STARRED = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
TITLES = {"states": "State", "modules": "Execution module"}
"""What a plugin of each kind is called."""


class Function(NamedTuple):
    """One function under the name it is called by; ``kind`` is states or modules."""

    kind: str
    name: str
    func: Callable[..., Any]

    @property
    def signature(self) -> str:
        """The arguments as they are written, ``(name: str, user: str = 'root')``; ``(...)`` if nobody can tell."""
        signature = _signature(self.func)
        return "(...)" if signature is None else str(signature)

    @property
    def doc(self) -> str:
        """The docstring, with its indentation taken off."""
        return inspect.getdoc(self.func) or ""

    @property
    def example(self) -> str:
        """The shortest way to use it, made of the arguments it must have; "" if its documentation has an example."""
        signature = _signature(self.func)
        if signature is None or _CODE_FOLLOWS.search(self.doc):
            return ""
        needed = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.default is parameter.empty and parameter.kind not in _STARRED
        ]
        return _state_example(self.name, needed) if self.kind == "states" else _call_example(self.name, needed)


def call_lines(name: str, signature: str, width: int = 96) -> list[str]:
    """Return name and arguments, a long one broken between arguments."""
    if len(name) + len(signature) <= width:
        return [name + signature]
    indent = " " * (len(name) + 1)
    return textwrap.wrap(name + signature, width, subsequent_indent=indent, break_long_words=False)


_NAMES = {
    "alias": "root", "alternatives": "editor", "archive": "/srv/app", "cmd": "date >> /var/log/dates",
    "cmd.script": "salt://app/install.sh", "cmd.wait_script": "salt://app/install.sh", "cron": "/usr/local/bin/backup",
    "cron.env_absent": "MAILTO", "cron.env_present": "MAILTO", "cron.file": "salt://app/crontab", "debconf": "tzdata",
    "docker_container": "web", "docker_image": "nginx:stable", "docker_network": "backend", "environ": "EDITOR",
    "event": "app/deployed", "file": "/etc/app.conf", "file.directory": "/srv/app", "file.recurse": "/srv/app",
    "file.pruned": "/srv/app", "file.tidied": "/var/backups", "file.retention_schedule": "/var/backups",
    "file.mknod": "/srv/app/pipe", "file.accumulated": "servers", "git": "https://example.org/app.git",
    "git.present": "/srv/git/app.git", "git.config_set": "user.name", "git.config_unset": "user.name",
    "grains": "roles", "group": "www", "host": "db.example.org", "host.only": "192.0.2.1",
    "http": "https://example.org/health", "ini": "/etc/app.ini", "keyboard": "de", "kmod": "br_netfilter",
    "locale": "en_GB.UTF-8", "module": "test.ping", "mount": "/mnt/data", "mount.fstab_present": "/dev/sdb1",
    "mount.fstab_absent": "/dev/sdb1", "mount.swap": "/dev/sdb2", "pip": "requests", "pkg": "nginx",
    "pkgrepo": "deb http://deb.example.org/app stable main", "postgres_cluster": "main", "postgres_database": "app",
    "postgres_extension": "pg_trgm", "postgres_group": "readers", "postgres_privileges": "ada",
    "postgres_schema": "app", "postgres_tablespace": "fast", "postgres_user": "ada", "service": "nginx",
    "ssh_auth": "AAAAC3NzaC1lZDI1NTE5AAAAIexample", "ssh_known_hosts": "example.org", "sysctl": "vm.swappiness",
    "timezone": "Europe/Berlin", "user": "ada", "virtualenv": "/srv/app/venv", "x509": "/etc/ssl/app.pem",
}  # fmt: skip
"""A name for the states of a module, or for one of them."""
_VALUES = {
    "alias.present.target": "ada@example.org", "data": "{tzdata/Areas: {type: select, value: Europe}}", "dbname": "app",
    "device": "/dev/sdb1", "directory": "/srv/postgres", "filename": "/etc/app.conf", "fs_file": "/mnt/data",
    "fs_vfstype": "ext4", "fstype": "ext4", "func": "app.deploy", "hostnames": "[db.example.org]", "ip": "192.0.2.1",
    "link": "/usr/bin/editor", "ntype": "p", "object_name": "app", "object_type": "database",
    "path": "/usr/bin/vim.basic", "pattern": "^port = .*", "priority": "50", "private_key": "/etc/ssl/app.key",
    "regex": "^debug", "repl": "port = 8080", "retain": "{most_recent: 5}", "rev": "v1.0", "revoked": "[]",
    "signing_private_key": "/etc/ssl/ca.key", "source": "salt://app/files", "file.copy.source": "/etc/app.conf.default",
    "ssh_keys": "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIexample]", "target": "/srv/app", "text": "server a",
    "user": "ada", "value": "web", "version": "'15'",
}  # fmt: skip
"""A value for an argument that a state must have."""


class _Plain(str):
    """An annotation that prints without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _signature(func: Callable[..., Any]) -> inspect.Signature | None:
    try:
        signature = inspect.signature(func)
    except (ValueError, TypeError):
        return None
    parameters = [
        parameter.replace(annotation=_Plain(parameter.annotation))
        if isinstance(parameter.annotation, str)
        else parameter
        for parameter in signature.parameters.values()
    ]
    return signature.replace(parameters=parameters, return_annotation=signature.empty)


def _state_example(name: str, needed: list[str]) -> str:
    module = name.partition(".")[0]
    arguments = {"name": _NAMES.get(name) or _NAMES.get(module, "example")}
    for each in needed:
        arguments.setdefault(each, _VALUES.get(f"{name}.{each}") or _VALUES.get(each, "example"))
    return "\n".join(["my-id:", f"  {name}:", *(f"    - {key}: {value}" for key, value in arguments.items())])


def _call_example(name: str, needed: list[str]) -> str:
    return " ".join(["asyncstate call", name, *(each.upper() for each in needed)])


@lru_cache(maxsize=256)
def platforms(file: str) -> str:
    """Say where the plugin in a file loads: everywhere, or what its ``__virtual__`` says where it does not.

    Read from its source, so that it is told on every platform alike.
    """
    try:
        with open(file, encoding="utf-8") as text:
            tree = ast.parse(text.read())
    except (OSError, ValueError, SyntaxError):
        return ""
    asked = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__virtual__"]
    if not asked:
        return "all"
    reasons = [_text(node.value) for node in ast.walk(asked[0]) if isinstance(node, ast.Return)]
    said = "; ".join(dict.fromkeys(reason for reason in reasons if reason))
    if said:
        return f"all but where it refuses: {said}"
    return "those its __virtual__ accepts"


def _text(returned: ast.expr | None) -> str:
    """Return the reason in ``return False, reason``, also as one branch of a condition; "" for any other return."""
    if isinstance(returned, ast.IfExp):
        return _text(returned.body) or _text(returned.orelse)
    if isinstance(returned, ast.Tuple) and len(returned.elts) == 2:
        match returned.elts[1]:
            case ast.Constant(value=str(reason)):
                return reason
            case ast.JoinedStr(values=parts):
                words = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
                return "".join(words)
    return ""


# pages of the site


class Provider(NamedTuple):
    """One file that provides a module: its functions by name, the module's documentation."""

    file: str
    doc: str
    functions: Mapping[str, Callable[..., Any]]


def bundled_modules(kind: str) -> dict[str, list[Provider]]:
    """Return the bundled plugins of a kind by the name they have, whether they would load on this machine or not."""
    from asyncstate.load.exports import exported_functions  # noqa: PLC0415
    from asyncstate.load.folders import scan  # noqa: PLC0415 - for the site only
    from asyncstate.load.imports import import_plugin  # noqa: PLC0415
    from asyncstate.load.search_path import bundled_folder  # noqa: PLC0415

    found: dict[str, list[Provider]] = {}
    for plugin in scan(bundled_folder(kind)).values():
        namespace = import_plugin(plugin, kind)
        name = str(getattr(namespace, "__virtualname__", plugin.name))
        functions = {
            function: func
            for function, func in sorted(exported_functions(namespace).items())
            if not function.startswith(("_", "mod_"))
        }
        found.setdefault(name, []).append(Provider(plugin.source, inspect.getdoc(namespace) or "", functions))
    return dict(sorted(found.items()))


def page(kind: str, name: str, providers: Iterable[Provider]) -> str:
    """Return the page of a module in Markdown; what several providers offer is told once, by the first."""
    providers = list(providers)
    lines = [f"# {name}", "", f"{TITLES[kind]}. {providers[0].doc.partition(chr(10))[0]}", ""]
    if len(providers) > 1:
        lines += ["Which of these provides it depends on the machine:", "", "| file | platforms |", "| --- | --- |"]
        lines += [f"| `{_short(each.file)}` | {platforms(each.file)} |" for each in providers]
    else:
        lines += [f"Platforms: {platforms(providers[0].file)}"]
    told: set[str] = set()
    for provider in providers:
        for function, func in provider.functions.items():
            if function not in told:
                told.add(function)
                lines += ["", *_function_lines(Function(kind, f"{name}.{function}", func))]
    return "\n".join([*lines, ""])


def _function_lines(function: Function) -> Iterator[str]:
    yield f"## {function.name}"
    yield ""
    yield from ("```python", *call_lines(function.name, function.signature), "```", "")
    yield markdown(function.doc)
    if function.example:
        yield from ("", "```yaml" if function.kind == "states" else "```shell", function.example, "```")


def markdown(doc: str) -> str:
    """Return a docstring as Markdown: ``::`` before an example becomes a colon, or nothing behind a full stop."""
    return _BEGINS_CODE.sub(lambda match: "" if match[1].startswith(" ") else ":", doc)


def _short(file: str) -> str:
    """Return the last part of a plugin's path that says something."""
    parts = file.rsplit("/", 2)
    return "/".join(parts[-2:]) if parts[-1] == "__init__.py" else parts[-1]
