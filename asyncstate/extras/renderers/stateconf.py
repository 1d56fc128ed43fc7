"""The ``stateconf`` renderer: local state IDs, parameters of an SLS, a start and a goal state.

``#!stateconf -s yaml . jinja`` renders with Jinja, then YAML, and rewrites the high data: an ID ``.x`` of the SLS
``a.b`` becomes ``a.b::x`` wherever it is named, includes that begin with a dot are relative, and a last state ``.goal``
requires all the others. The text above ``# --- end of state config ---`` is rendered first; the arguments of its
``stateconf.set`` states are then variables of the template.

Options: ``-G`` no goal state, ``-s`` a first state ``.start``, ``-o`` each state requires the one before it, ``-p``
takes high data instead of text. Unlike in Salt, parameters that an SLS extends in another are no variables there.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asyncstate.render.context import RenderContext

    Run = Callable[[str, str, dict[str, Any]], Any]

_END_OF_CONFIG: Final = re.compile(r"#\s*-+\s*end of state config\s*-+")
_SEPARATOR: Final = re.compile(r"\s+(?<!\\)\.\s+")
_MODULE: Final = "stateconf"
_FUNCTION: Final = "stateconf.set"
_START: Final = ".start"
_GOAL: Final = ".goal"
_OPTIONS: Final = frozenset("Gosp")
_NO_STATES: Final = frozenset({"include", "exclude"})
_BEFORE: Final = ("require", "watch", "listen", "onchanges", "onfail")
_AFTER: Final = tuple(f"{name}_in" for name in _BEFORE)
_REQUISITES: Final = frozenset({*_BEFORE, *_AFTER, "use", "use_in"})


def render(given: Any, argline: str, context: RenderContext, run: Run) -> Any:
    """Return the rewritten high data of an SLS. Raises RenderError.

    ``run(pipe, text, variables)`` renders a text through a pipe, with more variables for its template.
    """
    options, rest = _parse(argline)
    sls = context.sls
    rewriting = _Rewriting(sls, context.saltenv, options)
    if "p" in options:
        return rewriting.rewrite(given)
    if not isinstance(given, str):
        raise RenderError(f'the renderer "stateconf" needs text, or the option -p for a {type(given).__name__}')
    pipe = _pipe(rest)
    variables: dict[str, Any] = {"sls_dir": sls.rpartition(".")[0].replace(".", "/") or sls or "."}
    config = _END_OF_CONFIG.search(given)
    if config:
        first = rewriting.rewrite(run(pipe, given[: config.start()], variables), final=False)
        variables |= _parameters(first, sls)
    return rewriting.rewrite(run(pipe, given, variables))


def _parse(argline: str) -> tuple[set[str], str]:
    words = argline.split()
    options: set[str] = set()
    while words and words[0].startswith("-") and words[0] != "-":
        options |= set(words.pop(0)[1:])
    if unknown := options - _OPTIONS:
        raise RenderError(f"option -{min(unknown)} not recognized: the renderer stateconf knows -G -o -s -p")
    return options, " ".join(words) or "yaml . jinja"


def _pipe(argline: str) -> str:
    parts = [part.strip().replace("\\.", ".") for part in _SEPARATOR.split(argline, maxsplit=1)]
    if len(parts) == 1:
        raise RenderError("Invalid use of the stateconf renderer: #!stateconf [-GoSp] yaml . jinja")
    data, template = parts
    return f"{template}|{data}"


def _parameters(data: Any, sls: str) -> dict[str, Any]:
    """Return the arguments of each ``stateconf.set`` state, by its ID without the name of the SLS."""
    found: dict[str, Any] = {}
    for id_, states in data.items():
        if id_ == "extend" or not isinstance(states, dict):
            continue
        for key in (_MODULE, _FUNCTION):
            if key in states:
                arguments = (argument for argument in states[key] if isinstance(argument, dict))
                found[id_.removeprefix(f"{sls}::")] = {name: value for one in arguments for name, value in one.items()}
    return found


class _Rewriting:
    """The rewriting of the high data of one SLS."""

    def __init__(self, sls: str, saltenv: str, options: set[str]) -> None:
        self._sls = sls
        self._saltenv = saltenv
        self._options = options

    def rewrite(self, high: Any, *, final: bool = True) -> dict[str, Any]:
        """Return a rewritten copy; without ``final``, no states and no requisites for the order are added."""
        if not isinstance(high, dict):
            raise RenderError(f"SLS {self._sls} does not render to a dictionary")
        data = copy.deepcopy(high)
        for id_, states in data.items():
            if isinstance(states, str):
                data[id_] = {states: []}
        self._make_includes_absolute(data)
        if final and "o" in self._options:
            _order(data)
        if "s" in self._options:
            _add_start(data)
        if final and "G" not in self._options:
            _add(data, _GOAL, {"require": [{_module(name): id_} for id_, name, _ in _states(data, {"extend"})]})
        self._rename(data)
        return data

    def _make_includes_absolute(self, data: dict[str, Any]) -> None:
        for number, entry in enumerate(data.get("include") or ()):
            saltenv, included = next(iter(entry.items())) if isinstance(entry, dict) else (self._saltenv, entry)
            if isinstance(included, str) and included.startswith("."):
                data["include"][number] = {saltenv: _absolute(included, self._sls)}
        for entry in data.get("exclude") or ():
            if isinstance(entry, dict) and str(entry.get("sls", "")).startswith("."):
                entry["sls"] = _absolute(entry["sls"], self._sls)

    def _rename(self, data: dict[str, Any]) -> None:
        if isinstance(data.get("extend"), dict):
            self._rename(data["extend"])
        for _, _, arguments in _states(data, {"extend"}):
            for reference, module, id_ in _references(arguments, _REQUISITES):
                if id_.startswith("."):
                    reference[module] = self._global_id(id_)
        for id_ in [id_ for id_ in data if isinstance(id_, str) and id_.startswith(".")]:
            renamed = self._global_id(id_)
            if renamed in data:
                raise RenderError(f"Can't rename state id({id_}) into {renamed} because the later already exists!")
            states = data.pop(id_)
            for name, arguments in states.items():
                if _module(name) != _MODULE and not any("name" in _names(argument) for argument in arguments):
                    arguments.insert(0, {"name": id_[1:]})
            data[renamed] = states

    def _global_id(self, id_: str) -> str:
        if "::" in id_:
            return _absolute(id_, self._sls)
        return "::".join(_absolute(id_, f"{self._sls}.").rsplit(".", 1))


def _absolute(relative: str, sls: str) -> str:
    name = relative.lstrip(".")
    levels = len(relative) - len(name)
    parts = sls.split(".")
    if levels > len(parts):
        raise RenderError("Attempted relative include goes beyond top level package")
    return ".".join([*parts[:-levels], name])


def _order(data: dict[str, Any]) -> None:
    """Make each state require the previous one. Raises RenderError for a requisite against that order."""
    for id_, _, arguments in _states(data, {"extend"}):
        if any("names" in _names(argument) for argument in arguments):
            raise RenderError(
                f"'names' declaration(found in state id: {id_}) is not supported with implicitly ordered states! "
                "You should generate the states in a template for-loop instead."
            )
    states = [(id_, name, arguments) for id_, name, arguments in _states(data, {"extend"})]
    places = {(id_, _module(name)): number for number, (id_, name, _) in enumerate(states)}
    before: dict[str, Any] | None = None
    for number, (id_, name, arguments) in enumerate(states):
        tag = f"{id_}:{_module(name)}"
        for _, module, target in _references(arguments, frozenset(_BEFORE)):
            if places.get((target, _module(module)), number) > number:
                raise RenderError(
                    f"State({tag}) can't require/watch/listen/onchanges/onfail a state({target}:{_module(module)}) "
                    "defined after it!"
                )
        for _, module, target in _references(arguments, frozenset(_AFTER)):
            if places.get((target, _module(module)), number) < number:
                raise RenderError(
                    f"State({tag}) can't require_in/watch_in/listen_in/onchanges_in/onfail_in a "
                    f"state({target}:{_module(module)}) defined before it!"
                )
        if before is not None:
            required = next((one["require"] for one in arguments if "require" in _names(one)), None)
            if required is None:
                arguments.append({"require": [before]})
            else:
                required.insert(0, before)
        before = {_module(name): id_}


def _add_start(data: dict[str, Any]) -> None:
    first = next(iter(_states(data, {"extend"})), None)
    if first is not None:
        _add(data, _START, {"require_in": [{_module(first[1]): first[0]}]})


def _add(data: dict[str, Any], id_: str, requisite: dict[str, Any]) -> None:
    if id_ in data:
        kind = id_.lstrip(".")
        raise RenderError(f"Can't generate {kind} state({id_})! The same state id already exists!")
    data[id_] = {_FUNCTION: [requisite]}


def _states(data: dict[str, Any], but: set[str]) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield ID, ``module`` or ``module.function`` and the arguments of every state."""
    for id_, states in data.items():
        if id_ in _NO_STATES or id_ in but or str(id_).startswith("__") or not isinstance(states, dict):
            continue
        for name, arguments in states.items():
            if not str(name).startswith("__") and isinstance(arguments, list):
                yield id_, name, arguments


def _references(arguments: list[Any], keys: frozenset[str]) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield each ``{module: ID}`` of the requisites named by ``keys``, with its module and ID."""
    for argument in arguments:
        for key in _names(argument):
            references = argument[key] if key in keys else ()
            for reference in references if isinstance(references, list) else ():
                if isinstance(reference, dict) and reference:
                    module, id_ = next(iter(reference.items()))
                    if isinstance(id_, str):
                        yield reference, module, id_


def _names(argument: Any) -> tuple[str, ...]:
    return tuple(argument) if isinstance(argument, dict) else ()


def _module(name: str) -> str:
    return name.partition(".")[0]
