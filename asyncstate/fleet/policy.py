"""What a host lets operators do, whatever they sign: ``allow_sls``, ``allow_functions``, ``deny_test_false``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy in a host's own configuration. What is not given allows everything.

    ``allow_sls`` are globs of SLS: all SLS of a run must fit one, those that others include, too. ``allow_functions``
    are globs of functions such as ``file.managed`` or ``service.*``. ``deny_test_false`` allows dry runs only.
    """

    allow_sls: tuple[str, ...] | None = None
    allow_functions: tuple[str, ...] | None = None
    deny_test_false: bool = False


def refusals_of_offer(policy: Policy, *, sls: Iterable[str], test: bool) -> list[str]:
    """Return why a host does not even compile what is offered; nothing if it does. No SLS stands for the highstate."""
    refused = []
    if policy.deny_test_false and not test:
        refused.append("this host allows dry runs only (deny_test_false): add --test")
    return refused + _outside("SLS", sls, policy.allow_sls, "allow_sls")


def refusals_of_plan(policy: Policy, *, sls: Iterable[str], functions: Iterable[str]) -> list[str]:
    """Return why a host does not run what it compiled: its SLS and the functions (``file.managed``) of its states."""
    return [
        *_outside("SLS", sls, policy.allow_sls, "allow_sls"),
        *_outside("function", functions, policy.allow_functions, "allow_functions"),
    ]


def refusals_of_call(policy: Policy, function: str) -> list[str]:
    """Return why a host does not call an execution function for an operator; nothing if it does."""
    if policy.allow_functions is None and policy.allow_sls is not None:
        return [
            f"this host does not allow the function {function}: it has allow_sls, so allow_functions must name it, too"
        ]
    return _outside("function", [function], policy.allow_functions, "allow_functions")


def _outside(what: str, names: Iterable[str], allowed: tuple[str, ...] | None, setting: str) -> list[str]:
    if allowed is None:
        return []
    listed = ", ".join(allowed) or "none"
    return [
        f"this host does not allow the {what} {name} ({setting}: {listed})"
        for name in sorted(set(names))
        if not any(fnmatchcase(name, pattern) for pattern in allowed)
    ]
