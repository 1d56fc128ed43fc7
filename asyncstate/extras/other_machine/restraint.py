"""Rendering for another machine: refuses, by name, the functions that would read this one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from asyncstate.data import date
from asyncstate.errors import ConfigError, RenderError
from asyncstate.load.host import FunctionMap, ModuleView
from asyncstate.load.restrained import INDEPENDENT, RestrainedFunctions
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterator, Mapping, Sequence

log: logging.Logger = get_logger(__name__)

_SALT_URL: Final = re.compile("salt://")
OF_A_PATH: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(("cp.cache_file", "cp.get_file_str", "cp.hash_file", "cp.is_cached"), _SALT_URL),
    "pillar.file_exists": re.compile(r"(?!/)(?!(.*/)?\.\.(/|$))"),
}
"""Functions that read a file of the tree or the pillar, if the path they are given matches."""

FILTERS: Final = frozenset(
    "dns_check file_hashsum get_uid http_query is_bin_file is_empty is_text_file list_files which".split()
)
"""Filters that read this machine or query another one."""
CLOCK: Final = frozenset({"date_format", "strftime"})
"""Filters that use the clock and the time zone of this machine: allowed, with a warning."""


class AnotherMachine:
    """A `Restraint`: functions and filters that read this machine raise an error; those that may, warn."""

    deep: Final = True

    def __init__(self) -> None:
        self._named: set[str] = set()

    def functions(self, functions: Mapping[str, Any], _path: str) -> Mapping[str, Any]:
        """Return the functions, with a refusal in place of those that read this machine."""
        return _Functions(functions, self) if isinstance(functions, FunctionMap) else functions

    def require(self, name: str, args: Sequence[Any], functions: FunctionMap) -> None:
        """Raise ConfigError for a call that would run on this machine or read it, outside of any rendering."""
        if name in INDEPENDENT and functions.is_bundled(name):
            return
        if name in OF_A_PATH and args and OF_A_PATH[name].match(str(args[0])):
            return
        raise ConfigError(
            f"{name} would run on this machine, and the grains are another one's. Leave out --for-machine "
            "(grains_alone), or call it there"
        )

    def filters(self, _path: str) -> Mapping[str, Callable[..., Any]]:
        """Return a refusal for each filter that reads this machine or queries another."""
        return {
            name: self._clocked(name) if name in CLOCK else _refusal(f"the filter '{name}'") for name in FILTERS | CLOCK
        }

    def _clocked(self, name: str) -> Callable[..., Any]:
        def clocked(_context: object, *args: Any, **kwargs: Any) -> Any:  # so Jinja never calls it when compiling
            self.warn(f"the filter '{name}' uses the clock and the time zone of this machine")
            return date.strftime(*args, **kwargs)

        return clocked

    def refusal(self, renderer: str, path: str) -> str:
        """Return "", and warn of a text that is a program, or that a renderer of the tree renders."""
        if renderer != "gpg":
            self.warn(f"{path} is rendered by '{renderer}', which may read this machine undetected")
        return ""

    def warn(self, text: str) -> None:
        """Log a warning once."""
        if text not in self._named:
            self._named.add(text)
            log.warning("Compiled for another machine: %s", text)


class _Functions(RestrainedFunctions):
    """Execution functions, with a refusal in place of those that read this machine."""

    def __init__(self, functions: FunctionMap, machine: AnotherMachine) -> None:
        super().__init__(functions)
        self._machine = machine

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name in INDEPENDENT and name in self._functions and self._functions.is_bundled(name):
            return self._functions[name]
        if name in OF_A_PATH:
            return lambda path, *args, **kwargs: self._of_path(name, path)(path, *args, **kwargs)
        if not self._functions.is_of_tree(name):
            _refuse(name)
        self._machine.warn(f"{name} is a function of the tree, and may read this machine undetected")
        return self._functions[name]

    def _of_path(self, name: str, path: object) -> Callable[..., Any]:
        return self._functions[name] if OF_A_PATH[name].match(str(path)) else _refusal(f"{name} of {path}")

    def __contains__(self, name: object) -> bool:
        """Return whether there is a function; refuse, where that depends on the installed software of this machine."""
        if not (name in INDEPENDENT or name in OF_A_PATH or self._functions.is_of_tree(str(name))):
            _refuse(f"whether there is '{name}'")
        return name in self._functions

    def __getattr__(self, module: str) -> ModuleView:
        if module.startswith("__"):
            raise AttributeError(module)
        return ModuleView(self, module)

    def __iter__(self) -> Iterator[str]:
        _refuse("the list of all execution functions")

    def __len__(self) -> int:
        return len(INDEPENDENT)


def _refusal(what: str) -> Callable[..., NoReturn]:
    def refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
        _refuse(what)

    return refuse


def _refuse(what: str) -> NoReturn:
    raise RenderError(
        f"{what} depends on this machine, and the tree is compiled for another one. Take the value from a grain or the "
        "pillar, or compile there"
    )
