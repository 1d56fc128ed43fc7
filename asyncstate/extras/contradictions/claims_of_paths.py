"""Claims of states to paths: a file, a folder, a link or nothing, with a mode, an owner or options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.effects.places import FILE, FOLDER, GONE, LINK, THERE, kind_left, place
from asyncstate.effects.resources import PATH, plain_path
from asyncstate.extras.contradictions.claim_values import (
    COPIED,
    NEEDED,
    UNLINKED,
    UNPACKED,
    USABLE,
    Marked,
    Members,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.chunk import LowChunk

_NEED = {
    **{f"file.{edit}": FILE for edit in "replace line comment uncomment blockreplace keyvalue patch".split()},
    "file.exists": THERE,
    "ini.sections_absent": FILE,
}
"""Functions that fail without what others make at their path."""
_DO_WITHOUT = frozenset({"create", "ignore_if_missing"})
"""Arguments with which they do not fail where there is nothing."""
_USE = frozenset({"file.replace", "ini.sections_absent"})
"""Those that fail at a folder all the same."""
_THROUGH_A_LINK = {FILE: "follow_symlinks", FOLDER: "allow_symlink"}
"""Arguments that say whether a link to a file, or to a folder, is as good as one."""
_OWNED = frozenset({"file.managed", "file.serialize", "file.directory"})
_SUBJECT = ("CN", "O", "OU", "C", "ST", "L")
_CONTENT = {
    "x509.private_key_managed": ("algo", "keysize"),
    "x509.certificate_managed": _SUBJECT,
    "x509.csr_managed": _SUBJECT,
}
"""Functions that make the text of a file, and arguments that it shows; those not given are empty, or as usual."""
_KEY_SIZES = {"rsa": 2048, "ec": 256}


def of_options(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield what a state of ``ini`` wants of sections and their options."""
    path, sections = plain_path(str(chunk.name)), chunk.args.get("sections")
    for section in sections if isinstance(sections, (list, dict)) and chunk.fun != "options_absent" else ():
        yield f"section {section} in {path}", f"{PATH}{path}", GONE if chunk.fun == "sections_absent" else THERE
    for section, options in sections.items() if isinstance(sections, dict) else ():
        settings = {}
        if chunk.fun == "options_present" and isinstance(options, dict):
            settings = {option: plain("value", value) for option, value in options.items()}
            only = frozenset(options) if chunk.args.get("strict") is True else None
            yield f"options of section {section} in {path}", f"{PATH}{path}", Members(frozenset(options), only)
        elif chunk.fun == "options_absent" and isinstance(options, list):
            settings = {option: GONE for option in options if isinstance(option, str)}
        for option, setting in settings.items():
            if setting is not None:
                yield f"option {option} of section {section} in {path}", f"{PATH}{path}", setting


def of_path(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield what a state wants of the path that it makes, changes or removes, or of the folder that it fills."""
    args, path, function = chunk.args, place(chunk), chunk.function
    left = kind_left(chunk)
    if function == "file.rename":  # it moves nothing over what is there, unless it is forced
        path, left = plain_path(str(args.get("source"))), GONE if args.get("force") is True else ""
    lenient = chunk.state == "ini" or any(args.get(each) for each in _DO_WITHOUT)
    if path and function in _NEED and (not lenient or function in _USE):
        yield path, f"{PATH}{path}", Marked(_NEED[function], USABLE if lenient else NEEDED)
    if not left or path is None or args.get("create", True) is not True:
        return
    resource = f"{PATH}{path}"
    mark = ""
    if left == LINK:
        left, mark = plain("target", args.get("target")) or "", LINK
    elif chunk.fun == "hardlink" or args.get(_THROUGH_A_LINK.get(left, "")) is False:
        mark = UNLINKED
    elif chunk.fun == "copy" and args.get("force") is True and not args.get("subdir"):
        mark = COPIED
    elif chunk.state == "archive":
        mark = UNPACKED
    yield path, resource, Marked(left, mark) if mark else left
    if chunk.state == "git":
        what, given = ("branch", args.get("branch")) if chunk.fun == "cloned" else ("rev", args.get("rev") or "HEAD")
        if isinstance(given, (str, int, float)):
            yield f"revision of {path}", resource, (what, str(given))
    if function in _CONTENT:
        usual = {"algo": "rsa", "keysize": _KEY_SIZES.get(str(args.get("algo", "rsa")))}
        yield f"content of {path}", resource, ("content", chunk.fun)
        for argument in _CONTENT[function]:
            yield f"{argument} of {path}", resource, (argument, str(args.get(argument) or usual.get(argument)))
    if function in _OWNED or chunk.state == "x509" or (mark == COPIED and not args.get("preserve")):
        mode = args.get("dir_mode", args.get("mode")) if left == FOLDER else args.get("mode")
        if function == "x509.private_key_managed":
            mode = mode or "0400"
        for argument, given in (("mode", mode), ("user", args.get("user")), ("group", args.get("group"))):
            setting = plain(argument, given)
            if setting is not None:
                yield f"{argument} of {path}", resource, (argument, setting)


def of_made(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield that the files are there for whose lack a command runs."""
    creates = chunk.args.get("creates")
    for each in creates if isinstance(creates, list) else [creates]:
        if isinstance(each, str) and each.startswith("/"):
            yield plain_path(each), f"{PATH}{plain_path(each)}", THERE
