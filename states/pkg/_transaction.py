"""Transactions of package states: one common installation, and for each state the row of a separate one.

first state that installs  ──▶ foresee what each state will change ──▶ one call for all certain ones
the call would change more ──▶ it does nothing; each state installs on its own
each later state           ──▶ its share is done: its row is made from that
the call fails             ──▶ states that have all they wanted keep it; each other state installs on its own
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __env__, __salt__
from asyncstate.errors import CommandExecutionError

from ._refresh import refresh_wanted
from ._shares import Changes, Installed, Low, Member, list_pkgs, member, tag
from ._targets import Targets, find_targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OF_THE_ENGINE = frozenset(
    """state name fun order require require_any watch watch_any onchanges onchanges_any onfail onfail_any onfail_all
    listen use onfail_stop onlyif unless creates reload_modules reload_grains reload_pillar fire_event saltenv
    require_in watch_in onchanges_in onfail_in prereq_in listen_in use_in""".split()
)
_OWN_ACCOUNT = "root"
"""The account that installs packages anyway."""
_ARGUMENTS = frozenset({"pkgs", "version", "refresh", "skip_suggestions"})


def mod_transaction(low: Low, first: bool) -> str:
    """Return the reason why a state cannot join later states (``first``) or earlier ones in a call, "" if it can."""
    if low["fun"] != "installed":
        return f"what pkg.{low['fun']} changes cannot be told apart from the changes of other states"
    if not _foreseeable():
        return "the package manager of this system cannot say beforehand which state needs which package"
    for key in low:
        if key == "runas" and low[key] == _OWN_ACCOUNT:
            continue
        if key not in _OF_THE_ENGINE and key not in _ARGUMENTS and not key.startswith("__"):
            return f"it has {key}, which is for a call of its own"
    if not _is_plain(low):
        return "its packages or versions are not plain names and numbers"
    if not first and low.get("refresh"):
        return "its refresh comes after the states before it"
    return "its refresh is false: later states need fresh lists" if first and low.get("refresh") is False else ""


def _foreseeable() -> bool:
    """Whether the ``pkg`` module supports forecasts; the tree may have its own."""
    if "pkg.foresee" not in __salt__ or "pkg.install_foreseen" not in __salt__:
        return False
    modules = {getattr(__salt__.get(f"pkg.{name}"), "__module__", None) for name in ("install", "install_foreseen")}
    return len(modules) == 1


def _is_plain(low: Low) -> bool:
    pkgs = low.get("pkgs")
    if pkgs is not None and not isinstance(pkgs, list):
        return False
    texts = [low["name"], low.get("version") or "", low.get("refresh") or ""]
    for each in pkgs or ():
        texts += [*each.keys(), *(value or "" for value in each.values())] if isinstance(each, dict) else [each]
    return all(isinstance(text, (str, int, float)) and not str(text).startswith("__slot__") for text in texts)


def install(**call: Any) -> Changes:
    """Call ``pkg.install`` with these arguments, together with the later states of the transaction if there is one.

    Returns the changes of the current state. Passes on the errors of ``pkg.install``; a CommandExecutionError has
    the changes of this state only.
    """
    own = member()
    if own is None or call.get("sources"):
        return _call(call)
    done = own.take(_versions(call["pkgs"]))
    if done is not None:
        return done
    if own.shares.broken or own.tag in own.shares.changes:
        return _alone(own, call)
    own.shares.changes.clear()
    if own.shares.apart:
        return _call(call)
    orders = _orders(own, call)
    return _together(own, call, orders) if len(orders) > 1 else _call(call)


def _call(call: Mapping[str, Any]) -> Changes:
    changes: Changes = __salt__["pkg.install"](**call)
    return changes


def _versions(pkgs: Iterable[Mapping[str, str | None]]) -> dict[str, str | None]:
    return {name: version for each in pkgs for name, version in each.items()}


class _Order:
    """One state of a common call: its packages, and the changes that they will make."""

    def __init__(self, name: str, wanted: dict[str, str | None], changes: Changes) -> None:
        self.tag = name
        self.wanted = wanted
        self.changes = changes


def _orders(own: Member, call: dict[str, Any]) -> list[_Order]:
    """Return this state and the later ones that can install with it, because their changes are certain.

    ``call`` does not refresh again after a refresh here.
    """
    installed = list_pkgs()
    wanted = _versions(call["pkgs"])
    asked = {own.tag: wanted}
    every = dict(wanted)
    later = _of_known_versions(own.later, call, wanted)
    for low in later:
        found = _targets(low, installed)
        if isinstance(found, Targets):
            again = every.keys() & found.install.keys()
            late = refresh_wanted(low.get("refresh")) and not call["refresh"]
            if found.unpurge or late or any(found.install[name] or every[name] for name in again):
                break
            asked[tag(low)] = found.install
            every.update(found.install)
    if len(asked) == 1:
        return []
    lists = [[{name: version} for name, version in packages.items()] for packages in asked.values()]
    shares = __salt__["pkg.foresee"](lists, **{key: value for key, value in call.items() if key != "pkgs"})
    call["refresh"] = False
    orders = []
    for (name, packages), share in zip(asked.items(), shares, strict=False):
        if any(version and package not in share for package, version in packages.items()):
            break
        own_packages = {package: version for package, version in packages.items() if package in share}
        if own_packages:
            orders.append(_Order(name, own_packages, share))
    return orders


def _of_known_versions(later: list[Low], call: dict[str, Any], wanted: Mapping[str, str | None]) -> list[Low]:
    """Return the later states up to the first whose ``latest`` depends on a refresh still to come.

    The lists are refreshed here, in place of ``call``, if that would certainly do it.
    """
    asking = next((place for place, low in enumerate(later) if _asks_for_latest(low)), None)
    if asking is None or not call["refresh"]:
        return later
    if None not in wanted.values():
        return later[:asking]
    __salt__["pkg.refresh_db"]()
    call["refresh"] = False
    return later


def _asks_for_latest(low: Low) -> bool:
    return low.get("version") == "latest" or any(
        "latest" in each.values() for each in low.get("pkgs") or () if isinstance(each, dict)
    )


def _targets(low: Low, installed: Installed) -> Any:
    """Return the packages that a later state will have to install on top of ``installed``."""
    pkgs = low.get("pkgs")
    if isinstance(pkgs, list) and not pkgs:
        return None
    pkgs = pkgs or ([{low["name"]: low["version"]}] if low.get("version") else [low["name"]])
    return find_targets(
        low["name"],
        pkgs,
        None,
        fromrepo=None,
        skip_suggestions=bool(low.get("skip_suggestions")),
        normalize=True,
        ignore_epoch=None,
        reinstall=False,
        refresh=False,
        current=installed,
        saltenv=str(__env__),
        allow_updates=False,
    )


def _together(own: Member, call: dict[str, Any], orders: list[_Order]) -> Changes:
    pkgs = [{name: version} for order in orders for name, version in order.wanted.items()]
    expected = {name: change for order in orders for name, change in order.changes.items()}
    shares = own.shares
    try:
        done = __salt__["pkg.install_foreseen"](expected, **{**call, "pkgs": pkgs})
    except CommandExecutionError:
        shares.broken = True
        shares.changes = {order.tag: order.changes for order in orders}
        shares.wanted = {order.tag: order.wanted for order in orders}
        shares.whole = sorted(_whole(orders))
        mine = own.take(orders[0].wanted)
        return _alone(own, call) if mine is None else mine
    if done is None:
        shares.apart = True
        return _call(call)
    shares.wanted = {order.tag: order.wanted for order in orders}
    shares.changes = {
        order.tag: {name: change for name, change in done.items() if name in order.changes} for order in orders
    }
    named = {name for order in orders for name in order.changes}
    unforeseen = {name: change for name, change in done.items() if name not in named}
    return {**shares.changes.pop(own.tag), **unforeseen}


def _whole(orders: list[_Order]) -> set[str]:
    """Return the complete states, up to the first incomplete one, which may have failed."""
    installed = _installed()
    found = set()
    for order in orders:
        if any(change["new"] not in installed.get(name, ()) for name, change in order.changes.items()):
            break
        found.add(order.tag)
    return found


def _alone(own: Member, call: Mapping[str, Any]) -> Changes:
    """Install for this state only, after a failed common call that may have done part of its work."""
    before = own.undone(_installed())
    try:
        _call(call)
    except CommandExecutionError as error:
        if isinstance(error.info, dict):
            error.info["changes"] = _differences(before, own.undone(_installed(), own=False))
        raise
    finally:
        own.shares.changes.pop(own.tag, None)
    return _differences(before, own.undone(_installed(), own=False))


def _installed() -> Installed:
    found: Installed = __salt__["pkg.list_pkgs"](versions_as_list=True)
    return found


def _differences(old: Installed, new: Installed) -> Changes:
    return {
        name: {"old": ",".join(old.get(name, ())), "new": ",".join(new.get(name, ()))}
        for name in sorted({*old, *new})
        if old.get(name, []) != new.get(name, [])
    }
