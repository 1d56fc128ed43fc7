"""Installing, removing and upgrading packages with apt-get."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

from .._package_transactions import changes, without_holds  # noqa: TID252 - as `modules` for type checkers
from ._ahead import prefetched
from ._candidates import list_repo_pkgs, refresh_db, refresh_needed
from ._foresight import only, options_of_agreement
from ._installed import forget, get_selections, hold, list_pkgs, unhold
from ._programs import call
from ._versions import compare, newest_match

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Changes = dict[str, Any]


_MORE_OPTIONS = {"install": [], "downgrade": ["--allow-downgrades"], "reinstall": ["--reinstall"]}
"""The options of apt-get for each kind of change."""
_INSTALLED = re.compile(r"^Inst (\S+)", re.MULTILINE)
"""The line of a package in apt's simulation."""


class _Order(NamedTuple):
    """One argument of apt-get: the package, the package or file to pass, and the kind of change."""

    package: str
    argument: str
    kind: str  # "install", "downgrade" or "reinstall"


class _Task:
    """The orders of one call of `install` or `refusal`, and their commands; ``errors`` are what went wrong so far."""

    def __init__(self, orders: list[_Order], options: list[str], errors: list[str]) -> None:
        self.orders = orders
        self.errors = errors
        self._options = options
        self.held = {order.package for order in orders}.intersection(get_selections(state="hold")["hold"])

    def commands(self, *before: str, after: Iterable[str] = ()) -> Iterator[tuple[str, list[str]]]:
        """Yield each kind of change with its command; ``before`` and ``after`` are options around those of the task."""
        for kind, more in _MORE_OPTIONS.items():
            arguments = [order.argument for order in self.orders if order.kind == kind]
            if arguments:
                options = [*before, *self._options, *more, *after]
                yield kind, ["apt-get", "-q", "-y", *options, "install", "--", *arguments]


def install(
    name: str | None = None,
    refresh: bool = False,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    debconf: str | None = None,
    pkgs: Any = None,
    sources: Any = None,
    reinstall: bool = False,
    downloadonly: bool = False,
    ignore_epoch: bool | None = False,
    normalize: bool = True,
    **kwargs: Any,
) -> Changes:
    """Install packages and return what changed, ``{package: {"old": …, "new": …}}``.

    ``name`` (with ``version``), ``pkgs`` or ``sources``. A version may be a condition (``>=1.2,<2``) or a glob.
    Packages on hold are changed too, and held again. ``install_recommends``, ``only_upgrade``, ``force_conf_new``,
    ``force_yes`` and ``env`` are for apt. CommandExecutionError if anything failed; its ``info`` has ``errors`` and
    ``changes``.
    """
    if debconf:
        __salt__["debconf.set_file"](debconf)
    targets, kind = _targets(name, pkgs, sources, normalize=normalize, **kwargs)
    if not targets:
        return {}
    if refresh and (kind == "file" or refresh_needed(targets)):
        refresh_db(kwargs.get("cache_valid_time", 0))
    old = list_pkgs()
    options = _options(skip_verify=skip_verify, fromrepo=None if kind == "file" else fromrepo, **kwargs)
    task = _task(targets, kind, old, options, reinstall=reinstall, ignore_epoch=bool(ignore_epoch))
    with prefetched([] if downloadonly else [order.package for order in task.orders]) as used:
        with without_holds(task.held, unhold, hold):
            agreement = options_of_agreement()
            for _, command in task.commands(*agreement, after=["--download-only"] if downloadonly else []):
                _run(command, kwargs.get("env"), task.errors, ignore_retcode=bool(agreement))
        forget()
        new = list_pkgs()
        done = changes(old, new)
        used.update((name, version) for name in done for version in new.get(name, "").split(","))
    for order in task.orders:
        if order.kind == "reinstall" and order.package not in done:
            done[order.package] = {"old": old.get(order.package, ""), "new": new.get(order.package, "")}
    if task.errors:
        about = {"errors": task.errors, "changes": done}
        raise CommandExecutionError("Problem encountered installing package(s)", about)
    return done


