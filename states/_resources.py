"""Names of resources that are common to the footprints of many states."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __opts__, __pillar__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NETWORK = (
    "path:/etc/hosts",
    "path:/etc/resolv.conf",
    "path:/etc/nsswitch.conf",
    "path:/etc/ssl/certs/ca-certificates.crt",
)
"""The resources read to connect to a host: name lookup and trusted certificates."""
PROCESSES = "processes"
"""All processes, which keep mounts busy. States that end some write an entry of it."""
ACCOUNTS = ("accounts", "path:/etc/passwd", "path:/etc/shadow", "path:/etc/group", "path:/etc/gshadow")
"""The files of all accounts. Programs rewrite them as a whole."""
_SIGNATURES = ("signature", "source_hash_sig")
_CHECKED = frozenset({*_SIGNATURES, "source_hash", "source_hashes", "signed_by_any", "signed_by_all"})
_PIP_VARIABLES = ("PIP_CONFIG_FILE", "PIP_CONSTRAINT", "PIP_REQUIREMENT", "PIP_FIND_LINKS", "PIP_CERT")
_USUAL_FOLDER = "0755:root:root"


def local(value: Any) -> str:
    """Return the local path in a text, a path or a ``file://`` URL; "" for any other text.

    A path below a home, ``~/x`` or ``~user/x``, stays unchanged: the compiler finds the home.
    """
    text = value.removeprefix("file://") if isinstance(value, str) else ""
    return os.path.normpath(text.replace("//", "/", 1)) if text.startswith(("/", "~")) else ""


def files(*values: Any, below: str = "") -> list[str]:
    """Return the local files among the given paths and URLs, lists of them and ``{URL: hash}``.

    With ``below="/**"`` each includes everything below it.
    """
    return [f"path:{path.rstrip('/') if below else path}{below}" for path in map(local, _texts(values)) if path]


def fetched(*values: Any) -> list[str]:
    """Return the resources read to get the content of the given paths and URLs."""
    if not any(values):
        return []
    read = files(*values)
    return [*read, *NETWORK] if any(is_remote(each) for each in _texts(values)) else read


def is_remote(value: Any) -> bool:
    """Return whether a text is a URL of another host."""
    scheme, separator, _ = value.partition("://") if isinstance(value, str) else ("", "", "")
    return bool(separator) and scheme not in {"file", "salt"}


def accounts(low: Mapping[str, Any], users: Iterable[str] = ("user",), groups: Iterable[str] = ("group",)) -> list[str]:
    """Return the users and groups that the given arguments name. A numeric ID depends on all accounts."""
    named = []
    for kind, keys in (("user", users), ("group", groups)):
        for key in keys:
            value = low.get(key)
            if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
                named.append(f"{kind}:{value}")
                if str(value).isdecimal() and str(value) != "0":
                    named.append("accounts")
    return named


def home(user: Any, path: str) -> str:
    """Return the name of a path below the home of a user, by default the user of this process."""
    return f"path:~{user or ''}/{path}"


def in_home(user: str, path: str) -> str:
    """Return a path in which, within the home of a user, only folders below that home can be made."""
    return path.replace(f"~{user}/", f"~{user}//", 1) if path.startswith(f"~{user}/") else path


def checks(low: Mapping[str, Any]) -> list[str]:
    """Return the resources read to verify a fetched file: hashes in files, signatures, keyrings."""
    if _CHECKED.isdisjoint(low):
        return []
    asked = [key for key in _SIGNATURES if low.get(key)]
    read = fetched(low.get("source_hash"), low.get("source_hashes"), *(low[key] for key in asked))
    if asked or low.get("signed_by_any") or low.get("signed_by_all"):
        read += files(low.get("keyring"))
        read += files(low.get("gnupghome"), below="/**") or ["path:~/.gnupg/**"]
    return read


def command(value: Any, low: Mapping[str, Any]) -> list[str]:
    """Return the resources read by a ``check_cmd``: its programs and files, and the folder of the checked copy."""
    if not isinstance(value, str):
        return []
    try:
        words = shlex.split(value)
    except ValueError:
        words = value.split()
    return [
        *files(low.get("tmp_dir")),
        *(f"path:{os.path.normpath(word)}" for word in words if word[:1] == "/"),
    ]


def named_for_pip(low: Mapping[str, Any]) -> list[str]:
    """Return the files named by options and variables of pip."""
    variables = low.get("env_vars")
    named = [variables.get(key) for key in _PIP_VARIABLES] if isinstance(variables, dict) else []
    extra = low.get("extra_args")
    for each in extra if isinstance(extra, list) else []:
        named += list(each.values()) if isinstance(each, dict) else str(each).replace("=", " ").split()
    return [str(each) for each in named if each]


def folder(path: str, mode: Any = None, user: Any = None, group: Any = None) -> str:
    """Return the name, for ``makes``, of the folder of ``path``, with the mode and the owners to set.

    Missing parents get the same; folders in ``path`` before two slashes are not made. The first state that makes it
    decides, so states that disagree keep their order.
    """
    marks = f"{str(mode).lstrip('0').rjust(4, '0') if mode else '0755'}:{user or 'root'}:{group or 'root'}"
    name = f"path:{os.path.dirname(path)}"
    return name if marks == _USUAL_FOLDER else f"{name}?{marks}"


def folder_mode(mode: Any) -> str | None:
    """Return the mode of folders made for a file of ``mode``: each class with any permission may also enter."""
    digits = str(mode or "")[-3:]
    if not digits.isdecimal():
        return str(mode) if mode else None
    return "".join(digit if digit == "0" else str(int(digit) | 1) for digit in digits)


def backups(path: str, low: Mapping[str, Any]) -> list[str]:
    """Return the place of the backups of replaced files with ``backup: minion``."""
    if str(low.get("backup") or _option("backup_mode") or "") not in {"minion", "both"}:
        return []
    return [f"path:{os.path.normpath(str(_option('cachedir') or '/'))}/file_backup{path}"]


def option(name: str, default: str) -> str:
    """Return the resource name of the file that an option of the configuration names."""
    return f"path:{os.path.normpath(str(_option(name) or default))}"


def _option(name: str) -> Any:
    try:
        return __opts__.get(name) or __pillar__.get(name)
    except LookupError:  # outside of any call, if only footprints are wanted
        return None


def _texts(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _texts(value)
        elif isinstance(value, dict):
            yield from (key for key in value if isinstance(key, str))
