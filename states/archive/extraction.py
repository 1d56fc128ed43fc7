"""Comparing an archive with the target directory, unpacking it, and setting the owner."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem, residue
from asyncstate.dunders import Row, __env__, __salt__, __states__, check_cancelled, is_dry_run, make_row
from asyncstate.errors import AsyncStateError, CommandExecutionError

from .source import ArchiveSource, Refusal, redacted

if TYPE_CHECKING:
    from collections.abc import Callable

_KEEPING_MODES = ("--same-permissions", "--preserve-permissions")
_EMPTY = "/dev/null"
"""No archive, by which a program shows whether it knows its options."""
_ELSEWHERE = ("--directory", "--absolute-names", "--to-command")


class Extraction(ArchiveSource):
    """One archive and its target directory: comparing, unpacking, setting the owner."""

    def read_contents(self, list_options: Any) -> None:
        """List the archive."""
        if self.format == "zip" and not self.password:
            try:
                encrypted = __salt__["archive.is_encrypted"](self.cached, clean=False, saltenv=str(__env__))
            except CommandExecutionError:
                encrypted = False  # no zip archive: listing it reports that
            if encrypted:
                raise Refusal(
                    f"Archive {redacted(self.source)} is password-protected, but no password was specified. Please "
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
            raise Refusal(self._unlisted(str(error))) from None
        for kind in ("dirs", "files", "links"):
            for path in self.contents[kind]:
                if path.partition("/")[0] == "..":
                    source = redacted(self.source)
                    raise Refusal(f"Refusing to unpack {source}: {path!r} would be outside the destination")

    def _unlisted(self, message: str) -> str:
        message = str(CommandExecutionError(message, info={"archive location": self.cached}))
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
        """Refuse an archive with more than one path at its top level."""
        if len(self.contents["top_level_dirs"]) > 1 or self.contents["top_level_files"]:
            raise Refusal(
                "Archive does not have a single top-level directory. To allow this archive to be extracted, set "
                f"'enforce_toplevel' to False. To avoid a '{self.format}-bomb' it may also be advisable to set a "
                "top-level directory by adding it to the 'name' value (for example, setting 'name' to "
                f"{os.path.join(self.name, 'some_dir')} instead of {self.name})."
            )

    def compare(self, *, force: bool, clean: bool, clean_parent: bool) -> tuple[bool, bool]:
        """Return whether to unpack the archive, and whether the reason is a missing path."""
        missing, wrong = self._differing()
        if not wrong:
            return missing, missing
        listed = "\n\n" + "\n".join(f"- {path}" for path in wrong)
        text = (
            f"The below paths (relative to {self.name}) exist, but are the incorrect type (file instead of directory, "
            "symlink instead of file, etc.)."
        )
        if clean:
            self.clearing = (
                f"{text} Since the 'clean' option is enabled, the destination paths would be cleared and the archive "
                f"would be extracted.{listed}"
            )
        elif clean_parent:
            self.clearing = (
                f"{text} Since the 'clean_parent' option is enabled, the destination parent directory would be removed "
                "first and then re-created and the archive would be extracted"
            )
        if clean or clean_parent:
            return True, missing
        if not force:
            raise Refusal(
                f"{text} To proceed with extraction, set 'force' to True. Note that this will remove these paths "
                f"before extracting.{listed}"
            )
        self.differing = [os.path.join(self.name, path) for path in wrong]
        return True, missing

    def _differing(self) -> tuple[bool, list[str]]:
        """Return whether any path of the archive is missing, and the existing paths of another kind."""
        missing = False
        wrong = []
        for paths, is_right in (
            (self.contents["dirs"], stat.S_ISDIR),
            (self.contents["files"], _is_file),
            (self.contents["links"], stat.S_ISLNK),
        ):
            for path in paths:
                try:
                    if not is_right(filesystem.lstat(os.path.join(self.name, path).rstrip("/")).st_mode):
                        wrong.append(path)
                except FileNotFoundError:
                    missing = True
                except NotADirectoryError:
                    continue  # its directory is a file, which is reported as such
        return missing, wrong

    def verify(self, source_hash: Any, *, skip_verify: bool) -> None:
        """Compare a local archive with its hash; fetching has already compared a remote one."""
        if not (self.is_local and source_hash) or skip_verify:
            return
        if __salt__["file.get_hash"](self.cached, self.source_sum["hash_type"]) != self.source_sum["hsum"]:
            raise Refusal(f"{self.source} does not match the desired source_hash {self.source_sum['hsum']}")

    def verify_signature(self, signature: Any, trust: dict[str, Any]) -> None:
        """Verify the signature of the archive: True means one within it."""
        given = {key: value for key, value in trust.items() if key != "source_hash_sig"}
        detached = None if signature is True else signature
        try:
            __salt__["file.verify_signature"](self.cached, detached, **given, saltenv=str(__env__))
        except CommandExecutionError as error:
            raise Refusal(f"Failed verifying the source file's signature: {error}") from error

    def announcement(self, *, clean: bool, by_hash: bool, missing: bool) -> str:
        """Return the comment of a dry run if the archive would be unpacked."""
        if self.clearing:
            return self.clearing
        text = f"Archive {redacted(self.source)} would be extracted to {self.name}"
        return text + (", after cleaning destination path(s)" if clean else "") + _reason(by_hash, missing)

    def check_members(self, *, clean: bool, clean_parent: bool) -> None:
        """Refuse members that unpacking would refuse; those unpacked by a program are not known beforehand."""
        removed = [self.name] if clean_parent else [*self.differing, *(self._topmost() if clean else ())]
        for path in removed if filesystem.foretells() else ():
            if filesystem.lexists(path.rstrip("/")):
                filesystem.require_removable(path.rstrip("/"))
        if (self.format == "tar" and not self.options) or (self.format == "zip" and not self.use_unzip):
            __salt__["archive.check_members"](
                self.cached, self.name, self.format, password=self.password, removed=removed
            )
        if not self.own_only and (refused := filesystem.refused_owners(self.uid, self.gid)):
            wanted = {"user": self.user, "group": self.group}
            raise Refusal("; ".join(f"Failed to change {kind} to {wanted[kind]}" for kind in refused))

    def remove_differing(self) -> None:
        """Remove the paths of another kind that ``force`` allows to remove."""
        for path in self.differing:
            if not is_dry_run():
                __salt__["file.remove"](path.rstrip("/"))
            self.changes.setdefault("removed", []).append(path)

    def clear(self, *, clean: bool, clean_parent: bool) -> None:
        """Remove existing paths before unpacking, according to the arguments."""
        if clean_parent and filesystem.lexists(self.name.rstrip("/")):
            __salt__["file.remove"](self.name.rstrip("/"))
            self.changes.setdefault("removed", f"Directory {self.name} was removed prior to the extraction")
        for full in self._topmost() if clean else ():
            if __salt__["file.remove"](full.rstrip("/")):
                self.changes.setdefault("removed", []).append(full)

    def _topmost(self) -> list[str]:
        """Return the topmost paths of the archive, which ``clean`` removes; of an archive of ``.``, what it has there.

        Links are not among them.
        """
        paths = [*self.contents["top_level_dirs"], *self.contents["top_level_files"]]
        if "./" in paths:
            names = (name for kind in ("dirs", "files") for name in self.contents[kind])
            below = [name[2:].lstrip("/") for name in names if name.startswith("./")]
            paths += dict.fromkeys("".join(name.partition("/")[:2]) for name in below if name)
        inner = os.path.join(os.path.normpath(self.name), "")
        found = [os.path.join(self.name, path) for path in paths]
        return [path for path in found if os.path.normpath(path).startswith(inner)]

    def make_folder(self) -> None:
        """Make the destination; in a dry run, refuse one that cannot be made."""
        if filesystem.is_directory(self.name):
            paths = (path.rstrip("/") for path in self._topmost())
            new = next((path for path in paths if not filesystem.is_directory(path)), None)
            if new is not None:
                filesystem.room_for(new)
        else:
            made = __states__["file.directory"](self.name, user=self.user, makedirs=True)
            if made["result"] is False:
                raise Refusal(made["comment"])
            self.made_directory = True

    def unpack(self, *, extract_perms: bool) -> None:
        """Unpack the archive. A new destination is removed again if nothing could be unpacked."""
        check_cancelled()
        self.make_folder()
        try:
            if self.format == "zip":
                self.files = self._unzip(extract_perms=extract_perms)
            elif self.format == "rar":
                self.files = self._staged(
                    lambda folder: __salt__["archive.unrar"](self.cached, folder, trim_output=self.trim_output or False)
                )
            elif self.options:
                self.files = self._staged(self._run_tar)
            else:
                self.files = __salt__["archive.extract_tar"](self.cached, self.name, uid=self.uid, gid=self.gid)
        except (AsyncStateError, Refusal):
            if self.made_directory and not filesystem.listdir(self.name):
                filesystem.rmdir(self.name)
            raise
        if self.format == "tar" and self.trim_output:
            self.files = self.files[: self.trim_output]

    def _unzip(self, *, extract_perms: bool) -> list[str]:
        common = {"options": self.options or None, "trim_output": self.trim_output or False, "password": self.password}
        if self.use_unzip:
            done: list[str] = self._staged(lambda folder: __salt__["archive.cmd_unzip"](self.cached, folder, **common))
        else:
            done = __salt__["archive.unzip"](self.cached, self.name, extract_perms=extract_perms, **common)
        return done

    def _staged(self, run: Callable[[str], list[str]]) -> list[str]:
        """Let a program unpack into a private directory, check the result, and copy it to the destination.

        A program works with paths, which other users may replace meanwhile, and makes anything that an archive has.
        Devices and pipes are refused; set-id bits are dropped, unless the options ask for the archive's permissions.
        """
        with residue.temporary_folder(prefix="asyncstate-archive-") as folder:
            files = [line.replace(folder, self.name.rstrip("/")) for line in run(folder)]
            asked = any(word in _KEEPING_MODES or _is_short(word, "p") for word in shlex.split(self.options or ""))
            filesystem.copy_tree(folder, self.name, keep_owner=True, keep_set_id=asked)
        return files

    def check_options(self) -> None:
        """Refuse options unknown to tar or unzip, before anything is removed or made."""
        if not self.options or not filesystem.judges():
            return
        if self.format == "tar":
            self._tar(_EMPTY, "--show-defaults")
        elif self.format == "zip":
            try:
                __salt__["archive.cmd_unzip"](_EMPTY, self.name, options=self.options)
            except CommandExecutionError as error:
                if _EMPTY not in str(error):  # it did not come to look for members there
                    raise

    def _run_tar(self, folder: str) -> list[str]:
        files: list[str] = self._tar(self.cached, cwd=folder).splitlines()
        return files or ["no tar output so far"]

    def _tar(self, archive: str, *more: str, cwd: str | None = None) -> str:
        if not shutil.which("tar"):
            raise Refusal("tar command not available, it might not be installed on minion")
        short, long = "xv", []
        for position, word in enumerate(w for w in shlex.split(self.options) if w not in {"v", "-v", "--verbose"}):
            if word.startswith("-") or position > 0:
                if word.startswith(_ELSEWHERE) or _is_short(word, "CP"):
                    raise Refusal(f"The option {word} of tar would unpack elsewhere than below {self.name}")
                long.append(word)
            else:
                short += word.replace("x", "").replace("f", "")
        command = ["tar", short, *long, "-f", archive, *more]
        answer = __salt__["cmd.run_all"](command, cwd=cwd, python_shell=False, ignore_retcode=bool(more))
        # Only GNU tar can check options without reading an archive.
        if answer["retcode"] != 0 and not any(word in answer["stderr"] for word in more):
            self.changes.update(answer)
            raise Refusal("")
        return str(answer["stdout"])

    def own(self) -> None:
        """Set ``user`` and ``group`` of all paths of the archive that exist."""
        kinds = [kind for kind, given in (("user", self.user), ("group", self.group)) if given]
        if not kinds:
            return
        if self.own_only:
            dirs, others = ([self.own_only], []) if filesystem.is_directory(self.own_only) else ([], [self.own_only])
        else:
            dirs = self.contents["top_level_dirs"]
            others = self.contents["top_level_files"] + self.contents["top_level_links"]
        for path in dirs:
            full = os.path.join(self.name, path)
            if not filesystem.is_directory(full):
                if not is_dry_run():
                    self.problems["missing"].append(full)
                continue
            row = __states__["file.directory"](full, user=self.user, group=self.group, recurse=kinds)
            if row["changes"]:
                self.changes["updated ownership"] = True
            if row["result"] is False:
                self.problems["failed"].append(full)
        for path in others:
            self._own_one(os.path.join(self.name, path))

    def _own_one(self, path: str) -> None:
        try:
            found = filesystem.lstat(path)
        except OSError:
            if not is_dry_run():
                self.problems["missing"].append(path)
                self.problems["failed"].append(path)
            return
        if self.uid in {-1, found.st_uid} and self.gid in {-1, found.st_gid}:
            return
        try:
            if is_dry_run():
                refused = bool(filesystem.refused_owners(self.uid, self.gid, found))
            else:
                refused = False
                filesystem.give(path, filesystem.Access(self.uid, self.gid), follow=False)
        except OSError:
            refused = True
        if refused:
            self.problems["failed"].append(path)
            return
        self.changes["updated ownership"] = True

    def row(self, name: str, *, unpacked: bool, by_hash: bool, missing: bool) -> Row:
        """Return the row of the state."""
        result: bool | None = True
        if unpacked and self.files:
            if self.made_directory:
                self.changes["directories_created"] = [self.name]
            self.changes["extracted_files"] = self.files
            comment = f"{redacted(self.source)} extracted to {self.name}{_reason(by_hash, missing)}"
            if self.trim_output:
                comment += f". Output was trimmed to {self.trim_output} number of lines"
        elif unpacked:
            result, comment = False, f"No files were extracted from {redacted(self.source)}"
        else:
            comment = "All files in archive are already present"
            if is_dry_run() and self.changes.get("updated ownership"):
                result = None
                comment += ". Ownership would be updated on one or more files/directories."
        for kind, text in (
            ("missing", "the following paths were missing:\n"),
            ("failed", "Salt was unable to change ownership on the following paths:\n"),
        ):
            if self.problems[kind]:
                if kind == "failed" or not self.if_missing:
                    result = False
                listed = "".join(f"\n- {path}" for path in self.problems[kind])
                comment += f"\n\nWhile trying to enforce user/group ownership, {text}{listed}"
        return make_row(name, comment, self.changes, result=result)

    def forget(self) -> str:
        """Remove the fetched copy; return the error, "" if there is none."""
        if self.is_local:
            return ""
        row = __states__["file.not_cached"](self.source, saltenv=str(__env__))
        return "" if row["result"] else str(row["comment"])


def _is_short(word: str, letters: str) -> bool:
    """Return whether an argument is a cluster of one-letter options with one of ``letters``."""
    return word[:1] == "-" and word[:2] != "--" and any(letter in word for letter in letters)


def _is_file(mode: int) -> bool:
    return not stat.S_ISLNK(mode) and not stat.S_ISDIR(mode)


def _reason(by_hash: bool, missing: bool) -> str:
    if by_hash:
        return ", due to source_hash update"
    return ", due to absence of one or more files/dirs" if missing else ""
