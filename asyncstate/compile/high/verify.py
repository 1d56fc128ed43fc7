"""Check the structure of high data: every mistake is reported, none stops the check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.compile.high.declarations import EXCLUDE, misplaced
from asyncstate.compile.high.highstate import HighData
from asyncstate.model.requisite import IN_SUFFIXED, MISTAKEN_IN, REQUISITE_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from asyncstate.compile.findings import Findings

REFERRING = frozenset({*IN_SUFFIXED, "use"})
"""Requisites that change other states (``use``: their own state) instead of becoming edges."""

UNREADABLE = "(unreadable)"
"""The function of a state whose declaration does not tell it."""

_CHECKED = REQUISITE_KEYWORDS | REFERRING | MISTAKEN_IN | {"names"}


def verify_high(high: HighData, findings: Findings) -> bool:
    """Check every state of every ID; return whether any state has one of the `REFERRING` requisites."""
    checker = _Checker(findings)
    if not isinstance(high.data, dict):
        findings.error("E215", "High data is not a dictionary and is invalid")
        return False
    for id_, body in high.data.items():
        if isinstance(id_, str):
            if id_.startswith("__"):
                continue
        elif isinstance(body, dict):
            message = (
                f"ID '{id_}' in SLS '{body.get('__sls__')}' is not formed as a string, but is type "
                f"{type(id_).__name__}. It may need to be quoted."
            )
            findings.error("E201", message, env=body.get("__env__", "base"), sls=body.get("__sls__", ""), id_=id_)
        if not isinstance(body, dict):
            findings.error("E202", f"The type {id_} in {body} is not formatted as a dictionary")
            continue
        for module, arguments in body.items():
            if isinstance(module, str) and module.startswith("__"):
                continue
            checker.state(id_, body, module, arguments)
    return checker.referring


def sound_part(high: HighData) -> HighData:
    """Return high data in which everything has the right form, with the same findings.

    A state whose function cannot be told keeps its place, with the function `UNREADABLE`: requisites find it. Only
    requisites are left out of the others.
    """
    data: dict[Any, Any] = {}
    for id_, body in high.data.items() if isinstance(high.data, dict) else ():
        if id_ == EXCLUDE:
            data[id_] = body
        elif isinstance(body, dict) and not str(id_).startswith("__"):
            states = data.setdefault(str(id_), {})
            for key, value in body.items():
                if str(key).startswith("__"):
                    states[key] = value
                else:
                    module, _, function = str(key).partition(".")
                    states[module] = _sound(value, function)
    sound = HighData(data, high.findings)
    sound.numbered, sound.includes = high.numbered, high.includes
    return sound


def _sound(arguments: Any, function: str) -> list[Any]:
    """Return the arguments of a state as a list with one function, without requisites of another form."""
    items = [{key: value} for key, value in arguments.items()] if isinstance(arguments, dict) else arguments
    items = items if isinstance(items, list) else []
    functions = [*filter(None, [function]), *(item for item in items if isinstance(item, str))]
    named = all(isinstance(item["names"], list) for item in items if isinstance(item, dict) and "names" in item)
    readable = len(functions) == 1 and " " not in functions[0] and named
    readable = readable and (arguments is None or isinstance(arguments, (list, dict)))
    found: list[Any] = [functions[0] if readable else UNREADABLE]
    for item in items:
        if isinstance(item, dict) and len(item) > 1 and next(iter(item)) in REQUISITE_KEYWORDS:
            continue
        if isinstance(item, dict):
            found.append({key: value for key, value in item.items() if _is_sound(key, value)})
    return found


def _is_sound(key: Any, value: Any) -> bool:
    if key in REFERRING:
        return isinstance(value, (list, dict))
    if key not in REQUISITE_KEYWORDS or (key == "onfail_stop" and isinstance(value, bool)):
        return key != "names" or isinstance(value, list)
    return isinstance(value, list) and not any(requisite_mistakes(value, "", ""))


class _Checker:
    """Checks one state at a time."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._crowded: set[tuple[Any, ...]] = set()
        self.referring = False

    def state(self, id_: Any, body: dict[str, Any], module: str, arguments: Any) -> None:
        if type(arguments) is not list:
            self._no_list(id_, body, module, arguments)
            return
        functions = 1 if "." in module else 0
        seen: list[Any] = []
        for argument in arguments:
            if isinstance(argument, str):
                functions += 1
                if " " in argument and " " in argument.strip():
                    self._whitespace(id_, body, module, argument)
            elif isinstance(argument, dict):
                if len(argument) > 1:
                    self._warn_crowded(id_, body, module, argument)
                seen += argument
                for key in argument:
                    if key in _CHECKED:
                        self._argument(id_, body, module, argument, key)
        if functions != 1:
            self._functions(id_, body, module, arguments, functions)
        if len(seen) > 1 and len(set(seen)) < len(seen):
            self._repeated(id_, body, module, seen)

    def _argument(self, id_: Any, body: dict[str, Any], module: str, argument: dict[Any, Any], key: str) -> None:
        value = argument[key]
        if key == "names":
            if not isinstance(value, list):
                sls = body.get("__sls__", "")
                message = f"The 'names' argument in state '{id_}' in SLS '{sls}' needs to be formed as a list"
                hint = "write each name as an item: - names: [a, b]; for a single one, - name: a"
                self._error("E212", message, id_, body, module, argument=key, hint=hint)
            return
        if key in MISTAKEN_IN:
            self._warn_mistaken(id_, body, module, key)
            return
        if key in REFERRING:
            self.referring = True
            if len(argument) > 1 and next(iter(argument)) != key:
                self._warn_hidden(id_, body, module, key)
            return
        if key == "onfail_stop" and isinstance(value, bool):
            return
        if not isinstance(value, list):
            sls = body.get("__sls__", "")
            message = f"The {key} statement in state '{id_}' in SLS '{sls}' needs to be formed as a list"
            hint = f"write each state as an item, with its module: - {key}: [{{file: ID}}]"
            self._error("E301", message, id_, body, module, argument=key, hint=hint)
        else:
            for code, text in requisite_mistakes(value, id_, body.get("__sls__", "")):
                self._error(code, text, id_, body, module, argument=key)
        if len(argument) != 1 and next(iter(argument)) == key:
            message = f"Multiple dictionaries defined in argument of state '{id_}' in SLS '{body.get('__sls__', '')}'"
            self._error("E214", message, id_, body, module, argument=key)

    def _error(self, code: str, message: str, id_: Any, body: dict[str, Any], module: str, **more: str) -> None:
        self._findings.error(code, message, **_where(id_, body, module), **more)

    def _no_list(self, id_: Any, body: dict[str, Any], module: str, arguments: Any) -> None:
        sls = body.get("__sls__", "")
        if arguments is None:
            message = (
                f"ID '{id_}' in SLS '{sls}' contains a short declaration ({module}) with a trailing colon. When not "
                "passing any arguments to a state, the colon must be omitted."
            )
        else:
            message = f"State '{id_}' in SLS '{sls}' is not formed as a list"
        given, first = (
            ("the arguments are a mapping: ", next(iter(arguments)))
            if isinstance(arguments, dict) and arguments
            else ("", "name")
        )
        first = str(first).lstrip(" -\N{EN DASH}")
        hint = misplaced(module) or f"{given}write each as an item of a list, with a dash: - {first}: …"
        self._error("E205" if arguments is None else "E204", message, id_, body, module, hint=hint)

    def _whitespace(self, id_: Any, body: dict[str, Any], module: str, function: str) -> None:
        message = (
            f'The function "{function}" in state "{id_}" in SLS "{body.get("__sls__", "")}" has whitespace, a function '
            'with whitespace is not supported, perhaps this is an argument that is missing a ":"'
        )
        self._error("E208", message, id_, body, module)

    def _functions(self, id_: Any, body: dict[str, Any], module: str, arguments: list[Any], count: int) -> None:
        sls, names = body.get("__sls__", ""), list[str]()
        if not count:
            message = f"No function declared in state '{id_}' in SLS '{sls}'"
        else:
            names += [module.split(".", 1)[1]] if "." in module else []
            names += [argument for argument in arguments if isinstance(argument, str)]
            message = (
                f"Too many functions declared in state '{id_}' in SLS '{sls}'. Please choose one of the following: "
                f"{', '.join(names)}"
            )
        hint = misplaced(module) or _one_function(module, names)
        self._error("E207" if count else "E206", message, id_, body, module, hint=hint)

    def _repeated(self, id_: Any, body: dict[str, Any], module: str, seen: list[Any]) -> None:
        for key in dict.fromkeys(key for key in seen if seen.count(key) > 1):
            what = f"'{key}' block" if key in REQUISITE_KEYWORDS else f"'{key}'"
            message = (
                f"State '{id_}' in SLS '{body.get('__sls__', '')}' has more than one {what}; only the last one counts"
            )
            self._findings.warn("W109", message, **_where(id_, body, module))

    def _warn_crowded(self, id_: Any, body: dict[str, Any], module: str, argument: dict[Any, Any]) -> None:
        """Warn of several arguments in one item, unless one of them is a requisite that is reported for it."""
        first, *others = argument
        if first in REQUISITE_KEYWORDS or not REFERRING.isdisjoint(others):
            return
        env, sls = body.get("__env__", "base"), body.get("__sls__", "")
        file, lines = self._findings.source(env, sls)
        line = lines.of(id_, module, others[0]) or lines.of(id_, module)
        # One line of a loop declares the arguments of many states.
        place = (file, line) if line else (id_, sls, module)
        if (*place, first) in self._crowded:
            return
        self._crowded.add((*place, first))
        keys = ", ".join(f"'{key}'" for key in argument)
        message = (
            f"{keys} of state '{id_}' in SLS '{sls}' share one list item: an 'extend' of '{first}' removes the others"
        )
        self._findings.warn_at("W113", message, file, line, f"write a dash before '{others[0]}', too")

    def _warn_hidden(self, id_: Any, body: dict[str, Any], module: str, key: str) -> None:
        sls = body.get("__sls__", "")
        message = f"'{key}' in state '{id_}' in SLS '{sls}' is ignored: it must be the only key of its list item"
        self._findings.warn("W108", message, **_where(id_, body, module))

    def _warn_mistaken(self, id_: Any, body: dict[str, Any], module: str, key: str) -> None:
        sls, hint = body.get("__sls__", ""), f"there are {', '.join(IN_SUFFIXED)}"
        message = f"'{key}' in state '{id_}' in SLS '{sls}' is no requisite: the function gets it as an argument"
        self._findings.warn("W110", message, **_where(id_, body, module), hint=hint)


