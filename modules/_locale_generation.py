"""Names of locales, and compiling them with locale-gen or localedef."""

from __future__ import annotations

import logging
import os
import re
import shutil
import threading
from typing import Any, NamedTuple

from asyncstate import filesystem
from asyncstate.dunders import __grains__, __salt__, is_dry_run
from asyncstate.errors import CommandExecutionError, InvocationError

log = logging.getLogger(__name__)

_SUPPORTED = "/usr/share/i18n/SUPPORTED"
_SOURCES = "/usr/share/i18n/locales"
_LIST = "/etc/locale.gen"
_NAME = re.compile(r"([A-Za-z]+)(?:_([A-Za-z]+))?(?:\.([\w-]+))?(?:@(\w+))?(?: ([\w-]+))?")

_changing = threading.Lock()


class Name(NamedTuple):
    """The parts of ``language_TERRITORY.codeset@modifier charmap``."""

    language: str
    territory: str
    codeset: str
    modifier: str
    charmap: str

    def __str__(self) -> str:
        """Return the name without its empty parts."""
        marks = (("_", self.territory), (".", self.codeset), ("@", self.modifier), (" ", self.charmap))
        return self.language + "".join(mark + part for mark, part in marks if part)

    def as_listed(self) -> str:
        """Return the name as ``locale -a`` prints it."""
        codeset = self.codeset.lower().replace("-", "")
        return str(self._replace(territory=self.territory.upper(), codeset=codeset, charmap=""))


def parse(locale: str) -> Name:
    """Return the parts of a name. InvocationError if it is not the name of a locale."""
    found = _NAME.fullmatch(locale.strip())
    if found is None:
        raise InvocationError(f"{locale!r} is not the name of a locale, such as en_US.UTF-8")
    return Name(*(part or "" for part in found.groups()))


def list_avail() -> list[str]:
    """Return the compiled locales."""
    return str(__salt__["cmd.run_stdout"](["locale", "-a"], python_shell=False)).split("\n")


def avail(locale: str) -> bool:
    """Return whether a locale is compiled; case and hyphens of the codeset do not matter."""
    try:
        wanted = parse(locale).as_listed()
    except InvocationError as error:
        log.error("%s", error)  # noqa: TRY400 - the caller learns that there is none
        return False
    return any(_listed(each) == wanted for each in list_avail())


def gen_locale(locale: str, **kwargs: Any) -> Any:
    """Compile a locale; return whether it succeeded, with ``verbose`` the output of the program.

    The system must have the source of the locale; a dry run only checks that. The locale is added to /etc/locale.gen
    if that file exists.
    """
    name = parse(locale)
    if not name.charmap and __grains__.get("os") != "Ubuntu":
        name = name._replace(charmap=name.codeset)
    if not _has_source(name):
        log.error('The provided locale "%s" is not found in %s', name, _SUPPORTED)
        return False
    command = _command(name, verbose=bool(kwargs.get("verbose")))
    if is_dry_run():
        return True
    if os.path.exists(_LIST):
        _enlist(str(name))
    answer = __salt__["cmd.run_all"](command, python_shell=False)
    if answer["retcode"]:
        log.error("%s", answer["stderr"])
    return answer if kwargs.get("verbose") else answer["retcode"] == 0


def set_variable(path: str, locale: str, quote: str = "") -> None:
    """Set LANG to a locale in a file of variables."""
    parse(locale)
    line = f"LANG={quote}{locale}{quote}"
    lines = [line if each.startswith("LANG=") else each for each in _lines(path)]
    _write(path, lines if line in lines else [*lines, line])


def variable(path: str) -> str:
    """Return the value of LANG in a file of variables, "" if it is not set there."""
    found = next((each for each in _lines(path) if each.startswith("LANG=")), "")
    return found.partition("=")[2].replace('"', "")


def _listed(name: str) -> str:
    try:
        return parse(name).as_listed()
    except InvocationError:
        return name


def _has_source(name: Name) -> bool:
    if __grains__.get("os") in {"Debian", "Gentoo"}:
        return str(name) in _lines(_SUPPORTED)
    return os.path.exists(os.path.join(_SOURCES, f"{name.language}_{name.territory}"))


def _enlist(name: str) -> None:
    commented = re.compile(rf"\s*#\s*{re.escape(name)}\s*")
    with _changing:
        lines = _lines(_LIST)
        if name not in map(str.strip, lines):
            changed = [name if commented.fullmatch(line) else line for line in lines]
            _write(_LIST, changed if changed != lines else [*lines, name])


def _command(name: Name, *, verbose: bool) -> list[str]:
    if shutil.which("locale-gen"):
        return ["locale-gen", name.as_listed() if __grains__.get("os") == "Ubuntu" else str(name)]
    if shutil.which("localedef"):
        source = f"{name.language}_{name.territory}"
        target = f"{source}.{name.codeset}"
        volume = "--verbose" if verbose else "--quiet"
        return ["localedef", "--force", "-i", source, "-f", name.codeset, target, volume]
    raise CommandExecutionError('Command "locale-gen" or "localedef" was not found on this system.')


def _lines(path: str) -> list[str]:
    try:
        return filesystem.read_lines(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {path}: {error.strerror}") from error


def _write(path: str, lines: list[str]) -> None:
    try:
        text = "".join(f"{line}\n" for line in lines)
        filesystem.replace_content(filesystem.resolved(path), text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise CommandExecutionError(f"Cannot write {path}: {error.strerror}") from error
