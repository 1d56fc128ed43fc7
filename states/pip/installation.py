"""The work of ``pip.installed``: comparison, installation, and the row."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from asyncstate import filesystem
from asyncstate.data.urls import without_credentials
from asyncstate.dunders import Row, __env__, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import CommandExecutionError, InvocationError

_INSTALLED_ANYWAY = ("target", "upgrade", "force_reinstall", "ignore_installed", "no_install", "download", "extra_args")
_ALREADY = ("Requirement already satisfied: ", "Requirement already up-to-date: ")


class Wanted(NamedTuple):
    """One package: its normalized name ("" if only pip knows it), its text in the arguments, the allowed versions."""

    name: str
    text: str
    specs: list[tuple[str, str]]


@dataclass
class Installation:
    """One call of ``pip.installed``. ``where`` selects the pip; ``options`` are passed to ``pip.install``."""

    name: str
    texts: list[str]
    requirements: Any
    editable: Any
    where: dict[str, Any]
    options: dict[str, Any]
    already: list[str] = field(default_factory=list)
    """Comments about packages that are installed already."""

    def run(self, name: str) -> Row:
        """Do the work and return the row. Passes on the errors of the execution module."""
        user = self.where["user"]
        if user and not __salt__["user.info"](user):
            return failed(self.name, f"User {user} does not exist")
        try:
            version = __salt__["pip.version"](self.where["bin_env"], user=user)
        except CommandExecutionError as error:
            return failed(self.name, f"Error installing '{name}': {error}")
        for option in ("use_wheel", "no_use_wheel"):
            if self.options[option]:
                return failed(
                    self.name,
                    f"The '{option}' option is only supported in pip between 1.4 and 9.0.3. The version of pip "
                    f"detected was {version}.",
                )
        try:
            wanted = [] if self._is_by_file() else self._parsed()
        except InvocationError as error:
            return failed(self.name, str(error))
        return self._process_files() if self._is_by_file() else self._process_packages(wanted)

    def _is_by_file(self) -> bool:
        return bool(self.requirements or self.editable)

    def _parsed(self) -> list[Wanted]:
        """Return the wanted packages. Raises InvocationError, which names all texts that pip would not understand."""
        found, complaints = [], []
        for text in self.texts:
            try:
                name, specs = __salt__["pip.requirement"](text)
                found.append(Wanted(name, text, specs))
            except InvocationError as error:
                complaints.append(str(error))
        if complaints:
            raise InvocationError("\n".join(complaints))
        return found

    def _process_files(self) -> Row:
        if is_dry_run():
            comments = []
            given = self.requirements
            for file in given if isinstance(given, list) else [each.strip() for each in str(given).split(",")]:
                if str(file).startswith("/"):
                    filesystem.require_unshared(str(file), "pip", self.where["user"])
                if filesystem.foretells() and not self._is_there(str(file)):
                    return failed(self.name, f'Unable to process requirements file "{file}". There is no such file')
            if filesystem.foretells() and self._has_all():
                return unchanged(self.name, "Requirements were already installed.")
            if self.requirements:
                comments.append(f"Requirements file '{self.requirements}' will be processed.")
            if self.editable:
                comments.append(
                    f'Package will be installed in editable mode (i.e. setuptools "develop mode") from {self.editable}.'
                )
            return would_change(self.name, " ".join(comments))
        try:
            done = self._install("")
        except InvocationError as error:
            return failed(self.name, " ".join([*self._file_failures(), f"Error: {error}"]))
        if done["retcode"]:
            return failed(self.name, " ".join([*self._file_failures(), self._error(done)]))
        comments, changes = [], {}
        if self.requirements:
            if "Successfully installed" in done["stdout"]:
                changes["requirements"] = True
                comments.append(f"Successfully processed requirements file {self.requirements}.")
            else:
                comments.append("Requirements were already installed.")
        if self.editable:
            changes["editable"] = True
            comments.append(f"Package successfully installed from VCS checkout {self.editable}.")
        return changed(self.name, " ".join(comments), changes)

    def _is_there(self, file: str) -> bool:
        """Return whether the tree, or this machine, has a file of requirements; True for what pip itself looks for."""
        if file.startswith("salt://"):
            return bool(__salt__["cp.cache_file"](file, str(__env__)))
        return not file.startswith("/") or filesystem.exists(file)

    def _has_all(self) -> bool:
        """Return whether pip would find everything in the files installed."""
        if self.editable or any(self.options[each] for each in _INSTALLED_ANYWAY):
            return False
        where = {key: value for key, value in self.where.items() if key != "env_vars"}
        return not __salt__["pip.unmet"](requirements=self.requirements, saltenv=str(__env__), **where)

    def _file_failures(self) -> list[str]:
        failures = []
        if self.requirements:
            failures.append(f'Unable to process requirements file "{self.requirements}"')
        if self.editable:
            failures.append(f"Unable to install from VCS checkout {self.editable}.")
        return failures

    def _process_packages(self, wanted: list[Wanted]) -> Row:
        there = __salt__["pip.list"](**self.where)
        missing = [package for package in wanted if not self._is_fine(package, there)]
        if not missing:
            also = " and up-to-date" if self.options["upgrade"] else ""
            return unchanged(
                self.name, "\n".join([*self.already, f"All specified packages are already installed{also}"])
            )
        if is_dry_run():
            if len(wanted) > 1:
                comment = "\n".join(["Python package(s) set to be installed:", *(package.text for package in wanted)])
            else:
                comment = f"Python package {missing[0].text} is set to be installed"
            return would_change(self.name, comment)
        done = self._install(",".join(package.text.replace(",", ";") for package in missing))
        if done["retcode"]:
            names = ", ".join(package.text.replace(",", ";") for package in missing)
            comment = f"Failed to install packages: {names}. {self._error(done)}"
            return failed(self.name, "\n".join([*self.already, comment]))
        return self._report(missing, there, done["stdout"])

    def _is_fine(self, package: Wanted, there: dict[str, str]) -> bool:
        """Return whether a package needs nothing, and record the comment about it."""
        options = self.options
        if options["ignore_installed"] or options["force_reinstall"] or package.name not in there:
            return False
        have = there[package.name]
        if not options["upgrade"]:
            fine: bool = __salt__["pip.satisfies"](have, package.specs)
            if fine:
                self.already.append(f"Python package {package.text} was already installed")
            return fine
        best = self._best(package)
        if best is None:
            self.already.append(
                f"Python package {package.name} was already installed and\n"
                "the available upgrade doesn't fulfills the version requirements"
            )
            return True
        if __salt__["pip.satisfies"](have, [("==", best)]):
            self.already.append(f"Python package {package.text} was already installed")
            return True
        return False

    def _best(self, package: Wanted) -> str | None:
        """Return the newest available version that is allowed."""
        asked = "".join(version for _, version in package.specs)
        versions = __salt__["pip.list_all_versions"](
            package.name,
            include_alpha="a" in asked,
            include_beta="b" in asked,
            include_rc="rc" in asked,
            **self.where,
            **{key: self.options[key] for key in ("index_url", "extra_index_url", "find_links", "no_index")},
        )
        allowed = [version for version in versions or [] if __salt__["pip.satisfies"](version, package.specs)]
        return allowed[-1] if allowed else None

    def _install(self, packages: str) -> dict[str, Any]:
        done: dict[str, Any] = __salt__["pip.install"](
            pkgs=packages,
            requirements=self.requirements,
            editable=self.editable,
            saltenv=str(__env__),
            disable_version_check=True,
            **self.where,
            **self.options,
        )
        return done

    def _report(self, asked: list[Wanted], before: dict[str, str], output: str) -> Row:
        # pip prints "already satisfied" also for a package that it then replaces by a newer version.
        lines = [line for line in output.split("\n") if line.startswith(_ALREADY)]
        kept = {
            __salt__["pip.normalize"](re.split(r"[=!<>~@\[]", line.partition(":")[2].split()[0])[0]) for line in lines
        }
        there = __salt__["pip.list"](**self.where)
        unseen = []
        changes = {}
        for package in asked:
            if not package.name:
                changes[f"{package.text.replace(',', ';')}==???"] = "Installed"
            elif package.name not in there:
                unseen.append(
                    f"There was no error installing package '{package.text}' although it does not show when calling "
                    "'pip.freeze'."
                )
            elif package.name not in kept or there[package.name] != before.get(package.name):
                changes[f"{package.name}=={there[package.name]}"] = "Installed"
        comments = [*self.already, *(unseen or ["All packages were successfully installed"])]
        return changed(self.name, "\n".join(comments), changes)

    def _error(self, done: dict[str, Any]) -> str:
        return without_credentials(f"Error: {done['stdout']} {done['stderr']}")
