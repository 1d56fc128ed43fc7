"""Installing, removing and upgrading packages with dnf."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

from .. import _rpm_versions  # noqa: TID252 - as `modules` for type checkers
from .._package_listing import Downloads  # noqa: TID252 - as `modules` for type checkers
from .._package_transactions import Transaction, changes, to_remove, without_holds  # noqa: TID252 - as `modules` for type checkers
from .._rpm_database import LISTING, named_version, version_of_file  # noqa: TID252 - as `modules` for type checkers
from .._version_conditions import is_condition, newest_match  # noqa: TID252 - as `modules` for type checkers
from ._candidates import list_repo_pkgs, refresh_db
from ._holds import held_among, hold, unhold
from ._programs import call, choices

if TYPE_CHECKING:
    from collections.abc import Iterable

Changes = dict[str, Any]


class _Order(NamedTuple):
    """One argument of dnf: the package, the package or file to pass, and the kind of change."""

    package: str
    argument: str
    action: str  # "install", "downgrade" or "reinstall"


def install(
    name: str | None = None,
    refresh: bool = False,
    skip_verify: bool = False,
    pkgs: Any = None,
    sources: Any = None,
    downloadonly: bool = False,
    reinstall: bool = False,
    normalize: bool = True,
    update_holds: bool = False,
    saltenv: str = "base",
    ignore_epoch: bool | None = False,
    **kwargs: Any,
) -> Changes:
    """Install packages and return what changed, ``{package: {"old": …, "new": …}}``; in the cache if ``downloadonly``.

    ``name`` (with ``version``), ``pkgs`` or ``sources``. A version may be a condition (``>=1.2,<2``) or a glob.
    Held packages are not changed and make the call fail, unless ``update_holds`` releases them meanwhile. ``fromrepo``,
    ``enablerepo``, ``disablerepo``, ``disableexcludes`` and ``setopt`` are for dnf. CommandExecutionError if anything
    failed; its ``info`` has ``errors`` and ``changes``.
    """
    if refresh:
        refresh_db(**kwargs)
    targets, kind = __salt__["pkg_resource.parse_targets"](
        name,
        pkgs,
        sources,
        saltenv=saltenv,
        normalize=normalize and kwargs.get("split_arch", True),
        version=kwargs.get("version"),
    )
    if not targets:
        return {}
    listing = Downloads() if downloadonly else LISTING
    transaction = Transaction(listing, partial(call, env=kwargs.get("env")))
    compare = partial(_rpm_versions.compare, ignore_epoch=bool(ignore_epoch))
    known: list[tuple[str, str | None, str]]
    if kind == "file":
        known = [(*version_of_file(path), path) for path in targets]
    else:
        wanted, transaction.errors[:] = _resolved(targets, compare, **kwargs)
        known = [(each, version, named_version(each, version) if version else each) for each, version in wanted.items()]
    old = LISTING.get(versions_as_list=True)
    orders = [
        _Order(each, argument, _action(version, old.get(each, []), compare, reinstall=reinstall))
        for each, version, argument in known
    ]
    held = held_among(order.package for order in orders)
    options = [*choices(**kwargs), *(["--nogpgcheck"] if skip_verify else [])]
    options += ["--downloadonly"] if downloadonly else []
    with without_holds(held if update_holds else (), unhold, hold):
        free = orders if update_holds else [order for order in orders if order.package not in held]
        _carry_out(transaction, free, options)
    if held and not update_holds:
        transaction.errors.append(
            f"The following package(s) could not be updated because they are being held: {', '.join(sorted(held))}. "
            "Set 'update_holds' to True to temporarily unhold these packages so that they can be updated."
        )
    again = [order.package for order in orders if order.action == "reinstall"]
    return transaction.finish(
        f"Error occurred installing{'/reinstalling' if again else ''} package(s)", reinstalled=again
    )


def remove(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> Changes:
    """Remove packages and return what changed. A ``*`` in a name matches any characters."""
    transaction = Transaction(LISTING, partial(call, env=kwargs.get("env")))
    targets = to_remove(name, pkgs, transaction.before)
    if not targets:
        return {}
    arguments = (named_version(each, version) if version else each for each, version in targets.items())
    transaction.run("-y", "remove", *arguments)
    return transaction.finish("Error occurred removing package(s)")


def purge(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> Changes:
    """The same as `remove`: rpm leaves no configuration behind but what was changed by hand."""
    return remove(name, pkgs, **kwargs)


def upgrade(
    name: str | None = None,
    pkgs: Any = None,
    refresh: bool = True,
    skip_verify: bool = False,
    normalize: bool = True,
    minimal: bool = False,
    obsoletes: bool = True,
    **kwargs: Any,
) -> Changes:
    """Upgrade all packages, or ``name`` or those of the list ``pkgs``, and return what changed.

    ``minimal`` upgrades only to the version that fixes something; without ``obsoletes`` no package replaces another.
    """
    if refresh:
        refresh_db(**kwargs)
    old = LISTING.get()
    targets: Any = {}
    if name or pkgs:
        targets, _ = __salt__["pkg_resource.parse_targets"](name, pkgs, None, normalize=normalize)
    options = [*choices(**kwargs), *([] if obsoletes else ["--setopt=obsoletes=False"])]
    options += ["--nogpgcheck"] if skip_verify else []
    action = "upgrade-minimal" if minimal else "upgrade"
    result = call(["--quiet", "-y", *options, action, *(targets or {})], env=kwargs.get("env"))
    LISTING.forget()
    done = changes(old, LISTING.get())
    if result["retcode"]:
        raise CommandExecutionError("Problem encountered upgrading packages", {"changes": done, "result": result})
    return done


def autoremove(list_only: bool = False, purge: bool = False) -> Any:
    """Remove packages that are no longer needed and return what changed; with ``list_only``, return their names."""
    if list_only:
        done = call(["--quiet", "repoquery", "--unneeded", "--queryformat", "%{name}\n"], ignore_retcode=True)
        return sorted(set(str(done["stdout"]).split()))
    transaction = Transaction(LISTING, call)
    transaction.run("-y", "autoremove")
    return transaction.finish("Problem encountered removing package(s)")


def _resolved(targets: dict[str, str | None], compare: Any, **kwargs: Any) -> tuple[dict[str, str | None], list[str]]:
    """Replace version conditions by the newest version that meets them; also return what cannot be met."""
    conditions = [name for name, version in targets.items() if is_condition(version)]
    available = list_repo_pkgs(*conditions, **{**kwargs, "byrepo": False}) if conditions else {}
    found: dict[str, str | None] = {}
    errors = []
    for name, version in targets.items():
        if name not in conditions or version is None:
            found[name] = version.lstrip("=") if version else None
            continue
        match = newest_match(version, available.get(name, ()), compare)
        if match is not None:
            found[name] = match
        else:
            offered = ", ".join(available.get(name, ()))
            if "*" in version:
                errors.append(
                    f"No version matching '{version}' found for package '{name}' (available: {offered or 'none'})"
                )
            else:
                errors.append(f"No version matching '{name}{version}' could be found (available: {offered or None})")
    return found, errors


def _action(version: str | None, current: Iterable[str], compare: Any, *, reinstall: bool) -> str:
    versions = list(current)
    if not versions:
        return "install"
    if version is None or any(compare(version, each) == 0 for each in versions):
        return "reinstall" if reinstall else "install"
    return "install" if any(compare(version, each) > 0 for each in versions) else "downgrade"


def _carry_out(transaction: Transaction, orders: list[_Order], options: list[str]) -> None:
    for action, more in {"install": ["--best", "--allowerasing"], "downgrade": [], "reinstall": []}.items():
        arguments = [order.argument for order in orders if order.action == action]
        if arguments:
            transaction.run("-y", *options, action, *more, *arguments)