def _where(id_: Any, body: dict[str, Any], module: str) -> dict[str, Any]:
    """Return the place of a state, as `Findings` takes it."""
    return {"env": body.get("__env__", "base"), "sls": body.get("__sls__", ""), "id_": id_, "state": module}


def requisite_mistakes(references: list[Any], id_: Any, sls: str) -> Iterator[tuple[str, str]]:
    """Yield code and text of what is wrong with the items of one requisite list."""
    for reference in references:
        if isinstance(reference, str):
            continue
        if type(reference) is dict and len(reference) == 1:
            [(kind, target)] = reference.items()
            if type(kind) is str and "." not in kind and type(target) is str:
                continue
        if not isinstance(reference, dict) or len(reference) != 1:
            what = f"Requisite declaration {reference} in state {id_} in SLS {sls}"
            yield "E302", f"{what} is not formed as a single key dictionary"
            continue
        kind, target = next(iter(reference.items()))
        if isinstance(kind, str) and "." in kind:
            meant = f"Requisite types must not contain dots, did you mean '{kind.split('.', 1)[0]}'?"
            yield "E303", f"Invalid requisite type '{kind}' in state '{id_}', in SLS '{sls}'. {meant}"
        if not _is_hashable(target):
            yield "E304", f'Illegal requisite "{target}" in SLS "{sls}", please check your syntax.\n'


def _is_hashable(value: Hashable) -> bool:
    return not isinstance(value, (list, dict, set))


def _one_function(module: str, names: list[str]) -> str:
    """Return how to write the one function of a state that has none, or all of these."""
    joined = next((name for name in names if ":" in name.rstrip(":")), "")
    if joined:
        key, _, value = joined.partition(":")
        return f"a blank is missing behind the colon: - {key}: {value}"
    if names:
        return "a text without a colon is a function: keep one, and give the others an ID of their own"
    return f"write it behind the module, with a dot: {module}.FUNCTION"
