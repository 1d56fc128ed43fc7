"""Arguments of functions."""

from __future__ import annotations

import inspect
import re
import shlex
from typing import TYPE_CHECKING, Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.exceptions import SaltInvocationError
from asyncstate.extras.namespace.salt.utils.data import is_true
from asyncstate.extras.namespace.salt.utils.yaml import YAMLError, safe_load
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KWARG_REGEX = re.compile(r"^([^\d\W][\w.-]*)=(?!=)(.*)$")


class ArgSpec(Value):
    """The arguments of a function: their names, the names of ``*args`` and ``**kwargs``, and the last defaults."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def clean_kwargs(**kwargs: Any) -> dict[str, Any]:
    """Return the keyword arguments without the runtime's, whose names begin with two underscores."""
    return {key: value for key, value in kwargs.items() if not key.startswith("__")}


def invalid_kwargs(invalid_kwargs: Any, raise_exc: bool = True) -> str:
    """Raise SaltInvocationError that names unknown arguments, or return its text."""
    if isinstance(invalid_kwargs, dict):
        invalid_kwargs = [f"{key}={value}" for key, value in invalid_kwargs.items()]
    message = f"The following keyword arguments are not valid: {', '.join(invalid_kwargs)}"
    if raise_exc:
        raise SaltInvocationError(message)
    return message


def get_function_argspec(func: Callable[..., Any], is_class_method: bool | None = None) -> ArgSpec:
    """Return ``(args, varargs, keywords, defaults)`` of a function, looking through decorators."""
    if not callable(func):
        raise TypeError(f"{func} is not a callable")
    parameters = list(inspect.signature(inspect.unwrap(func)).parameters.values())
    named = [each for each in parameters if each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}]
    names = [each.name for each in named]
    return ArgSpec(
        names[1:] if is_class_method else names,
        next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), None),
        next((each.name for each in parameters if each.kind is each.VAR_KEYWORD), None),
        tuple(each.default for each in named if each.default is not each.empty) or None,
    )


def arg_lookup(fun: Callable[..., Any], aspec: Any = None) -> dict[str, Any]:
    """Return ``{args, kwargs}``: the names without a default, and those with one."""
    spec = aspec or get_function_argspec(fun)
    defaults = spec.defaults or ()
    kwargs = dict(zip(reversed(spec.args), reversed(defaults), strict=False))
    return {"kwargs": kwargs, "args": [name for name in spec.args if name not in kwargs]}


def shlex_split(s: Any, **kwargs: Any) -> Any:
    """Split text like a shell; anything else stays."""
    return shlex.split(s, **kwargs) if isinstance(s, str) else s


def split_input(val: Any, mapper: Callable[[Any], Any] | None = None) -> list[Any]:
    """Return a list for a list, or for text with commas."""
    items = val if isinstance(val, list) else [part.strip() for part in str(val).split(",")]
    return [mapper(item) for item in items] if mapper is not None else list(items)


def test_mode(**kwargs: Any) -> bool:
    """Return whether arguments ask for a dry run: ``test=True`` in any case."""
    return any(key.lower() == "test" and is_true(value) for key, value in kwargs.items())


def parse_kwarg(string_: str) -> tuple[str | None, str | None]:
    """Return name and value of ``name=value``, ``(None, None)`` for anything else."""
    found = KWARG_REGEX.match(string_) if isinstance(string_, str) else None
    return (found[1], found[2]) if found is not None else (None, None)


def yamlify_arg(arg: Any) -> Any:
    """Return the value of a command-line argument: a number, a boolean, ``{…}``, ``[…]``, or its text."""
    if not isinstance(arg, str) or arg.strip() in {"", "---", "...", "|", "!"} or re.search(r"[\t\r\n]", arg):
        return arg
    if "_" in arg and re.fullmatch(r"[\d_]+", arg.strip()):
        return arg
    if arg == "None":
        return None
    try:
        value = safe_load(arg)
    except (YAMLError, ValueError):
        return arg
    if "#" in arg and (value is None or isinstance(value, str)):
        return arg
    if isinstance(value, dict):
        return value if arg.startswith("{") else arg
    if isinstance(value, list):
        return value if arg.startswith("[") else arg
    return value if value is None or isinstance(value, (int, float, str)) else arg


def parse_input(args: Iterable[Any], condition: bool = True, no_parse: Iterable[str] | None = None) -> Any:
    """Return positional and keyword arguments of a command line: one list with ``condition``, else both."""
    unread = set(no_parse or ())
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for arg in args:
        name, value = parse_kwarg(arg)
        if name is not None:
            named[name] = value if name in unread else yamlify_arg(value)
        elif isinstance(arg, dict) and arg.get("__kwarg__") is True:
            named.update({key: item for key, item in arg.items() if key != "__kwarg__"})
        else:
            positional.append(yamlify_arg(arg))
    if not condition:
        return positional, named
    return [*positional, {"__kwarg__": True, **named}] if named else positional


def parse_function(s: str) -> tuple[str | None, list[str] | None, dict[str, str] | None]:
    """Return name, arguments and keyword arguments of ``module.function(a, b=c)``; three None for anything else."""
    lexer = shlex.shlex(s, posix=True)
    lexer.escapedquotes = "\"'"
    tokens = iter(lexer.get_token, None)
    name = "".join(iter(lambda: next(tokens, "("), "("))
    if not name or "(" not in s:
        return None, None, None
    args: list[str] = []
    kwargs: dict[str, str] = {}
    key, word = "", ""
    awaited: list[str] = []
    for part in tokens:
        if not awaited and part in {",", ")"}:
            if key:
                kwargs[key] = word
            elif word:
                args.append(word)
            if part == ")":
                return name, args, kwargs
            key, word = "", ""
        elif not awaited and part == "=":
            key, word = word, ""
        else:
            if part in _CLOSING:
                awaited.append(_CLOSING[part])
            elif part in _CLOSING.values() and (not awaited or part != awaited.pop()):
                break
            word += part
    return None, None, None


_CLOSING = {"(": ")", "[": "]", "{": "}"}

__getattr__: ModuleGetattr = nothing_else(__name__)
