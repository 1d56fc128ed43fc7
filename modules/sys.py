"""The ``sys`` execution module: the available functions and their documentation.

Names may be those of modules or functions, or shell patterns for either; without names, all are returned.
"""

from __future__ import annotations

import fnmatch
import inspect
from typing import Any

from asyncstate import dunders

_HOOKS = frozenset({"mod_footprint", "mod_aggregate_split"})
"""Functions of state modules that only the engine calls."""
_SCHEMA_TYPES = ("boolean", "integer", "number", "string")


def doc(*args: str) -> dict[str, str]:
    """Return the documentation of execution functions."""
    return _docs("modules", args)


def state_doc(*args: str) -> dict[str, str]:
    """Return the documentation of state functions."""
    return _docs("states", args)


def list_functions(*args: str, **kwargs: Any) -> list[str]:
    """Return the names of execution functions."""
    return _selected("modules", args)


def list_state_functions(*args: str, **kwargs: Any) -> list[str]:
    """Return the names of state functions."""
    return _selected("states", args)


def list_modules(*args: str) -> list[str]:
    """Return the names of execution modules."""
    return _modules("modules", args)


def list_state_modules(*args: str) -> list[str]:
    """Return the names of state modules."""
    return _modules("states", args)


def list_returners(*args: str) -> list[str]:
    """Return []: results are not sent anywhere."""
    return []


list_returner_functions = list_returners


def list_runners(*args: str) -> list[str]:
    """Return []: runners work on a Salt master."""
    return []


list_runner_functions = list_runners


def returner_doc(*args: str) -> dict[str, str]:
    """Return {}: there are no returners."""
    return {}


def returner_argspec(module: str = "") -> dict[str, dict[str, Any]]:
    """Return {}: there are no returners."""
    return {}


def runner_doc(*args: str) -> dict[str, str]:
    """Return {}: there are no runners on this machine."""
    return {}


def runner_argspec(module: str = "") -> dict[str, dict[str, Any]]:
    """Return {}: there are no runners on this machine."""
    return {}


def list_renderers(*args: str) -> list[str]:
    """Return the names of the renderers."""
    return sorted(renderer_doc(*args))


def renderer_doc(*args: str) -> dict[str, str]:
    """Return the documentation of the renderers."""
    docs = dunders.runtime_services().renderer_docs()
    return {name: docs[name] for name in sorted(docs) if not args or any(fnmatch.fnmatchcase(name, p) for p in args)}


def argspec(module: str = "") -> dict[str, dict[str, Any]]:
    """Return the parameters of execution functions: ``args``, ``defaults``, ``varargs``, ``kwargs``."""
    return _argspecs("modules", module)


def state_argspec(module: str = "") -> dict[str, dict[str, Any]]:
    """Return the parameters of state functions: ``args``, ``defaults``, ``varargs``, ``kwargs``."""
    return _argspecs("states", module)


def state_schema(module: str = "") -> list[dict[str, Any]]:
    """Return what the named state functions accept as JSON Schemas; [] without a name."""
    return [_schema(name, spec) for name, spec in state_argspec(module).items()] if module else []


def reload_modules() -> bool:
    """Load the plugins again."""
    dunders.runtime_services().reload()
    return True


def _selected(kind: dunders.PluginKind, patterns: tuple[str, ...]) -> list[str]:
    known = dunders.runtime_services().plugins(kind).names()
    names = sorted(name for name in known if name.partition(".")[2] not in _HOOKS)
    if not patterns:
        return names
    return [name for name in names if any(_means(pattern, name) for pattern in patterns)]


def _means(pattern: str, name: str) -> bool:
    return fnmatch.fnmatchcase(name if "." in pattern else name.partition(".")[0], pattern)


def _modules(kind: dunders.PluginKind, patterns: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(name.partition(".")[0] for name in _selected(kind, patterns)))


def _docs(kind: dunders.PluginKind, patterns: tuple[str, ...]) -> dict[str, str]:
    plugins = dunders.runtime_services().plugins(kind)
    return {name: plugins.get(name).doc for name in _selected(kind, patterns)}


def _argspecs(kind: dunders.PluginKind, module: str) -> dict[str, dict[str, Any]]:
    names = _selected(kind, (module,) if module else ())
    plugins = dunders.runtime_services().plugins(kind)
    return {name: _argspec(plugins.get(name).func) for name in names}


def _schema(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a function, in Salt's form: every argument is a value of one of four types."""
    arguments, defaults = spec["args"] or [], spec["defaults"] or []
    optional = arguments[len(arguments) - len(defaults) :]
    known = dict(zip(optional, defaults, strict=True))
    properties = {}
    for argument in arguments:
        default = {"default": known[argument]} if known.get(argument) is not None else {}
        properties[argument] = {
            "oneOf": [{"type": kind, "title": argument, "description": argument, **default} for kind in _SCHEMA_TYPES]
        }
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "title": name,
        "description": name,
        "type": "object",
        "properties": properties,
        "x-ordering": list(properties),
        "additionalProperties": False,
    }


def _argspec(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    various = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    named = [parameter for parameter in parameters if parameter.kind not in various]
    return {
        "args": [parameter.name for parameter in named] or None,
        "defaults": [parameter.default for parameter in named if parameter.default is not parameter.empty] or None,
        "varargs": any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters) or None,
        "kwargs": any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters) or None,
    }
