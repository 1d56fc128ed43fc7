"""``extend``: additions to IDs declared elsewhere. The ``_in`` requisites use the same mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.compile.high.declarations import EXCLUDE, EXTEND, ID_REQUISITES, merge_requisite
from asyncstate.model.requisite import REQUISITE_KEYWORDS
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.high.highstate import HighData


_HINT_LIMIT = 10
"""The number of errors that get the nearest name: comparing with every ID of a large tree is slow."""


class NameIndex:
    """Finds the IDs with an argument of a given value, as Salt does when no ID has the extended name.

    Any argument counts, not only ``name``. After arguments were replaced the index may hold old values, so `find`
    checks each match again. Arguments added later must be passed to `note`.
    """

    def __init__(self, data: dict[Any, Any]) -> None:
        self._data = data
        self._owners: dict[Any, dict[tuple[Any, str], None]] | None = None
        self._position: dict[Any, int] = {}

    def find(self, value: Any, module: str) -> list[Any]:
        """Return the IDs whose state of ``module`` has an argument equal to ``value``: once for each such argument."""
        if self._owners is None:
            self._build()
        found = [id_ for id_, of in (self._owners or {}).get(value, ()) if of == module]
        found.sort(key=lambda id_: self._position.get(id_, 0))
        return [
            id_
            for id_ in found
            for argument in self._arguments(id_, module)
            if isinstance(argument, dict) and len(argument) == 1 and next(iter(argument.values())) == value
        ]

    def note(self, id_: Any, module: str, argument: Any) -> None:
        """Add an argument that a state received to the index."""
        if self._owners is not None and isinstance(argument, dict) and len(argument) == 1:
            value = next(iter(argument.values()))
            if isinstance(value, (str, int, float)):
                self._owners.setdefault(value, {})[id_, module] = None

    def _arguments(self, id_: Any, module: str) -> list[Any]:
        arguments = self._data.get(id_, {}).get(module)
        return arguments if isinstance(arguments, list) else []

    def _build(self) -> None:
        self._owners = {}
        for position, (id_, body) in enumerate(self._data.items()):
            self._position[id_] = position
            if not isinstance(body, dict):
                continue
            for module, arguments in body.items():
                if isinstance(arguments, list):
                    for argument in arguments:
                        self.note(id_, module, argument)


class Extension(Value):
    """Additions to one ID: ``{module: [argument, …]}``, from the SLS ``sls`` of ``env``, where the ID ``by`` adds them.

    ``void``: it comes from an excluded SLS, so its target must exist, but nothing is added.
    """

    name: Any
    states: dict[str, Any]
    env: str
    sls: str
    by: Any = None
    void: bool = False


def reconcile_extends(high: HighData, findings: Findings) -> None:
    """Apply and remove ``__extend__``. Extensions from an SLS that is excluded by name add nothing."""
    declared = high.data.pop(EXTEND, None)
    if not declared:
        return
    excluded = excluded_by_name(high)
    extensions = [
        Extension(
            name,
            {key: value for key, value in body.items() if not (isinstance(key, str) and key.startswith("__"))},
            body.get("__env__", "base"),
            body.get("__sls__", "base"),
            void=body.get("__sls__") in excluded,
        )
        for declaration in declared
        for name, body in declaration.items()
    ]
    _warn_of_rivals(high.data, extensions, findings)
    apply_extensions(high, extensions, findings)


def _warn_of_rivals(data: dict[Any, Any], extensions: list[Extension], findings: Findings) -> None:
    """Warn where two SLS give one argument of a state different values: their order decides which counts."""
    given: dict[tuple[Any, str, Any], tuple[Any, Extension]] = {}
    for extension in extensions:
        for module, arguments in extension.states.items() if not extension.void and extension.name in data else ():
            for argument in arguments if isinstance(arguments, list) else ():
                key, value = next(iter(argument.items())) if isinstance(argument, dict) and argument else ("", argument)
                if isinstance(value, list) and key in REQUISITE_KEYWORDS:
                    continue  # these add up
                before, first = given.get((extension.name, module, key), (value, extension))
                given[extension.name, module, key] = value, extension
                if first.sls != extension.sls and before != value:
                    what = f"'{key}'" if key else "the function"
                    message = (
                        f"{what} of '{module}' in state '{extension.name}' is extended in SLS '{first.sls}' and, "
                        f"otherwise, in SLS '{extension.sls}': the latter counts"
                    )
                    findings.warn(
                        "W105", message, env=extension.env, sls=extension.sls, id_="extend", state=extension.name
                    )


def excluded_by_name(high: HighData) -> set[Any]:
    """Return the SLS that ``__exclude__`` names without a glob; what they add to other SLS does not count."""
    return {
        item if isinstance(item, str) else item.get("sls")
        for item in high.data.get(EXCLUDE, ())
        if isinstance(item, (str, dict))
    }


def apply_extensions(
    high: HighData,
    extensions: list[Extension],
    findings: Findings,
    *,
    strict: bool = False,
    names: NameIndex | None = None,
) -> None:
    """Add each extension to the ID it names, or else to the only ID that has that name as the value of an argument.

    ``strict``: the ID must already have the module. Otherwise a missing module is added to it.
    """
    data = high.data
    names = names if names is not None else NameIndex(data)
    for extension in extensions:
        requisites = {key: value for key, value in extension.states.items() if key in ID_REQUISITES}
        states = {key: value for key, value in extension.states.items() if key not in requisites}
        target = _target(data, extension, next(iter(states), None), names, strict=strict)
        if target is None:
            _unknown(extension, data, findings)
            continue
        if extension.void:
            continue
        body = data[target]
        for module, arguments in states.items():
            if module not in body:
                body[module] = arguments
            elif isinstance(body[module], list) and isinstance(arguments, (list, str, dict)):
                if not isinstance(arguments, list):
                    _warn_of_letters(extension, target, findings)
                _extend_state(body[module], list(arguments), (target, module), findings.copied)
            else:
                _not_a_list(extension, target, findings)
            for argument in arguments if isinstance(arguments, list) else ():
                names.note(target, module, argument)
        for key, references in requisites.items():
            _extend_all(body, key, references)


def _target(data: dict[Any, Any], extension: Extension, module: str | None, names: NameIndex, *, strict: bool) -> Any:
    name = extension.name
    body = data.get(name)
    if isinstance(body, dict) and not str(name).startswith("__") and (module is None or module in body or not strict):
        return name
    found = names.find(name, module) if module is not None else []
    return found[0] if len(found) == 1 else None


def _extend_state(
    existing: list[Any], arguments: list[Any], state: tuple[Any, str], copied: set[tuple[Any, Any, Any]]
) -> None:
    """Merge arguments into those of a state: requisites grow; the function and all other arguments are replaced.

    As in Salt, states that ``use`` one state share the lists of its requisites. So what is ``copied`` is added once,
    or the lists would double with each ``use``.
    """
    for argument in arguments:
        updated = False
        for position, current in enumerate(existing):
            if isinstance(argument, str) and isinstance(current, str):
                existing[position] = argument
                updated = True
            elif isinstance(argument, dict) and isinstance(current, dict) and argument and current:
                key, current_key = next(iter(argument)), next(iter(current))
                if key == current_key:
                    own, given = current[key], argument[key]
                    if key in REQUISITE_KEYWORDS and isinstance(own, list) and isinstance(given, list):
                        known = own if (*state, key) in copied else ()
                        own.extend([reference for reference in given if reference not in known])
                    else:
                        existing[position] = argument
                    updated = True
                elif key == "name" and current_key == "names":
                    existing[position] = argument
        if not updated:
            existing.append(argument)


def _extend_all(body: dict[str, Any], key: str, references: Any) -> None:
    for module, arguments in body.items():
        if not module.startswith("_") and isinstance(arguments, list):
            if isinstance(references, list):
                merge_requisite(arguments, key, list(references))
            else:
                arguments.append({key: references})


def _unknown(extension: Extension, data: Mapping[Any, Any], findings: Findings) -> None:
    name, env, sls = extension.name, extension.env, extension.sls
    message = (
        f"Cannot extend ID '{name}' in '{env}:{sls}'. It is not part of the high state.\n"
        "This is likely due to a missing include statement or an incorrectly typed ID.\n"
        f"Ensure that a state with an ID of '{name}' is available\nin environment '{env}' and to SLS '{sls}'"
    )
    declared = data.get(name)
    modules = [key for key in declared if not str(key).startswith("__")] if isinstance(declared, dict) else []
    if modules:  # only what adds a requisite asks for the module, too
        hint = f"'{name}' is there, but as {', '.join(modules)}: write '- {modules[0]}: {name}'"
    else:
        ids = (id_ for id_ in data if isinstance(id_, str) and not id_.startswith("__"))
        near = nearest(str(name), ids) if len(findings.errors) < _HINT_LIMIT else ""
        hint = findings.include_hint(name, env) or did_you_mean(near) or _where_named(extension)
    findings.misdirected |= {
        (module, argument)
        for module, arguments in extension.states.items()
        for each in (arguments if isinstance(arguments, list) else ())
        for argument in (each if isinstance(each, dict) else ())
    }
    by, state, argument = ("extend", str(name), None) if extension.by is None else _addition(extension)
    findings.error("E217", message, env=env, sls=sls, id_=by, state=state, argument=argument, hint=hint)


def _addition(extension: Extension) -> tuple[Any, str | None, str | None]:
    """Return the ID, the state and the argument that add a requisite."""
    for arguments in extension.states.values():
        for key, references in (item for each in arguments for item in each.items()):
            added = references if isinstance(references, list) else ()  # use_in copies values of any kind
            for module, id_ in (pair for each in added if isinstance(each, dict) for pair in each.items()):
                if id_ == extension.by:
                    return id_, module, f"{key}_in"
    return extension.by, None, None


def _where_named(extension: Extension) -> str:
    """Return what to do where no state is like the one that is named: by ``extend``, or by a requisite with _in."""
    if extension.by is None:
        return f"include the SLS file that declares '{extension.name}', or remove it from extend"
    keys = [key for arguments in extension.states.values() for each in arguments for key in each]
    return f"{keys[0]}_in of '{extension.by}' names it: correct that, or remove it" if keys else ""


def _not_a_list(extension: Extension, target: Any, findings: Findings) -> None:
    message = f"State '{target}' in SLS '{extension.sls}' is not formed as a list"
    findings.error("E218", message, env=extension.env, sls=extension.sls, id_="extend")


def _warn_of_letters(extension: Extension, target: Any, findings: Findings) -> None:
    """Warn: as in Salt, each letter of a string, or each key of a dict, is now taken for a function."""
    message = f"the extension of '{target}' in SLS '{extension.sls}' is not formed as a list of arguments"
    findings.warn("W106", message, env=extension.env, sls=extension.sls, id_="extend")
