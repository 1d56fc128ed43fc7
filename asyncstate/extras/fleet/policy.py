"""The policy of a host, a limit on its operators, whatever they sign: the option ``fleet_policy``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.config.values import convert
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.config import Settings

OPTION = "fleet_policy"


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy of a host. What is not given allows everything.

    ``allow_sls`` are globs of SLS: each SLS of a run must fit one before it is rendered, also one that others include.
    ``allow_functions`` are globs of functions such as ``file.managed`` or ``service.*``. ``deny_test_false`` allows dry
    runs only, ``deny_pillar`` no run that brings pillar data. ``where`` says where it stands, for messages.
    """

    allow_sls: tuple[str, ...] | None = None
    allow_functions: tuple[str, ...] | None = None
    deny_test_false: bool = False
    deny_pillar: bool = False
    where: str = OPTION


_FIELDS = {field.name: field.type for field in msgspec.structs.fields(Policy) if field.name != "where"}


def policy_of(given: Mapping[Any, Any], settings: Settings) -> Policy:
    """Return the policy that the option of these settings says. Raises ConfigError: a slip is no permission."""
    for name in given:
        if name not in _FIELDS:
            near = nearest(str(name), _FIELDS)
            hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(_FIELDS)}."
            raise settings.wrong(OPTION, f"there is no setting {name!r}. {hint}")
    origin = settings.origins.get(OPTION, "")
    values = {name: convert(f"{OPTION}: {name}", value, _FIELDS[name], origin) for name, value in given.items()}
    place = settings.file_of(OPTION)
    return Policy(**values, where=f"{OPTION} in {place}" if place else OPTION)