def refusal(
    pkgs: Any,
    fromrepo: str | None = None,
    skip_verify: bool = False,
    reinstall: bool = False,
    ignore_epoch: bool | None = False,
    normalize: bool = True,
    **kwargs: Any,
) -> str:
    """Return why `install` with these arguments would fail, as far as apt's simulation of it tells; "" if it may not.

    What is on hold counts as free to change if it is named.
    """
    targets, kind = _targets(None, pkgs, None, normalize=normalize, **kwargs)
    old = list_pkgs()
    options = _options(skip_verify=skip_verify, fromrepo=fromrepo, **kwargs)
    task = _task(targets or {}, kind, old, options, reinstall=reinstall, ignore_epoch=bool(ignore_epoch))
    after = ["--allow-change-held-packages"] if task.held else []
    for how, command in task.commands("--just-print", after=after):
        told = _run(command, kwargs.get("env"), task.errors, ignore_retcode=True)
        installed = {name.partition(":")[0] for name in _INSTALLED.findall(told)}
        new = [order.package for order in task.orders if order.kind == how and order.package not in old]
        others = [name for name in new if name.partition(":")[0] not in installed]
        if others and not task.errors:
            task.errors.append(f"apt would install other packages instead of {', '.join(others)}")
    return "\n".join(task.errors)


def _targets(
    name: str | None,
    pkgs: Any,
    sources: Any,
    *,
    normalize: bool,
    split_arch: bool = True,
    version: Any = None,
    **_: Any,
) -> tuple[Any, str | None]:
    """Return the packages or files to install, and which of both they are, as ``pkg_resource.parse_targets`` does."""
    found: tuple[Any, str | None] = __salt__["pkg_resource.parse_targets"](
        name, pkgs, sources, normalize=normalize and split_arch, version=version
    )
    return found


def _task(
    targets: Any, kind: str | None, old: dict[str, str], options: list[str], *, reinstall: bool, ignore_epoch: bool
) -> _Task:
    if kind == "file":
        return _Task([_order_of_file(path, old, reinstall=reinstall) for path in targets], options, [])
    wanted, errors = _resolved(targets, ignore_epoch=ignore_epoch)
    orders = [_order(package, version, old, reinstall=reinstall) for package, version in wanted.items()]
    return _Task(orders, options, errors)


def install_foreseen(expected: Changes, pkgs: Any, **kwargs: Any) -> Changes | None:
    """Do what `install` with these arguments does if that changes exactly what is ``expected`` (see `foresee`).

    Otherwise nothing is changed, and None is returned.
    """
    with only(expected) as word:
        try:
            return install(pkgs=pkgs, **kwargs)
        except CommandExecutionError:
            if word.agreed:
                raise
            return None


