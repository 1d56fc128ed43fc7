"""Installing, removing and upgrading packages with zypper."""

from __future__ import annotations

from functools import partial
from typing import Any

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

from .. import _rpm_versions  # noqa: TID252 - as `modules` for type checkers
from .._package_listing import Downloads  # noqa: TID252 - as `modules` for type checkers
from .._package_transactions import Transaction, changes, reason, to_remove, without_holds  # noqa: TID252 - as `modules` for type checkers
from .._rpm_database import LISTING, version_of_file  # noqa: TID252 - as `modules` for type checkers
from .._version_conditions import is_condition, newest_match  # noqa: TID252 - as `modules` for type checkers
from ._candidates import list_repo_pkgs, refresh_db
from ._locks import hold, list_locks, unhold
from ._programs import FINE, asked, call

Changes = dict[str, Any]


def install(
    name: str | None = None,
    refresh: bool = False,
    fromrepo: str | None = None,
    pkgs: Any = None,
    sources: Any = None,
    downloadonly: bool = False,
    skip_verify: bool = False,
    version: Any = None,
    ignore_repo_failure: bool = False,
    no_recommends: bool = False,
    reinstall: bool = False,
    update_holds: bool = False,
    **kwargs: Any,
) -> Changes:
    """Install packages and return what changed, ``{package: {"old": …, "new": …}}``; in the cache if ``downloadonly``.

    ``name`` (with ``version``), ``pkgs`` or ``sources``. A version may be a condition (``>=1.2,<2``) or a glob; an
    older one than the installed is a downgrade. ``update_holds`` releases locked packages meanwhile.
    CommandExecutionError if anything failed; its ``info`` has ``errors`` and ``changes``.
    """
    if refresh:
        refresh_db()
    targets, kind = __salt__["pkg_resource.parse_targets"](
        name, pkgs, sources, saltenv=kwargs.get("saltenv", "base"), version=version
    )
    if not targets:
        return {}
    fine = (*FINE, 106) if ignore_repo_failure else FINE
    listing = Downloads() if downloadonly else LISTING
    transaction = Transaction(listing, partial(call, env=kwargs.get("env")), fine=fine)
    old = LISTING.get(versions_as_list=True)
    known: list[tuple[str, str | None, str]]
    if kind == "file":
        known = [(*version_of_file(path), path) for path in targets]
    else:
        wanted, transaction.errors[:] = _resolved(targets)
        known = [(each, number, f"{each}={number}" if number else each) for each, number in wanted.items()]
    glob = ["--no-refresh", *(["--no-gpg-checks"] if skip_verify else [])]
    options = ["--auto-agree-with-licenses", "--capability" if kwargs.get("resolve_capabilities") else "--name"]
    options += ["--download-only"] if downloadonly else []
    options += ["--force", "--force-resolution", "--from", fromrepo] if fromrepo else []
    options += ["--no-recommends"] if no_recommends else []
    again = [each for each, number, _ in known if reinstall and _is_installed(number, old.get(each, []))]
    older = [each for each, number, _ in known if _is_older(number, old.get(each))]
    held = {each for each, _, _ in known} & {*list_locks()} if update_holds else ()
    with without_holds(held, unhold, hold):
        for more, names in {
            "": [each for each, _, _ in known if each not in again and each not in older],
            "--oldpackage": older,
            "--force": again,
        }.items():
            arguments = [argument for each, _, argument in known if each in names]
            if arguments:
                transaction.run(*glob, "install", *options, *filter(None, [more]), *arguments)
    what = "downloading" if downloadonly else "installing"
    return _finished(transaction, f"Problem encountered {what} package(s)", reinstalled=again)


