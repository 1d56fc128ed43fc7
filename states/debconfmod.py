"""The ``debconf`` states: answers to the questions of Debian packages, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __env__, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError, RenderError

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Mapping

__lane__ = "pkgdb"

__virtualname__ = "debconf"
__func_alias__ = {"set_": "set"}


def __virtual__() -> Any:
    if "debconf.show" in __salt__:
        return True
    return False, "debconf module could not be loaded"


def set_(name: str, data: dict[str, Any], **kwargs: Any) -> Row:
    """Make sure that questions of the package ``name`` are answered: ``{question: {"type": …, "value": …}}``.

    ::

        postfix:
          debconf.set:
            - data:
                postfix/mailname: {type: string, value: mail.example.org}
    """
    bad = next((key for key, each in data.items() if not isinstance(each, dict) or {"type", "value"} - set(each)), "")
    if bad:
        return failed(name, f"The answer to {bad} needs a type and a value")
    known = __salt__["debconf.show"](name) or []
    answers = {key: (str(each["type"]), _text(each)) for key, each in data.items()}
    right = [key for key, (kind, value) in answers.items() if [key, kind, value] in known]
    changes = {}
    failures = []
    for key, (kind, value) in answers.items():
        if key in right:
            continue
        if is_dry_run():
            changes[key] = f"New value: {_shown(kind, value)}"
            continue
        trouble = _answer(name, key, kind, value)
        if trouble is not None:
            failures.append(trouble)
        changes[key] = _shown(kind, value) if trouble is None else "Failed to set!"
    if failures:
        return failed(name, _joined("Some settings failed to be applied.", failures), changes)
    if not changes:
        return unchanged(name, "All specified answers are already set")
    comment = f"Unchanged answers: {''.join(f'{key} ' for key in right)}" if right else ""
    return would_change(name, comment, changes) if is_dry_run() else changed(name, comment, changes)


def set_file(
    name: str, source: str, template: str | None = None, context: Any = None, defaults: Any = None, **kwargs: Any
) -> Row:
    """Set the answers in the file ``source`` of the tree, which has the format of debconf-set-selections(1).

    Every run sets them again. ::

        mysql answers:
          debconf.set_file:
            - source: salt://mysql/answers
    """
    for what, value in (("Context", context), ("Defaults", defaults)):
        if value is not None and not isinstance(value, dict):
            return failed(name, f"{what} must be formed as a dict")
    about: dict[str, Any] = {"saltenv": str(__env__)}
    if template:
        about |= {"template": template, "context": context or {}, "defaults": defaults or {}}
    try:
        if is_dry_run():
            if os.path.isabs(source):
                filesystem.require_readable(source)
            if not filesystem.foretells() or __salt__["debconf.file_text"](source, **about) is not None:
                return would_change(name, "Debconf selections would have been set.")
        elif __salt__["debconf.set_template" if template else "debconf.set_file"](source, **about):
            return unchanged(name, "Debconf selections were set.")
    except (CommandExecutionError, RenderError, OSError, UnicodeError) as error:
        return failed(name, str(error))
    return failed(name, "Unable to set debconf selections from file.")


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return debconf's database, which only one process at a time can write; package states write it too."""
    return {"reads": _resources.fetched(low.get("source")), "writes": ["pkgdb"]}


def _text(answer: dict[str, Any]) -> str:
    if answer["type"] == "boolean":
        return "true" if answer["value"] else "false"
    return str(answer["value"])


def _shown(kind: str, value: str) -> str:
    return "(password hidden)" if kind == "password" else value


def _answer(name: str, key: str, kind: str, value: str) -> str | None:
    """Answer a question; return the error, "" if its reason is unknown, None on success."""
    try:
        return None if __salt__["debconf.set"](name, key, kind, value) else ""
    except CommandExecutionError as error:
        return str(error)


def _joined(sentence: str, reasons: list[str]) -> str:
    return "\n".join([sentence, *(reason for reason in reasons if reason)])
