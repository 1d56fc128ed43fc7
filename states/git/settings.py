"""``git.config_set`` and ``git.config_unset``."""

from __future__ import annotations

import re
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, is_dry_run, unchanged
from asyncstate.errors import CommandExecutionError

from .rows import Outcome, bare_message, fail, finished, unknown_arguments, would_do

Values = dict[str, list[str]]

_WORD = re.compile("[A-Za-z0-9-]+")


def config_set(
    name: str,
    value: Any = None,
    multivar: Any = None,
    repo: str | None = None,
    user: str | int | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that a git setting has this ``value``, or these values (``multivar``), in this order.

    It is a setting of the repository ``repo``, or with ``global: True`` of ``user``.

    Example::

        mail address:
          git.config_set:
            - name: user.email
            - value: www@example.com
            - repo: /srv/app
    """
    row = unchanged(name)
    where = {"cwd": repo, "user": user, "password": password, "output_encoding": output_encoding}

    def work() -> None:
        if value is not None and multivar is not None:
            raise fail("Only one of 'value' and 'multivar' is permitted")
        everywhere = _scope(kwargs, repo)
        unknown_arguments(kwargs)
        if value is None and multivar is None:
            raise fail("One of 'value' and 'multivar' is required")
        many = None if multivar is None else _texts(multivar)
        wanted = [str(value)] if many is None else many
        _set(row, wanted, many, {**where, "global": everywhere})

    return finished(row, work)


def config_unset(
    name: str,
    value_regex: Any = None,
    repo: str | None = None,
    user: str | int | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that git settings whose names match the regular expression ``name`` have no value.

    ``value_regex`` limits that to matching values. Settings with more than one value need ``all: True``. ``repo`` or
    ``global: True`` says which configuration is meant.
    """
    row = unchanged(name, "No matching keys are set")
    where = {"cwd": repo, "user": user, "password": password, "output_encoding": output_encoding}

    def work() -> None:
        everywhere, all_values = _scope(kwargs, repo), kwargs.pop("all", False)
        unknown_arguments(kwargs)
        pattern = None if value_regex is None else str(value_regex)
        _unset(row, pattern, all_values, {**where, "global": everywhere})

    return finished(row, work)


def _scope(arguments: dict[str, Any], repo: str | None) -> bool:
    everywhere = bool(arguments.pop("global", False))
    if not everywhere and not repo:
        raise fail("Non-global config options require the 'repo' argument to be set")
    return everywhere


def _texts(values: Any) -> list[str]:
    return [str(item) for item in values] if isinstance(values, list) else str(values).split(",")


def _set(row: Row, wanted: list[str], many: list[str] | None, where: dict[str, Any]) -> None:
    name = str(row["name"])
    shown = f"'{wanted[0]}'" if many is None else str(many)
    whose = "Global key " if where["global"] else ""
    failure = f"Failed to set {whose.lower()}'{name}' to {shown}"
    if (problem := _misspelt(name)) and filesystem.judges():
        raise fail(f"{failure}: {problem}")
    old = __salt__["git.config_get"](key=name, ignore_retcode=True, **where, all=True)
    if old == wanted:
        raise Outcome(f"{whose}'{name}' is already set to {shown}", result=True)
    if old == [] and filesystem.foretells():  # a setting without text has one value, a missing one is None
        raise fail(f"{failure}: git reads no settings in {where['cwd'] or 'the home of the user'}")
    verb = "added as" if old is None else "set to"
    if is_dry_run():
        row["changes"] = {"old": old, "new": wanted}
        raise would_do(f"{whose}'{name}' would be {verb} {shown}")
    new_value = {"value": wanted[0]} if many is None else {"multivar": many}
    try:
        new = __salt__["git.config_set"](key=name, **new_value, **where)
    except CommandExecutionError as error:
        raise fail(f"{failure}: {bare_message(error)}") from error
    if new != old:
        row["changes"][name] = {"old": old, "new": new}
    if new != wanted:
        raise fail(failure)
    row["comment"] = f"{whose}'{name}' was {verb} {shown}"


def _misspelt(name: str) -> str:
    """Return git's error for an invalid setting name: section, optional subsection, and a word."""
    section, _, own = name.rpartition(".")
    if not section:
        return f"error: key does not contain a section: {name}"
    if not own:
        return f"error: key does not contain variable name: {name}"
    head, _, part = section.partition(".")
    if not (_WORD.fullmatch(head) and _WORD.fullmatch(own) and own[0].isalpha()):
        return f"error: invalid key: {name}"
    return f"error: invalid key (newline): {name}" if "\n" in part else ""


def _unset(row: Row, pattern: str | None, all_values: bool, where: dict[str, Any]) -> None:
    name = str(row["name"])
    # The whole name must match.
    key = "^" + name.lstrip("^").rstrip("$") + "$"
    found = _matching(key, pattern, where)
    if not found:
        return
    if not all_values:
        _refuse_many(found, pattern)
    if is_dry_run():
        row["changes"] = found
        raise would_do(f"{len(found)} key(s) would have value(s) unset")
    before = found if pattern is None else _matching(key, None, where)
    failed = [each for each in found if not _remove(each, pattern, all_values, where)]
    if failed:
        raise fail(
            "Error(s) occurred unsetting values for the following keys (see the minion log for details): "
            + ", ".join(failed)
        )
    after = _matching(key, None, where)
    for each, values in before.items():
        gone = [value for value in values if value not in after.get(each, [])]
        if gone:
            row["changes"][each] = gone
    left = after if pattern is None else _matching(key, pattern, where)
    if left:
        raise fail("Failed to unset value(s): " + "; ".join(_listed(left)))
    row["comment"] = "Value(s) successfully unset"


def _refuse_many(found: Values, pattern: str | None) -> None:
    many = _listed({key: values for key, values in found.items() if len(values) > 1})
    if not many:
        return
    if pattern is not None:
        raise fail(
            "Multiple values are matched by value_regex for the following keys (set 'all' to True to force removal): "
            + "; ".join(many)
        )
    raise fail("Multivar(s) matched by the key expression (set 'all' to True to force removal): " + "; ".join(many))


def _listed(found: Values) -> list[str]:
    return [f"{key} ({', '.join(values)})" for key, values in found.items()]


def _matching(key: str, pattern: str | None, where: dict[str, Any]) -> Values:
    found: Values = __salt__["git.config_get_regexp"](key=key, value_regex=pattern, ignore_retcode=True, **where)
    return found


def _remove(key: str, pattern: str | None, all_values: bool, where: dict[str, Any]) -> bool:
    try:
        __salt__["git.config_unset"](key=key, value_regex=pattern, **where, all=all_values)
    except CommandExecutionError:
        return False
    return True