def remove(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> Changes:
    """Remove packages, keep their configuration, and return what changed. A ``*`` in a name matches any characters."""
    return _uninstall("remove", name, pkgs, **kwargs)


def purge(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> Changes:
    """Remove packages and their configuration; returns ``{"installed": changes, "removed": changes}``."""
    return _uninstall("purge", name, pkgs, **kwargs)


def upgrade(refresh: bool = True, dist_upgrade: bool = False, **kwargs: Any) -> Changes:
    """Upgrade all packages, or those of the list ``pkgs``, and return what changed.

    ``dist_upgrade`` lets apt install and remove others for it.
    """
    if refresh:
        refresh_db(kwargs.get("cache_valid_time", 0))
    old = list_pkgs()
    options = _options(skip_verify=bool(kwargs.get("skip_verify")), **kwargs)
    if kwargs.get("allow_downgrades"):
        options.append("--allow-downgrades")
    if kwargs.get("download_only") or kwargs.get("downloadonly"):
        options.append("--download-only")
    only = list(__salt__["pkg_resource.pack_pkgs"](kwargs["pkgs"])) if kwargs.get("pkgs") else []
    action = ["install", "--only-upgrade", "--", *only] if only else ["dist-upgrade" if dist_upgrade else "upgrade"]
    result = call(["apt-get", "-q", "-y", *options, *action], env=kwargs.get("env"))
    forget()
    done = changes(old, list_pkgs())
    if result["retcode"]:
        raise CommandExecutionError("Problem encountered upgrading packages", {"changes": done, "result": result})
    return done


def autoremove(list_only: bool = False, purge: bool = False) -> Any:
    """Remove packages that are no longer needed and return what changed; with ``list_only``, return their names."""
    options = ["--purge"] if purge else []
    if list_only:
        text = call(["apt-get", "--assume-no", *options, "autoremove"], ignore_retcode=True)["stdout"]
        _, _, tail = str(text).partition("The following packages will be REMOVED:\n")
        names = []
        for line in tail.splitlines():
            if not line.startswith(" "):
                break
            names += line.split()
        return sorted(names)
    old = list_pkgs()
    result = call(["apt-get", "--assume-yes", *options, "autoremove"])
    forget()
    done = changes(old, list_pkgs())
    if result["retcode"]:
        raise CommandExecutionError("Problem encountered removing package(s)", {"changes": done, "result": result})
    return done


def _uninstall(action: str, name: str | None, pkgs: Any, **kwargs: Any) -> Changes:
    targets, _ = __salt__["pkg_resource.parse_targets"](name, pkgs)
    old, old_removed = list_pkgs(), list_pkgs(removed=True)
    names = _matching(old, targets or {})
    if action == "purge":
        names += [each for each in _matching(old_removed, targets or {}) if each not in names]
    if not names:
        return {}
    errors: list[str] = []
    _run(["apt-get", "-q", "-y", action, "--", *names], kwargs.get("env"), errors)
    forget()
    done: Changes = changes(old, list_pkgs())
    if action == "purge":
        done = {"removed": changes(old_removed, list_pkgs(removed=True)), "installed": done}
    if errors:
        raise CommandExecutionError("Problem encountered removing package(s)", {"errors": errors, "changes": done})
    return done


def _run(command: list[str], env: Any, errors: list[str], **options: Any) -> str:
    done = call(command, env=env, **options)
    if done["retcode"]:
        errors.append(done["stderr"] or done["stdout"] or f"{command[0]} ended with exit status {done['retcode']}")
    return str(done["stdout"])


def _options(*, skip_verify: bool, fromrepo: str | None = None, **kwargs: Any) -> list[str]:
    if kwargs.get("force_conf_new"):
        options = ["-o", "DPkg::Options::=--force-confnew"]
    else:
        options = ["-o", "DPkg::Options::=--force-confold", "-o", "DPkg::Options::=--force-confdef"]
    if kwargs.get("force_yes"):
        options += ["--allow-downgrades", "--allow-remove-essential", "--allow-change-held-packages"]
        skip_verify = True
    if kwargs.get("install_recommends") is not None:
        options.append("--install-recommends" if kwargs["install_recommends"] else "--no-install-recommends")
    if kwargs.get("only_upgrade"):
        options.append("--only-upgrade")
    if skip_verify:
        options.append("--allow-unauthenticated")
    return [*options, "-t", fromrepo] if fromrepo else options


def _resolved(targets: dict[str, str | None], *, ignore_epoch: bool) -> tuple[dict[str, str | None], list[str]]:
    """Replace version conditions by the newest version that meets them; also return what cannot be met."""
    conditions = [name for name, version in targets.items() if version and version.startswith(("<", ">"))]
    available = list_repo_pkgs(*conditions) if conditions else {}
    resolved, errors = {}, []
    for name, version in targets.items():
        if name not in conditions or version is None:
            resolved[name] = version.lstrip("=") if version else None
            continue
        match = newest_match(version, available.get(name, []), ignore_epoch=ignore_epoch)
        if match is None:
            offered = ", ".join(available.get(name, [])) or None
            errors.append(f"No version matching '{name}{version}' could be found (available: {offered})")
        else:
            resolved[name] = match
    return resolved, errors


def _order(package: str, version: str | None, old: dict[str, str], *, reinstall: bool) -> _Order:
    argument = f"{package}={version}" if version else package
    return _Order(package, argument, _kind(version, old.get(package, ""), reinstall=reinstall))


def _order_of_file(path: str, old: dict[str, str], *, reinstall: bool) -> _Order:
    about = __salt__["lowpkg.bin_pkg_info"](path)
    return _Order(about["name"], path, _kind(about["version"], old.get(about["name"], ""), reinstall=reinstall))


def _kind(version: str | None, current: str, *, reinstall: bool) -> str:
    if not current:
        return "install"
    newest = current.rpartition(",")[2]
    if version is None or fnmatch.fnmatch(newest, version) or not compare(version, newest):
        return "reinstall" if reinstall else "install"
    return "install" if compare(version.rstrip("*"), newest) > 0 else "downgrade"


def _matching(installed: dict[str, str], wanted: Iterable[str]) -> list[str]:
    names: dict[str, None] = {}
    for each in wanted:
        found = fnmatch.filter(installed, each) if "*" in each else [each] if each in installed else []
        names.update(dict.fromkeys(found))
    return list(names)
