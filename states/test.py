"""The ``test`` states: rows with a chosen result, for trying out requisites and for failing a tree on purpose.

Nothing here blocks, so all but ``check_pillar`` (which calls an execution module) are coroutine functions and run on
the event loop itself. Rows, comments and dry-run results are those of Salt 3008.
"""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import Row, __low__, __running__, __salt__, is_dry_run, make_row
from asyncstate.errors import InvocationError


async def nop(name: str, **kwargs: Any) -> Row:
    """Succeed without changes; ``**kwargs`` are ignored (``comment`` too, as in Salt)."""
    return _row(name, result=True, comment="Success!")


async def succeed_without_changes(name: str, **kwargs: Any) -> Row:
    """Succeed without changes; ``comment`` is the comment, and other ``**kwargs`` are ignored."""
    return _row(name, result=True, comment=kwargs.get("comment", "Success!"))


async def fail_without_changes(name: str, **kwargs: Any) -> Row:
    """Fail without changes, in a dry run too; ``comment`` is the comment of a real run; ``**kwargs`` are ignored."""
    if is_dry_run():
        return _row(name, result=False, comment="If we weren't testing, this would be a failure!")
    return _row(name, result=False, comment=kwargs.get("comment", "Failure!"))


async def succeed_with_changes(name: str, **kwargs: Any) -> Row:
    """Succeed with invented changes; ``comment`` is the comment, and other ``**kwargs`` are ignored."""
    if is_dry_run():
        comment = "If we weren't testing, this would be successful with changes"
        return _row(name, result=None, comment=comment, changes=_made_up_changes())
    return _row(name, result=True, comment=kwargs.get("comment", "Success!"), changes=_made_up_changes())


async def fail_with_changes(name: str, **kwargs: Any) -> Row:
    """Fail with invented changes and the ``comment``; in a dry run the result is None, as in Salt.

    Other ``**kwargs`` are ignored.
    """
    if is_dry_run():
        comment = "If we weren't testing, this would be failed with changes"
        return _row(name, result=None, comment=comment, changes=_made_up_changes())
    return _row(name, result=False, comment=kwargs.get("comment", "Failure!"), changes=_made_up_changes())


async def configurable_test_state(
    name: str,
    changes: bool | str = True,
    result: bool | str = True,
    comment: Any = "",
    warnings: Any = None,
    allow_test_mode_failure: bool = False,
) -> Row:
    """Return the row that the arguments describe.

    ``changes`` and ``result`` are True, False or ``"Random"``, ``comment`` is of any type, and ``warnings`` are a text
    or a list of texts. In a dry run the result is True if ``changes`` is False and None otherwise, unless
    ``allow_test_mode_failure`` keeps ``result: False``.
    """
    row = _row(name, result=False, comment=comment)
    if _choose("changes", changes):
        row["changes"] = _made_up_changes()
    row["result"] = _choose("result", result)
    if isinstance(warnings, str):
        row["warnings"] = [warnings]
    elif isinstance(warnings, list):
        row["warnings"] = warnings
    elif warnings is not None:
        raise InvocationError(
            "You have specified the state option 'warnings' with invalid arguments. "
            "It must be a string or a list of strings"
        )
    if is_dry_run():
        row["result"] = True if changes is False else None
        if allow_test_mode_failure and result is False:
            row["result"] = False
        row["comment"] = comment or "This is a test"
    return row


async def show_notification(name: str, text: Any = None, **kwargs: Any) -> Row:
    """Succeed with ``text``, of any type, as the comment; ``**kwargs`` are ignored."""
    if not text:
        raise InvocationError("Missing required argument text.")
    return _row(name, result=True, comment=text)


async def mod_watch(name: str, sfun: str | None = None, **kwargs: Any) -> Row:
    """Return a row whose changes list the watched states that changed, unless ``changes`` is given.

    What is given is returned as it is: the ``changes: False`` of a ``configurable_test_state`` is no row, as in Salt.
    """
    watched = (kwargs.get("__reqs__") or __low__.get("__reqs__", {})).get("watch", [])
    changed = [f"{chunk['state']}: {chunk['__id__']}" for chunk in watched if __running__[_tag(chunk)]["changes"]]
    row = _row(name, result=kwargs.get("result", True), comment=kwargs.get("comment", "Watch statement fired."))
    return row | {"changes": kwargs.get("changes", {"Requisites with changes": changed})}


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return an empty footprint: the state reads and writes nothing."""
    return {"reads": [], "writes": []}


def check_pillar(
    name: str,
    present: str | list[str] | None = None,
    boolean: str | list[str] | None = None,
    integer: str | list[str] | None = None,
    string: str | list[str] | None = None,
    listing: str | list[str] | None = None,
    dictionary: str | list[str] | None = None,
    verbose: bool = False,
) -> Row:
    """Check that pillar keys (``a:b`` for nested ones) exist and have the type they are listed under.

    A key whose value is None counts as missing. ``verbose`` names the keys that passed, too.
    """
    if not (present or boolean or integer or string or listing or dictionary):
        raise InvocationError("Missing required argument text.")
    failed: dict[str, Any] = {}
    passed: dict[str, Any] = {}
    for kind, keys in (
        (None, present),
        (bool, boolean),
        (int, integer),
        ((str,), string),
        (list, listing),
        (dict, dictionary),
    ):
        for key in _as_list(keys):
            value = __salt__["pillar.get"](key, None)
            if value is None:
                failed[key] = None
            elif kind is not None and not isinstance(value, kind):
                failed[key] = kind
            else:
                passed[key] = kind
    lines = [f'Pillar key "{key}" is {"missing" if kind is None else f"not {kind}"}.\n' for key, kind in failed.items()]
    if verbose and passed:
        lines.append("Those keys passed the check:\n")
        lines.extend(f"- {key} ({kind})\n" for key, kind in passed.items())
    return _row(name, result=not failed, comment="".join(lines))


def _row(name: str, *, result: Any, comment: Any, changes: Any = None) -> Row:
    return make_row(name, comment, {} if changes is None else changes, result=result)


def _made_up_changes() -> dict[str, Any]:
    return {"testing": {"old": "Unchanged", "new": "Something pretended to change"}}


def _choose(option: str, value: bool | str) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() == "random":
        import random  # noqa: PLC0415 - few states need it

        return random.choice((True, False))  # noqa: S311 - a test state, no secret
    raise InvocationError(
        f"You have specified the state option '{option}' with invalid arguments. "
        "It must be either True, False, or 'Random'"
    )


def _tag(chunk: dict[str, Any]) -> str:
    return f"{chunk['state']}_|-{chunk['__id__']}_|-{chunk['name']}_|-{chunk['fun']}"


def _as_list(keys: str | list[str] | None) -> list[str]:
    if not keys:
        return []
    if isinstance(keys, str):
        return [keys]
    if isinstance(keys, list):
        return keys
    raise InvocationError(f"Pillar keys must be a string or a list of strings, not {keys!r}")
