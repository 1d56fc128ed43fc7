"""The source and the destination of an archive, checked before anything is fetched or unpacked."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any, NoReturn
from urllib.parse import urlsplit

from asyncstate import filesystem
from asyncstate.dunders import __env__, __opts__, __salt__, __states__, is_dry_run
from asyncstate.errors import PathRefused

_FORMATS = ("tar", "rar", "zip")
_ENDINGS = {
    "tar": r"\.(tar|tar\.(gz|bz2|xz|lzma|zst)|tgz|tbz2?|txz|tlz|tzst)$",
    "zip": r"\.zip$",
    "rar": r"\.rar$",
}
_STRIP = re.compile(r"""--strip(?:-components)?(?:\s+|=)["']?(\d+)["']?""")


class Refusal(Exception):
    """The state ends early; the message is its comment. The row is named after a ``source`` that cannot be had."""

    def __init__(self, comment: str, result: bool | None = False, *, source: str | None = None) -> None:
        super().__init__(comment)
        self.comment = comment
        self.result = result
        self.source = source


def refuse(comment: str, result: bool | None = False) -> NoReturn:
    """End the state with this comment and result."""
    raise Refusal(comment, result)


def redacted(url: str) -> str:
    """Return a URL without its password."""
    return re.sub(r"(https?)://.*@", r"\1://<redacted>@", url)


class ArchiveSource:
    """One archive: its source, its destination, and the hash of its last unpacking."""

    def __init__(self, name: str, user: Any, group: Any, if_missing: Any, own_only: str | None) -> None:
        self.name = name
        self.changes: dict[str, Any] = {}
        self.user = user
        self.group = group
        self.if_missing = if_missing
        self.own_only = own_only
        self.uid = self.gid = -1
        self.source = ""
        self.cached = ""
        self.is_local = False
        self.format = ""
        self.options = ""
        self.strip: int | None = None
        self.password: Any = None
        self.use_unzip = False
        self.trim_output = 0
        self.source_sum: dict[str, str] = {}
        self.contents: dict[str, list[str]] = {}
        self.files: list[str] = []
        self.made_directory = False
        self.differing: list[str] = []
        self.clearing = ""
        self.problems: dict[str, list[str]] = {"missing": [], "failed": []}

    def check_paths(self) -> None:
        """Refuse paths that are not absolute; end the state if ``if_missing`` exists."""
        if not self.name:
            raise Refusal("Name of the directory path needs to be specified")
        if not os.path.isabs(self.name):
            raise Refusal(f"{self.name} is not an absolute path")
        while self.name.endswith(("/", "/.")):
            self.name = self.name.removesuffix(".").rstrip("/")
        if filesystem.is_file(self.name):
            raise Refusal(f"{self.name} exists and is not a directory")
        self.name += "/"
        if self.if_missing is not None and not os.path.isabs(str(self.if_missing)):
            raise Refusal("Value for 'if_missing' is not an absolute path")
        if self.own_only is not None:
            if not os.path.isabs(self.own_only):
                raise Refusal("Value for 'enforce_ownership_on' is not an absolute path")
            if os.path.relpath(self.own_only, self.name).startswith(".."):
                raise Refusal(f"Value for 'enforce_ownership_on' must be within {self.name}")
        if self.if_missing is not None and filesystem.exists(self.if_missing):
            raise Refusal(f"Path {self.if_missing} exists", result=True)

    def check_accounts(self) -> None:
        """Look up the owner and group of the files."""
        for kind, given, function in (
            ("User", self.user, "file.user_to_uid"),
            ("Group", self.group, "file.group_to_gid"),
        ):
            if not given:
                continue
            number = __salt__[function](given)
            if number == "":
                raise Refusal(f"{kind} {given} does not exist")
            if kind == "User":
                self.uid = number
            else:
                self.gid = number

    def choose_source(self, source: Any, source_hash: Any) -> None:
        """Choose the first source that exists."""
        chosen = __salt__["file.source_list"](source, source_hash, str(__env__))[0]
        if not chosen:
            raise Refusal(f'Invalid source "{chosen}"')
        parts = urlsplit(chosen)
        self.is_local = parts.scheme in {"", "file"}
        local = os.path.expanduser(parts.path if parts.scheme else chosen)
        # The resolved path is for messages only. A link may change at any time, so the given path is read.
        self.source = os.path.realpath(local) if self.is_local else chosen
        self.cached = local if self.is_local else ""
        if self.is_local and not filesystem.is_file(local):
            raise Refusal(f"Source file '{self.source}' does not exist")

    def choose_format(self, given: str | None, options: Any, password: Any, use_cmd_unzip: bool | None) -> None:
        """Determine the format, from the name if it is not given, and refuse arguments that it does not allow."""
        path = (urlsplit(self.source).path or self.source).lower()
        self.format = (
            str(given).lower()
            if given
            else next((kind for kind, ending in _ENDINGS.items() if re.search(ending, path)), "")
        )
        if not self.format:
            raise Refusal(
                "Could not guess archive_format from the value of the 'source' argument. Please set this "
                f"archive_format to one of the following: {', '.join(_FORMATS)}"
            )
        if self.format not in _FORMATS:
            raise Refusal(
                f"Invalid archive_format '{self.format}'. Either set it to a supported value ({', '.join(_FORMATS)}) "
                "or remove this argument and the archive format will be guessed based on file extension."
            )
        self.options = "" if options is None else str(options)
        self.password = password
        if password and self.format != "zip":
            raise Refusal("The 'password' argument is only supported for zip archives")
        if self.options and self.format == "rar":
            raise Refusal("The 'options' argument is only compatible with the following archive formats: tar, zip")
        if self.format == "tar" and self.options:
            match = _STRIP.search(self.options)
            self.strip = int(match[1]) if match else None
        if self.format == "zip":
            if self.options and use_cmd_unzip is False:
                raise Refusal(
                    "'use_cmd_unzip' cannot be set to False if CLI options are being specified (via the 'options' "
                    "argument). Either remove 'use_cmd_unzip', or set it to True."
                )
            self.use_unzip = bool(self.options) or bool(use_cmd_unzip)

    def fetch(
        self,
        source_hash: Any,
        source_hash_name: str | None,
        *,
        skip_verify: bool,
        use_etag: bool,
        trust: dict[str, Any],
    ) -> None:
        """Get a local copy of the archive. A dry run uses an existing copy, and downloads nothing."""
        if self.is_local:
            return
        row = __states__["file.cached"](
            self.source,
            source_hash=source_hash,
            source_hash_name=source_hash_name,
            skip_verify=skip_verify,
            saltenv=str(__env__),
            use_etag=use_etag,
            **trust,
        )
        if row["result"] is None:
            raise Refusal(
                f"Archive {redacted(self.source)} would be cached (if necessary) and checked to discover if "
                "extraction is needed",
                result=None,
            )
        if not row["result"]:
            raise Refusal(row["comment"], source=redacted(self.source))
        self.cached = (
            __salt__["cp.cache_file"](self.source, str(__env__))
            if self.source.startswith("salt://")
            else (__salt__["cp.is_cached"](self.source, saltenv=str(__env__)))
        )
        if not self.cached:
            raise Refusal(f"Failed to cache {redacted(self.source)}, check minion log for more information")

    def _sum_file(self) -> str:
        """Return the path of the file with the hash of the last archive unpacked here from this source."""
        key = hashlib.sha256(f"{self.name}\0{self.source}".encode()).hexdigest()
        return os.path.join(str(__opts__.get("cachedir") or "/var/cache/asyncstate"), "archive_hash", key)

    def _last_sum(self) -> str:
        try:
            return filesystem.read_bytes(self._sum_file()).decode("ascii").strip()
        except (OSError, PathRefused, UnicodeDecodeError):
            return ""

    def _wanted_sum(self) -> str:
        return "{hash_type}:{hsum}".format_map(self.source_sum) if self.source_sum else ""

    def is_known(self) -> bool:
        """Return whether the archive last unpacked here had the wanted hash."""
        return bool(self.source_sum) and self._last_sum() == self._wanted_sum()

    def has_new_hash(self) -> bool:
        """Return whether an archive with another hash was unpacked here before."""
        return self._last_sum() not in {"", self._wanted_sum()}

    def remember(self) -> None:
        """Store the hash for the next run."""
        if is_dry_run() or self.is_known():
            return
        path = self._sum_file()
        filesystem.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        __salt__["file.manage_file"](
            path, "", None, None, {}, None, None, "0600", None, str(__env__), "", contents=f"{self._wanted_sum()}\n"
        )
