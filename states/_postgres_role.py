"""The common part of ``postgres_user`` and ``postgres_group``: both are roles of the server."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import Row, __salt__, is_dry_run, unchanged, would_change

from . import _postgres

_ATTRIBUTES = {
    "createdb": "can create databases",
    "inherit": "inherits privileges",
    "login": "can login",
    "createroles": "can create roles",
    "replication": "replication",
    "superuser": "superuser",
}


@_postgres.fails_if_not_answered
def present(
    kind: str,
    name: str,
    wanted: dict[str, Any],
    connection: dict[str, Any],
    *,
    default_password: Any = None,
    refresh_password: bool | None = None,
) -> Row:
    """Return the row of ``present`` for a ``user`` or a ``group``; ``wanted`` are the options of ``user_create``."""
    what = f"{kind.capitalize()} {name}"
    role = __salt__["postgres.role_get"](name, return_password=not refresh_password, **connection)
    options = dict(wanted)
    mode, update = "create", {}
    if role is None:
        if options["rolepassword"] is None:
            options["rolepassword"] = default_password
    else:
        mode, update = "update", _differences(name, role, options, connection, refresh=bool(refresh_password))
        if not update:
            return unchanged(name, f"{what} is already present")
        if is_dry_run():
            return would_change(name, f"{what} is set to be updated", {name: update})
        if "password" not in update:
            options["rolepassword"] = None
    return _postgres.change(
        name,
        lambda: __salt__[f"postgres.{kind}_{mode}"](name, **options, **connection),
        {name: update or "Present"},
        would=f"{what} is set to be created",
        done=f"The {kind} {name} has been {mode}d",
        problem=f"Failed to {mode} {kind} {name}",
    )


@_postgres.fails_if_not_answered
def absent(kind: str, name: str, connection: dict[str, Any]) -> Row:
    """Return the row of ``absent`` for a ``user`` or a ``group``."""
    return _postgres.absent(
        name,
        f"{kind.capitalize()} {name}",
        lambda: __salt__["postgres.user_exists"](name, **connection),
        lambda: __salt__[f"postgres.{kind}_remove"](name, **connection),
    )


def _differences(
    name: str, role: dict[str, Any], options: dict[str, Any], connection: dict[str, Any], *, refresh: bool
) -> dict[str, Any]:
    """Return the attributes of a role to change, as the row shows them: a password only as True."""
    update: dict[str, Any] = {
        option: options[option]
        for option, attribute in _ATTRIBUTES.items()
        if options[option] is not None and role[attribute] != options[option]
    }
    password = options["rolepassword"]
    if password is not None and (
        refresh or not __salt__["postgres.password_matches"](name, password, role["password"], options["encrypted"])
    ):
        update["password"] = True
    valid_until = options.get("valid_until")
    if valid_until is not None:
        expiry = __salt__["postgres.expiry_time"](valid_until, **connection)
        if expiry != role["expiry time"]:
            update["valid_until"] = valid_until
    groups = options["groups"]
    groups = groups.split(",") if isinstance(groups, str) else groups or []
    missing = [group for group in groups if str(group).strip() not in role["groups"]]
    return {**update, "groups": missing} if missing else update
