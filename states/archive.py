"""``archive.extracted``: the content of a tar, zip or rar at its place."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from typing import Any
from urllib.parse import urlsplit

from asyncstate.dunders import __env__, __opts__, __salt__, __states__, check_cancelled
from asyncstate.errors import AsyncStateError, CommandExecutionError, RunCancelled

Row = dict[str, Any]

_FORMATS = ("tar", "rar", "zip")
_ENDINGS = {
    "tar": r"\.(tar|tar\.(gz|bz2|xz|lzma|zst)|tgz|tbz2?|txz|tlz|tzst)$",
    "zip": r"\.zip$",
    "rar": r"\.rar$",
}
_STRIP = re.compile(r"""--strip(?:-components)?(?:\s+|=)["']?(\d+)["']?""")


class _Refusal(Exception):
    """The state can't, or need not, go on; the text is its comment."""

    def __init__(self, comment: str, result: bool | None = False) -> None:
        super().__init__(comment)
        self.comment = comment
        self.result = result


def extracted(
    name: str,
    source: Any,
    source_hash: Any = None,
    source_hash_name: str | None = None,
    source_hash_update: bool = False,
    skip_files_list_verify: bool = False,
    skip_verify: bool = False,
    password: Any = None,
    options: Any = None,
    list_options: Any = None,
    force: bool = False,
    overwrite: bool = False,
    clean: bool = False,
    clean_parent: bool = False,
    user: Any = None,
    group: Any = None,
    if_missing: Any = None,
    trim_output: Any = False,
    use_cmd_unzip: bool | None = None,
    extract_perms: bool = True,
    enforce_toplevel: bool = True,
    enforce_ownership_on: str | None = None,
    archive_format: str | None = None,
    use_etag: bool = False,
    signature: Any = None,
    source_hash_sig: Any = None,
    signed_by_any: Any = None,
    signed_by_all: Any = None,
    keyring: str | None = None,
    gnupghome: str | None = None,
    sig_backend: str = "gpg",
    **kwargs: Any,
) -> Row:
    """Unpack an archive (``salt://``, a path, a URL) into directory ``name`` unless everything in it is there already.

    ``if_missing`` names a path that stands for the whole. ``enforce_toplevel`` refuses an archive without a single
    top-level directory. ``force`` removes paths of the wrong kind, ``clean`` the top-level paths, ``clean_parent`` the whole
    directory before unpacking; ``overwrite`` unpacks every time. ``user`` and ``group`` own what is unpacked. With
    ``source_hash_update`` a new hash unpacks it again. ``options`` are those of tar or unzip. No member may leave ``name``.
    """
    ret: Row = {"name": name, "result": False, "changes": {}, "comment": ""}
    keep_source = bool(kwargs.get("keep_source", kwargs.get("keep", True)))
    job = _Extraction(ret, name, user, group, if_missing, enforce_ownership_on)
    trust = {
        "source_hash_sig": source_hash_sig,
        "signed_by_any": signed_by_any,
        "signed_by_all": signed_by_all,
        "keyring": keyring,
        "gnupghome": gnupghome,
        "sig_backend": sig_backend,
    }
    try:
        if skip_files_list_verify and skip_verify:
            raise _Refusal('Only one of "skip_files_list_verify" and "skip_verify" can be set to True')
        job.check_paths()
        job.check_accounts()
        job.choose_source(source, source_hash)
        job.choose_format(archive_format, options, password, use_cmd_unzip)
        job.trim_output = _trim(trim_output)
        job.source_sum = _source_sum(job.source, source_hash, source_hash_name, trust)
        if source_hash_update and not source_hash:
            ret["warnings"] = ["The 'source_hash_update' argument is ignored when 'source_hash' is not also specified."]
        if skip_files_list_verify and job.is_known():
            raise _Refusal(
                f"Archive {job.source} existing source sum is the same as the expected one and skip_files_list_verify "
                "argument was set to True. Extraction is not needed",
                result=None if __opts__["test"] else True,
            )
        job.fetch(source_hash, source_hash_name, skip_verify=skip_verify, use_etag=use_etag, trust=trust)
        hash_changed = bool(source_hash and source_hash_update and not skip_verify) and job.remember()
        if skip_files_list_verify and source_hash:
            job.remember()
        job.read_contents(list_options)
        if enforce_toplevel:
            job.check_toplevel()
        if clean and clean_parent:
            raise _Refusal("Only one of 'clean' and 'clean_parent' can be set to True")
        needed, missing = job.compare(force=force, clean=clean, clean_parent=clean_parent)
        needed = needed or overwrite
        by_hash = hash_changed and not needed
        if needed or by_hash:
            job.verify(source_hash, skip_verify=skip_verify)
            if __opts__["test"]:
                raise _Refusal(job.foretelling(clean=clean, by_hash=by_hash, missing=missing), result=None)
            job.clear(clean=clean, clean_parent=clean_parent)
            job.unpack(extract_perms=extract_perms)
        job.own()
        job.conclude(unpacked=needed or by_hash, by_hash=by_hash, missing=missing)
    except _Refusal as refusal:
        ret["result"], ret["comment"] = refusal.result, refusal.comment
        return ret
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        ret["result"], ret["comment"] = False, str(error)
        return ret
    if not keep_source:
        job.forget()
    return ret


def _trim(trim_output: Any) -> int:
    """Return how many names the row lists, 0 for all."""
    if trim_output is True:
        return 100
    try:
        return int(trim_output or 0)
    except (TypeError, ValueError):
        raise _Refusal("Invalid value for trim_output, must be True/False or an integer") from None


def _source_sum(source: str, source_hash: Any, source_hash_name: str | None, trust: dict[str, Any]) -> dict[str, str]:
    if not source_hash:
        return {}
    found: dict[str, str] = __salt__["file.get_source_sum"](
        source=source, source_hash=source_hash, source_hash_name=source_hash_name, saltenv=str(__env__), **trust
    )
    return found


def _redacted(url: str) -> str:
    return re.sub(r"(https?)://.*@", r"\1://<redacted>@", url)


class _Extraction:
    """One archive on its way to its place."""

    def __init__(self, ret: Row, name: str, user: Any, group: Any, if_missing: Any, own_only: str | None) -> None:
        self.ret = ret
        self.name = name
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
        self.problems: dict[str, list[str]] = {"missing": [], "failed": []}

    def check_paths(self) -> None:
        """The destination and the other paths must be absolute; nothing to do if ``if_missing`` is there."""
        if not self.name:
            raise _Refusal("Name of the directory path needs to be specified")
        if not os.path.isabs(self.name):
            raise _Refusal(f"{self.name} is not an absolute path")
        self.name = self.name.rstrip("/")
        if os.path.isfile(self.name):
            raise _Refusal(f"{self.name} exists and is not a directory")
        self.name += "/"
        if self.if_missing is not None and not os.path.isabs(str(self.if_missing)):
            raise _Refusal("Value for 'if_missing' is not an absolute path")
        if self.own_only is not None:
            if not os.path.isabs(self.own_only):
                raise _Refusal("Value for 'enforce_ownership_on' is not an absolute path")
            if os.path.relpath(self.own_only, self.name).startswith(".."):
                raise _Refusal(f"Value for 'enforce_ownership_on' must be within {self.name}")
        if self.if_missing is not None and os.path.exists(self.if_missing):
            raise _Refusal(f"Path {self.if_missing} exists", result=True)

    def check_accounts(self) -> None:
        """Look up who is to own the files."""
        for kind, given, function in (
            ("User", self.user, "file.user_to_uid"),
            ("Group", self.group, "file.group_to_gid"),
        ):
            if not given:
                continue
            number = __salt__[function](given)
            if number == "":
                raise _Refusal(f"{kind} {given} does not exist")
            if kind == "User":
                self.uid = number
            else:
                self.gid = number

    def choose_source(self, source: Any, source_hash: Any) -> None:
        """Take the first source that exists."""
        chosen = __salt__["file.source_list"](source, source_hash, str(__env__))[0]
        if not chosen:
            raise _Refusal(f'Invalid source "{chosen}"')
        parts = urlsplit(chosen)
        self.is_local = parts.scheme in {"", "file"}
        self.source = (
            os.path.realpath(os.path.expanduser(parts.path if parts.scheme else chosen)) if self.is_local else chosen
        )
        if self.is_local and not os.path.isfile(self.source):
            raise _Refusal(f"Source file '{self.source}' does not exist")

    def choose_format(self, given: str | None, options: Any, password: Any, use_cmd_unzip: bool | None) -> None:
        """Settle the format, by the name if it is not given, and which arguments it allows."""
        path = (urlsplit(self.source).path or self.source).lower()
        self.format = (
            str(given).lower()
            if given
            else next((kind for kind, ending in _ENDINGS.items() if re.search(ending, path)), "")
        )
        if not self.format:
            raise _Refusal(
                "Could not guess archive_format from the value of the 'source' argument. Please set this "
                f"archive_format to one of the following: {', '.join(_FORMATS)}"
            )
        if self.format not in _FORMATS:
            raise _Refusal(
                f"Invalid archive_format '{self.format}'. Either set it to a supported value ({', '.join(_FORMATS)}) or "
                "remove this argument and the archive format will be guessed based on file extension."
            )
        self.options = "" if options is None else str(options)
        self.password = password
        if password and self.format != "zip":
            raise _Refusal("The 'password' argument is only supported for zip archives")
        if self.options and self.format == "rar":
            raise _Refusal("The 'options' argument is only compatible with the following archive formats: tar, zip")
        if self.format == "tar" and self.options:
            match = _STRIP.search(self.options)
            self.strip = int(match[1]) if match else None
        if self.format == "zip":
            if self.options and use_cmd_unzip is False:
                raise _Refusal(
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
        """Get a local copy of the archive."""
        if self.is_local:
            self.cached = self.source
            return
        if __opts__["test"]:
            raise _Refusal(
                f"Archive {_redacted(self.source)} would be cached (if necessary) and checked to discover if "
                "extraction is needed",
                result=None,
            )
        row = __states__["file.cached"](
            self.source,
            source_hash=source_hash,
            source_hash_name=source_hash_name,
            skip_verify=skip_verify,
            saltenv=str(__env__),
            use_etag=use_etag,
            **trust,
        )
        if not row["result"]:
            raise _Refusal(row["comment"])
        self.cached = (
            __salt__["cp.cache_file"](self.source, str(__env__))
            if self.source.startswith("salt://")
            else (__salt__["cp.is_cached"](self.source, saltenv=str(__env__)))
        )
        if not self.cached:
            raise _Refusal(f"Failed to cache {_redacted(self.source)}, check minion log for more information")

    def _sum_file(self) -> str:
        """Return where the hash of the archive last unpacked is kept."""
        name = re.sub(r"[^\w.-]+", "_", self.source).strip("_")
        return os.path.join(
            str(__opts__.get("cachedir") or "/var/cache/asyncstate"), "archive_hash", f"{name[-180:]}.hash"
        )

    def _last_sum(self) -> str:
        try:
            with open(self._sum_file(), encoding="ascii") as stream:
                return stream.read().strip()
        except OSError:
            return ""

    def is_known(self) -> bool:
        """Tell whether the archive unpacked last had the hash this one must have."""
        wanted = self.source_sum
        return bool(wanted) and self._last_sum() == f"{wanted['hash_type']}:{wanted['hsum']}"

    def remember(self) -> bool:
        """Keep the hash for the next run. Tell whether there was another one."""
        before = self._last_sum()
        now = f"{self.source_sum['hash_type']}:{self.source_sum['hsum']}"
        if before != now and not __opts__["test"]:
            path = self._sum_file()
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            __salt__["file.manage_file"](
                path, "", None, None, {}, None, None, "0600", None, str(__env__), "", contents=f"{now}\n"
            )
        return bool(before) and before != now

    def read_contents(self, list_options: Any) -> None:
        """List the archive."""
        if self.format == "zip" and not self.password:
            try:
                encrypted = __salt__["archive.is_encrypted"](self.cached, clean=False, saltenv=str(__env__))
            except CommandExecutionError:
                encrypted = False  # no zip at all: listing it says so
            if encrypted:
                raise _Refusal(
                    f"Archive {_redacted(self.source)} is password-protected, but no password was specified. Please "
                    "set the 'password' argument."
                )
        try:
            self.contents = __salt__["archive.list"](
                self.cached,
                archive_format=self.format,
                options=list_options,
                strip_components=self.strip,
                clean=False,
                verbose=True,
            )
        except CommandExecutionError as error:
            raise _Refusal(self._unlisted(str(error))) from None

    def _unlisted(self, message: str) -> str:
        hints = [] if self.if_missing else ["'if_missing' must be set"]
        if not self.own_only and (self.user or self.group):
            hints.append("Ownership cannot be managed without setting 'enforce_ownership_on'.")
        if not hints:
            return message
        intro = (
            "If the source archive is a tar archive compressed using a compression type not natively supported by the "
            "tar command, then setting the 'list_options' argument may allow the contents to be listed. Otherwise, if "
            "Salt is unable to determine the files/directories in the archive, the following workaround(s) would need "
            "to be used for this state to proceed"
            if self.format == "tar"
            else "The following workarounds must be used for this state to proceed"
        )
        listed = "".join(f"\n- {hint}" for hint in hints)
        return f"{message}\n\n{intro} (assuming the source file is a valid {self.format} archive):\n{listed}"

    def check_toplevel(self) -> None:
        """Refuse an archive that spills several things into the destination."""
        if len(self.contents["top_level_dirs"]) > 1 or self.contents["top_level_files"]:
            raise _Refusal(
                "Archive does not have a single top-level directory. To allow this archive to be extracted, set "
                f"'enforce_toplevel' to False. To avoid a '{self.format}-bomb' it may also be advisable to set a "
                "top-level directory by adding it to the 'name' value (for example, setting 'name' to "
                f"{os.path.join(self.name, 'some_dir')} instead of {self.name})."
            )

    def compare(self, *, force: bool, clean: bool, clean_parent: bool) -> tuple[bool, bool]:
        """Return whether it must be unpacked, and whether because something is missing."""
        missing, wrong = self._differing()
        if not wrong:
            return missing, missing
        listed = "\n\n" + "\n".join(f"- {path}" for path in wrong)
        text = (
            f"The below paths (relative to {self.name}) exist, but are the incorrect type (file instead of directory, "
            "symlink instead of file, etc.)."
        )
        if __opts__["test"] and clean:
            raise _Refusal(
                f"{text} Since the 'clean' option is enabled, the destination paths would be cleared and the archive "
                f"would be extracted.{listed}",
                result=None,
            )
        if __opts__["test"] and clean_parent:
            raise _Refusal(
                f"{text} Since the 'clean_parent' option is enabled, the destination parent directory would be removed "
                "first and then re-created and the archive would be extracted",
                result=None,
            )
        if clean:
            return missing, missing
        if not force:
            raise _Refusal(
                f"{text} To proceed with extraction, set 'force' to True. Note that this will remove these paths "
                f"before extracting.{listed}"
            )
        if not __opts__["test"]:
            for path in wrong:
                full = os.path.join(self.name, path)
                __salt__["file.remove"](full.rstrip("/"))
                self.ret["changes"].setdefault("removed", []).append(full)
        return True, missing

    def _differing(self) -> tuple[bool, list[str]]:
        """Return whether any path of the archive is missing, and those that are of another kind."""
        missing = False
        wrong = []
        for paths, is_right in (
            (self.contents["dirs"], stat.S_ISDIR),
            (self.contents["files"], _is_file),
            (self.contents["links"], stat.S_ISLNK),
        ):
            for path in paths:
                try:
                    if not is_right(os.lstat(os.path.join(self.name, path).rstrip("/")).st_mode):
                        wrong.append(path)
                except FileNotFoundError:
                    missing = True
                except NotADirectoryError:
                    continue  # a file stands where its directory should be, which is reported
        return missing, wrong

    def verify(self, source_hash: Any, *, skip_verify: bool) -> None:
        """Compare a local archive with its hash; what was fetched has been compared."""
        if not (self.is_local and source_hash) or skip_verify:
            return
        if __salt__["file.get_hash"](self.source, self.source_sum["hash_type"]) != self.source_sum["hsum"]:
            raise _Refusal(f"{self.source} does not match the desired source_hash {self.source_sum['hsum']}")

    def foretelling(self, *, clean: bool, by_hash: bool, missing: bool) -> str:
        """Return the comment of a dry run that would unpack."""
        text = f"Archive {_redacted(self.source)} would be extracted to {self.name}"
        return text + (", after cleaning destination path(s)" if clean else "") + _reason(by_hash, missing)

    def clear(self, *, clean: bool, clean_parent: bool) -> None:
        """Remove what must go before unpacking."""
        if clean_parent and os.path.lexists(self.name.rstrip("/")):
            __salt__["file.remove"](self.name.rstrip("/"))
            self.ret["changes"].setdefault("removed", f"Directory {self.name} was removed prior to the extraction")
        if clean:
            for path in [*self.contents["top_level_dirs"], *self.contents["top_level_files"]]:
                full = os.path.join(self.name, path)
                if __salt__["file.remove"](full.rstrip("/")):
                    self.ret["changes"].setdefault("removed", []).append(full)

    def unpack(self, *, extract_perms: bool) -> None:
        """Unpack. A destination made for it is removed again if nothing could be unpacked."""
        check_cancelled()
        if not os.path.isdir(self.name):
            made = __states__["file.directory"](self.name, user=self.user, makedirs=True)
            if not made["result"]:
                raise _Refusal(made["comment"])
            self.made_directory = True
        try:
            if self.format == "zip":
                self.files = self._unzip(extract_perms=extract_perms)
            elif self.format == "rar":
                self.files = __salt__["archive.unrar"](self.cached, self.name, trim_output=self.trim_output)
            elif self.options:
                self.files = self._run_tar()
            else:
                self.files = __salt__["archive.extract_tar"](self.cached, self.name)
        except AsyncStateError:
            if self.made_directory and not os.listdir(self.name):
                os.rmdir(self.name)
            raise
        if self.format == "tar" and self.trim_output:
            self.files = self.files[: self.trim_output]

    def _unzip(self, *, extract_perms: bool) -> list[str]:
        common = {"options": self.options or None, "trim_output": self.trim_output, "password": self.password}
        if self.use_unzip:
            done: list[str] = __salt__["archive.cmd_unzip"](self.cached, self.name, **common)
        else:
            done = __salt__["archive.unzip"](self.cached, self.name, extract_perms=extract_perms, **common)
        return done

    def _run_tar(self) -> list[str]:
        if not shutil.which("tar"):
            raise _Refusal("tar command not available, it might not be installed on minion")
        short, long = "xv", []
        for position, word in enumerate(w for w in shlex.split(self.options) if w not in {"v", "-v", "--verbose"}):
            if word.startswith("-") or position > 0:
                long.append(word)
            else:
                short += word.replace("x", "").replace("f", "")
        answer = __salt__["cmd.run_all"](["tar", short, *long, "-f", self.cached], cwd=self.name, python_shell=False)
        if answer["retcode"] != 0:
            self.ret["changes"] = answer
            raise _Refusal("")
        files: list[str] = answer["stdout"].splitlines()
        return files or ["no tar output so far"]

    def own(self) -> None:
        """Give what was unpacked, or all of it that is there, to ``user`` and ``group``."""
        kinds = [kind for kind, given in (("user", self.user), ("group", self.group)) if given]
        if not kinds:
            return
        if self.own_only:
            dirs, others = ([self.own_only], []) if os.path.isdir(self.own_only) else ([], [self.own_only])
        else:
            dirs = self.contents["top_level_dirs"]
            others = self.contents["top_level_files"] + self.contents["top_level_links"]
        for path in dirs:
            full = os.path.join(self.name, path)
            if not os.path.isdir(full):
                if not __opts__["test"]:
                    self.problems["missing"].append(full)
                continue
            row = __states__["file.directory"](full, user=self.user, group=self.group, recurse=kinds)
            if row["changes"]:
                self.ret["changes"]["updated ownership"] = True
            if row["result"] is False:
                self.problems["failed"].append(full)
        for path in others:
            self._own_one(os.path.join(self.name, path))

    def _own_one(self, path: str) -> None:
        try:
            found = os.lstat(path)
        except OSError:
            if not __opts__["test"]:
                self.problems["missing"].append(path)
                self.problems["failed"].append(path)
            return
        if self.uid in {-1, found.st_uid} and self.gid in {-1, found.st_gid}:
            return
        if not __opts__["test"]:
            try:
                os.lchown(path, self.uid, self.gid)
            except OSError:
                self.problems["failed"].append(path)
                return
        self.ret["changes"]["updated ownership"] = True

    def conclude(self, *, unpacked: bool, by_hash: bool, missing: bool) -> None:
        """Say what was done."""
        ret = self.ret
        ret["result"] = True
        if unpacked and self.files:
            if self.made_directory:
                ret["changes"]["directories_created"] = [self.name]
            ret["changes"]["extracted_files"] = self.files
            ret["comment"] = f"{_redacted(self.source)} extracted to {self.name}{_reason(by_hash, missing)}"
            if self.trim_output:
                ret["comment"] += f". Output was trimmed to {self.trim_output} number of lines"
        elif unpacked:
            ret["result"] = False
            ret["comment"] = f"No files were extracted from {_redacted(self.source)}"
        else:
            ret["comment"] = "All files in archive are already present"
            if __opts__["test"] and ret["changes"].get("updated ownership"):
                ret["result"] = None
                ret["comment"] += ". Ownership would be updated on one or more files/directories."
        for kind, text in (
            ("missing", "the following paths were missing:\n"),
            ("failed", "Salt was unable to change ownership on the following paths:\n"),
        ):
            if self.problems[kind]:
                if kind == "failed" or not self.if_missing:
                    ret["result"] = False
                listed = "".join(f"\n- {path}" for path in self.problems[kind])
                ret["comment"] += f"\n\nWhile trying to enforce user/group ownership, {text}{listed}"

    def forget(self) -> None:
        """Drop the fetched copy."""
        if not self.is_local:
            row = __states__["file.not_cached"](self.source, saltenv=str(__env__))
            if not row["result"]:
                self.ret.setdefault("warnings", []).append(row["comment"])


def _is_file(mode: int) -> bool:
    return not stat.S_ISLNK(mode) and not stat.S_ISDIR(mode)


def _reason(by_hash: bool, missing: bool) -> str:
    if by_hash:
        return ", due to source_hash update"
    return ", due to absence of one or more files/dirs" if missing else ""


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return what an extraction reads and writes: its whole target tree, its owner, a local source."""
    path = os.path.normpath(str(low.get("name", "")))
    reads = [f"path:{os.path.dirname(path)}"]
    sources = low.get("source")
    for source in sources if isinstance(sources, list) else [sources]:
        if isinstance(source, str) and os.path.isabs(source):
            reads.append(f"path:{os.path.normpath(source)}")
    if low.get("if_missing"):
        reads.append(f"path:{low['if_missing']}")
    reads += [f"{kind}:{low[kind]}" for kind in ("user", "group") if isinstance(low.get(kind), str)]
    return {"reads": reads, "writes": [f"path:{path}", f"path:{path}/**"]}
