"""``file.patch``: a unified diff applied to a file or a directory, once."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Any

from asyncstate import filesystem, residue
from asyncstate.dunders import Row, __env__, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError

from .arguments import expand

_FORBIDDEN = ("-N", "--forward", "-r", "--reject-file", "-o", "--output")


def patch(
    name: str,
    source: str | list[Any] | None = None,
    source_hash: Any = None,
    source_hash_name: str | None = None,
    skip_verify: bool = False,
    template: str | None = None,
    context: dict[str, Any] | None = None,
    defaults: dict[str, Any] | None = None,
    options: Any = "",
    reject_file: str | None = None,
    strip: int | None = None,
    saltenv: str | None = None,
    **kwargs: Any,
) -> Row:
    """Apply the patch ``source`` to the file or directory ``name``, unless it is applied already.

    ``options`` are those of the program patch, ``strip`` its ``-p``; what does not apply is kept in ``reject_file``.
    """
    name = expand(name)
    problem = _unfit(name, reject_file)
    if problem:
        return failed(name, problem)
    try:
        given, strip = _options(options, strip)
        chosen, source_hash = __salt__["file.source_list"](source, source_hash, saltenv or str(__env__))
        patch_file, source_sum, problem = __salt__["file.get_managed"](
            name,
            template,
            chosen,
            source_hash,
            source_hash_name,
            None,
            None,
            None,
            None,
            saltenv or str(__env__),
            context,
            defaults,
            skip_verify,
        )
    except CommandExecutionError as error:
        return failed(name, str(error))
    if problem:
        return failed(name, f"Unable to manage file: {problem}")
    if source_sum.get("hsum") and not skip_verify:
        actual = __salt__["file.get_hash"](patch_file, source_sum["hash_type"])
        if actual != source_sum["hsum"].lower():
            from asyncstate.data.digest import disproved  # noqa: PLC0415 - an error

            return failed(name, disproved(str(chosen), source_sum, actual, ambiguous=True))
    if filesystem.is_directory(name) and strip is not None:
        given.append(f"-p{strip}")
    with residue.temporary_folder(prefix="asyncstate-patch-") as folder:
        try:
            return _apply(name, patch_file, given, reject_file, folder)
        finally:
            if template and patch_file:
                Path(patch_file).unlink(missing_ok=True)


def _unfit(name: str, reject_file: str | None) -> str:
    if not shutil.which("patch"):
        return "patch executable not found on minion"
    if not name:
        return "A file/directory to be patched is required"
    if not os.path.isabs(name):
        return f"{name} is not an absolute path"
    if not filesystem.exists(name):
        return f"{name} does not exist"
    if reject_file is not None:
        if not os.path.isabs(reject_file):
            return f"'{reject_file}' is not an absolute path"
        if not filesystem.is_directory(os.path.dirname(reject_file)):
            return f"Parent directory for reject_file '{reject_file}' either does not exist, or is not a directory"
    return ""


def _options(options: Any, strip: int | None) -> tuple[list[str], int | None]:
    """Return the options, except the ones set by the state itself, and the number of path components to strip."""
    parts = [str(part) for part in options] if isinstance(options, list) else shlex.split(str(options or ""))
    forbidden = [part for part in parts if part.startswith(_FORBIDDEN)]
    if forbidden:
        raise CommandExecutionError(f"The following CLI options are not allowed: {', '.join(forbidden)}")
    kept = []
    rest = iter(parts)
    for part in rest:
        if not part.startswith(("-p", "--strip")):
            kept.append(part)
            continue
        number = part[2:] if part.startswith("-p") else part.partition("=")[2] or next(rest, "")
        if not number.isdecimal():
            flag = "-p" if part.startswith("-p") else "-strip"
            raise CommandExecutionError(
                f"Invalid format for '{flag}' CLI option. Consider using the 'strip' option for this state."
            )
        strip = int(number)
    return kept, strip


def _apply(name: str, patch_file: str, options: list[str], reject_file: str | None, folder: str) -> Row:
    """Apply the patch to a copy first, then to the file or directory itself."""
    rejects = reject_file or os.path.join(folder, "rejects")
    trial = __salt__["file.patch"](
        name, patch_file, options=[*options, "-N", "-r", rejects, "-o", os.path.join(folder, "output")]
    )
    if trial["retcode"] != 0:
        return _explain(name, trial, rejects, options, kept=reject_file is not None)
    if is_dry_run():
        try:
            if not filesystem.is_directory(name):  # in a directory, the patch says what it changes
                filesystem.room_for(name, follow=True)
        except OSError as error:
            return failed(name, str(error))
        return would_change(name, "The patch would be applied", trial)
    done = __salt__["file.patch"](name, patch_file, options=options)
    if done["retcode"] != 0:
        return failed(name, "Failed to apply patch", done)
    return changed(name, "Patch successfully applied", done)


def _explain(name: str, trial: Row, rejects: str, options: list[str], *, kept: bool) -> Row:
    """Return the row of a patch that failed its trial: it is already applied, or does not apply."""
    if not filesystem.exists(rejects) or filesystem.stat(rejects).st_size == 0:
        return failed(name, trial["stderr"] or trial["stdout"])
    backwards = [option for option in options if not option.startswith("-p")]
    reverse = __salt__["file.patch"](name, rejects, options=[*backwards, "-R", "-f"], dry_run=True)
    if trial["retcode"] == 2 and trial["stderr"]:
        return failed(name, trial["stderr"])
    if reverse["retcode"] == 0:
        return unchanged(name, "Patch was already applied")
    comment = "Patch would not apply cleanly, no changes made. Results of dry-run are below."
    if not kept:
        comment += " Run state again using the reject_file option to save rejects to a persistent file."
    output = "\n".join(str(trial[key]) for key in ("stdout", "stderr") if trial.get(key))
    return failed(name, f"{comment}\n\n{output}")
