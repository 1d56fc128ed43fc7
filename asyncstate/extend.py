"""The door: the additions of extras to the engine.

An extra is a folder of ``asyncstate.extras`` whose module ``extra`` has an `Extra` as ``EXTRA``. The engine imports no
extra. It looks up additions here, and an absent extra adds nothing.
"""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False  # --help needs nothing else that `typing` is imported for, which takes as long as all the rest
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_FOLDER = os.path.join(os.path.dirname(__file__), "extras")


class Extra:
    """The additions of one extra. Code is named as ``package.module:attribute`` and imported on first use.

    ``commands`` are the program's, by name: the section in the overview, the line there, and the module with its
    ``command``; a name such as ``show impact`` adds to another command. ``settings`` is a `msgspec.Struct`: each field
    is an option of configuration files, with its type and default; ``options`` is the YAML file below ``extras`` that
    explains them, by name, ``codes`` the file with the pages of its mistakes, by code. ``renderers`` have, by name, a
    line of help and what is called with data, the arguments in the pipe, a `RenderContext`, and what renders by a pipe.

    Of the ``parts``, the first extra that has one counts:

    - ``judge`` lets the compilations of a runtime report wrong values, and returns the mistakes in its settings
    - ``contradictions`` yields the states that undo each other's work: it is given the chunks and the dag of a plan,
      what they touch, the files of the tree and what is known of packages
    - ``effects`` makes a source of effects for ``implicit_order: learned``
    - ``tracer`` makes the `Tracer` of a run for ``trace_effects``
    - ``search`` finds missing orders of a plan for `asyncstate.testing`
    - ``traces`` sends traces of runs to a collector: ``of_run`` that of one, ``export`` and ``spans`` any other
    - ``remaining`` makes an `Onlooker` of a run that estimates its remaining time
    - ``analysis`` finds what lint does, and collects the times of a run
    - ``manual`` has the documentation of functions, words and codes
    - ``pictures`` writes pages of runs, and draws graphs of states
    - ``completer`` offers what may be typed in place of an argument, ``shells`` answers a shell that asks for it
    - ``machine`` makes the `Restraint` of renderings for another machine (``grains_alone``), which also refuses calls
    - ``lender`` makes the `asyncstate.load.borrowed.Lender` of a plugin host, None where Salt is not installed
    - ``salt`` imports from the package ``salt`` for plugins: it is given the name in a statement, and those after it
    """

    def __init__(
        self,
        *,
        commands: Mapping[str, tuple[str, str, str]] | None = None,
        renderers: Mapping[str, tuple[str, str]] | None = None,
        settings: str = "",
        options: str = "",
        codes: str = "",
        **parts: str,
    ) -> None:
        self.commands: Mapping[str, tuple[str, str, str]] = commands or {}
        self.renderers: Mapping[str, tuple[str, str]] = renderers or {}
        self.settings: str = settings
        self.options: str = options
        self.codes: str = codes
        self.parts: Mapping[str, str] = parts


def extras() -> Iterator[Extra]:
    """Yield the installed extras, by the names of their packages."""
    for name in _names():
        yield import_module(f"asyncstate.extras.{name}.extra").EXTRA


def _names() -> Iterator[str]:
    for name in sorted(os.listdir(_FOLDER)) if os.path.isdir(_FOLDER) else ():
        file = f"{_FOLDER}/{name}/extra.py"
        if os.path.exists(file) or os.path.exists(f"{file}c"):  # hosts without an agent have compiled files alone
            yield name


def text_of(file: str) -> str:
    """Return the text of a file that an extra names as ``folder/name``."""
    with open(os.path.join(_FOLDER, file), encoding="utf-8") as source:
        return source.read()


def commands() -> dict[str, tuple[str, str, str]]:
    """Return the commands of all extras by name: section, line and module."""
    return {name: command for extra in extras() for name, command in extra.commands.items()}


def renderers() -> dict[str, tuple[str, str]]:
    """Return the renderers of all extras by name: their line of help, and their code."""
    return {name: renderer for extra in extras() for name, renderer in extra.renderers.items()}


def settings() -> list[type[Any]]:
    """Return the structs of settings of all extras."""
    return [load(extra.settings) for extra in extras() if extra.settings]


def offered(part: str) -> Any:
    """Return a part that an extra may have, such as its ``completer``; None if no extra has it."""
    return next((load(extra.parts[part]) for extra in extras() if part in extra.parts), None)


def provided(part: str, wanted_by: str) -> Any:
    """Return a part that an extra must have, such as its ``tracer``.

    Raises ConfigError, which names the option, argument or command ``wanted_by``, if no extra has it.
    """
    if (found := offered(part)) is not None:
        return found
    from asyncstate.errors import ConfigError  # noqa: PLC0415 - a mistake

    raise ConfigError(f"{wanted_by} needs an extra that is not installed: install asyncstate with all its extras")


def load(name: str) -> Any:
    """Return the attribute that ``package.module:attribute`` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
