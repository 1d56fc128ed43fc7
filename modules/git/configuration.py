"""``git config``: values of one repository, or of a user (``global``)."""

from __future__ import annotations

from typing import Any

from asyncstate.errors import CommandExecutionError, InvocationError

from .programs import comma_separated, expanded, refuse_unknown, run


def config_get(
    key: str,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return the value of ``key``, with ``all: True`` the list of its values; None if it has none.

    ``global: True`` looks at the user's configuration instead of that of the repository ``cwd``.

    CLI Example::

        asyncstate call git.config_get user.name cwd=/srv/app
    """
    everything = kwargs.pop("all", False)
    place, where = _place(cwd, user, kwargs)
    result = run(
        ["config", place, "--null", "--get-all", key],
        where,
        user=user,
        password=password,
        ignore_retcode=ignore_retcode,
        failhard=False,
        output_encoding=output_encoding,
        rstrip=False,
    )
    if result["retcode"] == 1:
        return None
    values = result["stdout"].split("\0")[:-1]
    if everything:
        return values
    return values[-1] if values else ""


def config_get_regexp(
    key: str,
    value_regex: Any = None,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> dict[str, list[str]]:
    """Return the values that match ``value_regex``, by key, for the keys that match a regular expression."""
    place, where = _place(cwd, user, kwargs)
    arguments = ["config", place, "--null", "--get-regexp", key]
    result = run(
        arguments if value_regex is None else [*arguments, str(value_regex)],
        where,
        user=user,
        password=password,
        ignore_retcode=ignore_retcode,
        failhard=False,
        output_encoding=output_encoding,
        rstrip=False,
    )
    found: dict[str, list[str]] = {}
    if result["retcode"] == 1:
        return found
    for entry in result["stdout"].split("\0")[:-1]:
        name, separator, value = entry.partition("\n")
        if separator:
            found.setdefault(name, []).append(value)
    return found


def config_set(
    key: str,
    value: Any = None,
    multivar: Any = None,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> list[str] | None:
    """Give ``key`` one value, or the values ``multivar``, in place of those it has; return the list it has then.

    ``add: True`` keeps the existing values.
    """
    add = kwargs.pop("add", False)
    place, where = _place(cwd, user, kwargs)
    if value is not None and multivar is not None:
        raise InvocationError("Only one of 'value' and 'multivar' is permitted")
    values = [str(value)] if value is not None else comma_separated(multivar)
    scope = ["--global"] if place == "--global" else []
    for index, each in enumerate(values):
        how = "--add" if add or index else "--replace-all"
        run(
            ["config", *scope, how, key, each],
            where,
            user=user,
            password=password,
            ignore_retcode=ignore_retcode,
            output_encoding=output_encoding,
        )
    found: list[str] | None = config_get(
        key,
        cwd=cwd,
        user=user,
        password=password,
        ignore_retcode=ignore_retcode,
        output_encoding=output_encoding,
        **{"all": True, "global": place == "--global"},
    )
    return found


def config_unset(
    key: str,
    value_regex: Any = None,
    cwd: str | None = None,
    user: str | None = None,
    password: str | None = None,
    ignore_retcode: bool = False,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> bool:
    """Remove the value of ``key``, with ``all: True`` all its values. Raises CommandExecutionError if that fails."""
    everything = kwargs.pop("all", False)
    place, where = _place(cwd, user, kwargs)
    arguments = ["config", "--unset-all" if everything else "--unset", place, key]
    result = run(
        arguments if value_regex is None else [*arguments, str(value_regex)],
        where,
        user=user,
        password=password,
        ignore_retcode=ignore_retcode,
        failhard=False,
        output_encoding=output_encoding,
    )
    code = result["retcode"]
    if code == 0:
        return True
    if code == 1:
        raise CommandExecutionError("Section or key is invalid")
    if code == 5:
        asked: dict[str, Any] = {"cwd": cwd, "user": user, "password": password, "global": place == "--global"}
        if config_get(key, ignore_retcode=ignore_retcode, **asked) is None:
            raise CommandExecutionError(f"Key '{key}' does not exist")
        also = "" if value_regex is None else " and value_regex matches multiple values"
        raise CommandExecutionError(f"Multiple values exist for key '{key}'{also}")
    if code == 6:
        raise CommandExecutionError("The value_regex is invalid")
    message = f"Failed to unset key '{key}', git config returned exit code {code}"
    raise CommandExecutionError(f"{message}; {result['stderr']}" if result["stderr"] else message)


def _place(cwd: str | None, user: str | None, arguments: dict[str, Any]) -> tuple[str, str | None]:
    """Return the option that selects the configuration, and the directory to run in."""
    everywhere = arguments.pop("global", False)
    refuse_unknown(arguments)
    if cwd is None and not everywhere:
        raise InvocationError("'cwd' argument required unless global=True")
    return "--global" if everywhere else "--local", None if cwd is None else expanded(cwd, user)