def remove(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> Changes:
    """Remove packages and return what changed. A ``*`` in a name matches any characters."""
    transaction = Transaction(LISTING, partial(call, env=kwargs.get("env")), fine=FINE)
    targets = to_remove(name, pkgs, transaction.before)
    if not targets:
        return {}
    transaction.run("remove", *(f"{each}={number}" if number else each for each, number in targets.items()))
    return _finished(transaction, "Problem encountered removing package(s)")


def purge(name: str | None = None, pkgs: Any = None, **kwargs: Any) -> Changes:
    """The same as `remove`: rpm leaves no configuration behind but what was changed by hand."""
    return remove(name, pkgs, **kwargs)


def upgrade(
    name: str | None = None,
    pkgs: Any = None,
    refresh: bool = True,
    dryrun: bool = False,
    dist_upgrade: bool = False,
    fromrepo: Any = None,
    novendorchange: bool = False,
    skip_verify: bool = False,
    no_recommends: bool = False,
    **kwargs: Any,
) -> Any:
    """Upgrade all packages, or ``name`` or those of the list ``pkgs``, and return what changed.

    ``dist_upgrade`` lets zypper install and remove others for it; ``dryrun`` only returns zypper's text.
    """
    if refresh:
        refresh_db()
    repos = [fromrepo] if isinstance(fromrepo, str) else list(fromrepo or ())
    command = [*(["--no-gpg-checks"] if skip_verify else []), "dist-upgrade" if dist_upgrade else "update"]
    command += ["--auto-agree-with-licenses", *(["--dry-run"] if dryrun else [])]
    command += [word for repo in repos for word in ("--from" if dist_upgrade else "--repo", str(repo))]
    if dist_upgrade:
        command += ["--no-allow-vendor-change"] if novendorchange else []
        command += ["--no-recommends"] if no_recommends else []
    elif name or pkgs:
        targets, _ = __salt__["pkg_resource.parse_targets"](name, pkgs, None)
        command += list(targets or ())
    old = LISTING.get()
    result = call(command, env=kwargs.get("env"))
    LISTING.forget()
    done = changes(old, LISTING.get())
    if result["retcode"] not in FINE:
        raise CommandExecutionError("Problem encountered upgrading packages", {"changes": done, "result": result})
    return f"{result['stdout']}\n{result['stderr']}".strip() if dryrun else done


def autoremove(list_only: bool = False, purge: bool = False) -> Any:
    """Remove packages that are no longer needed and return what changed; with ``list_only``, return their names."""
    names = _unneeded()
    if list_only:
        return names
    transaction = Transaction(LISTING, call, fine=FINE)
    if names:
        transaction.run("remove", *names)
    return transaction.finish("Problem encountered removing package(s)")


def _finished(transaction: Transaction, problem: str, *, reinstalled: list[str] | None = None) -> Changes:
    """Return the changes. If it failed without changes, zypper's message itself is the error, as in Salt."""
    try:
        return transaction.finish(problem, reinstalled=reinstalled or ())
    except CommandExecutionError as error:
        answer = transaction.answer
        if not answer or answer["retcode"] in FINE or (isinstance(error.info, dict) and error.info["changes"]):
            raise
        output = f"{answer['stderr'].strip()}{answer['stdout'].strip()}"
        raise CommandExecutionError(f"Zypper command failure: {output or reason(answer)}") from error


def _unneeded() -> list[str]:
    """Return the packages installed as dependencies that are no longer needed, from a table: there is no XML."""
    asked("list-updates")  # reports errors of the repositories, which would otherwise look like an empty table
    rows = [
        line.split("|")
        for line in str(call(["--no-refresh", "packages", "--unneeded"], ignore_retcode=True)["stdout"]).splitlines()
    ]
    return sorted({row[2].strip() for row in rows if len(row) == 5 and row[0].strip().startswith("i")})


def _resolved(targets: dict[str, str | None]) -> tuple[dict[str, str | None], list[str]]:
    """Replace version conditions by the newest version that meets them; also return what cannot be met."""
    conditions = [name for name, version in targets.items() if is_condition(version)]
    available = list_repo_pkgs(*conditions) if conditions else {}
    found: dict[str, str | None] = {}
    errors = []
    for name, version in targets.items():
        if name not in conditions or version is None:
            found[name] = version.lstrip("=") if version else None
            continue
        match = newest_match(version, available.get(name, ()), _rpm_versions.compare)
        if match is None:
            offered = ", ".join(available.get(name, ())) or None
            errors.append(f"No version matching '{name}{version}' could be found (available: {offered})")
        else:
            found[name] = match
    return found, errors


def _is_older(version: str | None, current: list[str] | None) -> bool:
    return bool(version and current) and all(_rpm_versions.compare(str(version), each) < 0 for each in current or ())


def _is_installed(version: str | None, current: list[str]) -> bool:
    return bool(current) and (version is None or any(_rpm_versions.compare(version, each) == 0 for each in current))
