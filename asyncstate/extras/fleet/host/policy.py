"""Enforcement of a host's policy: before compilation, before an SLS is rendered, before a plan runs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeVar

from asyncstate.extras.fleet.host.called import Calling, functions_of
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.extras.fleet.policy import Policy
    from asyncstate.extras.fleet.protocol import Offer

_Chunk = TypeVar("_Chunk", bound=Calling)


def refusals_of_offer(policy: Policy, offer: Offer) -> list[str]:
    """Return the reasons not to compile an offer; none if it may be compiled. No SLS means the highstate."""
    refused: list[str] = []
    if offer.call is not None:
        refused += _refusals_of_call(policy, offer.call.function)
    elif policy.deny_test_false and not offer.options.test:
        refused.append(f"this host allows dry runs only (deny_test_false of {policy.where}): add --test")
    if policy.deny_pillar and offer.options.pillar:
        refused.append(f"this host takes no pillar data of operators (deny_pillar of {policy.where}): omit --pillar")
    if policy.allow_sls is not None and offer.options.top:
        refused.append(f"this host renders no top file that an operator names (it has allow_sls of {policy.where})")
    return refused + [words for sls in sorted(set(offer.sls)) if (words := refusal_of_sls(policy, sls))]


def refusal_of_sls(policy: Policy, sls: str) -> str:
    """Return the reason not to render an SLS; "" if it may be rendered."""
    return _outside(policy, f"the SLS {sls}", sls, policy.allow_sls, "allow_sls")


def refusals_of_plan(policy: Policy, chunks: Iterable[_Chunk]) -> list[tuple[str, _Chunk]]:
    """Return the reasons not to run a compiled plan, for each function the first state that calls it."""
    refused: dict[str, _Chunk] = {}
    if policy.allow_functions is not None:
        for chunk in chunks:
            for name, within in functions_of(chunk).items():
                what = f"the function {name} ({within})" if within else f"the function {name}"
                words = _outside(policy, what, name, policy.allow_functions, "allow_functions")
                if words:
                    refused.setdefault(words, chunk)
    return list(refused.items())


def _refusals_of_call(policy: Policy, function: str) -> list[str]:
    """Return the reasons not to call an execution function for an operator; none if it may be called."""
    if policy.deny_test_false:
        return [f"this host allows dry runs only (deny_test_false of {policy.where}): a call of a function is none"]
    if policy.allow_functions is None and policy.allow_sls is not None:
        named = f"{policy.where} has allow_sls, so allow_functions must name it, too"
        return [f"this host does not allow the function {function}: {named}"]
    words = _outside(policy, f"the function {function}", function, policy.allow_functions, "allow_functions")
    return [words] if words else []


def _outside(policy: Policy, what: str, name: str, allowed: tuple[str, ...] | None, setting: str) -> str:
    if allowed is None or any(fnmatchcase(name, pattern) for pattern in allowed):
        return ""
    near = nearest(name, allowed)
    hint = f". Did you mean {near}?" if near else ""
    return f"this host does not allow {what} ({setting} of {policy.where}: {', '.join(allowed) or 'none'}){hint}"
