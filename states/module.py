"""The ``module`` states: call execution functions from an SLS.

Both of Salt's notations work. The current one has functions as keys, each with a list of arguments::

    refresh:
      module.run:
        - pkg.refresh_db: []
        - test.echo:
          - text: done

The old one has one function as ``name`` and its arguments beside it (``m_name``, ``m_fun`` … if a state argument
already has that name; ``args`` and ``kwargs`` for the rest). Returners belong to a Salt master and are ignored.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, failed, is_dry_run, make_row, unchanged, would_change
from asyncstate.errors import CommandExecutionError, InvocationError, RunCancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BOOKKEEPING = frozenset({"name", "__reqs__", "sfun"})
_TAKEN_NAMES = {name: f"m_{name}" for name in ("name", "fun", "names", "state", "saltenv")}
"""Parameters of execution functions that a state cannot pass by name."""
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def run(**kwargs: Any) -> Row:
    """Call one or several execution functions; their return values are the changes.

    A return value of False, or a dict with ``result: False`` or a ``retcode`` other than 0 at any depth, is a failure.
    """
    keys = [key for key in kwargs if key not in _BOOKKEEPING]
    if keys and all("." in key for key in keys):
        return _run_functions(kwargs)
    return _run_one(**kwargs)


async def wait(name: str, **kwargs: Any) -> Row:
    """Do nothing: only a watched state that changed makes the calls. Takes the arguments of `run`."""
    return unchanged(name)


async def watch(name: str, **kwargs: Any) -> Row:
    """Do the same as `wait`, for trees that call it by the name of the requisite."""
    return unchanged(name)


def mod_watch(**kwargs: Any) -> Row:
    """Make the calls after a change of a watched state."""
    return run(**kwargs)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, Any]:
    """Return an unknown footprint: the called functions may read and write anything."""
    return {"reads": [], "writes": [], "unknown": "it calls functions that may do anything"}


def _run_functions(kwargs: dict[str, Any]) -> Row:
    kwargs.pop("name", None)
    name = list(kwargs)
    functions = [key for key in kwargs if "." in key]
    missing = [each for each in map(_function_name, functions) if each not in __salt__]
    waiting = [each for each in map(_function_name, functions) if is_dry_run() and each not in missing]
    if missing or waiting:
        reasons = map(_words_of, missing)
        comment = " ".join(filter(None, (_missing_comment(missing), *reasons, _waiting_comment(waiting))))
        return failed(name, comment) if missing else would_change(name, comment)
    changes: dict[str, Any] = {}
    failures: list[str] = []
    successes: list[str] = []
    for function in functions:
        try:
            value = _call(__salt__[_function_name(function)], kwargs[function])
        except TypeError as error:
            failures.append(f"'{function}' failed: {error}")
            continue
        if _succeeded(value):
            shown = value.get("comment", "Success") if isinstance(value, dict) else value
            successes.append(f"{function}: {shown}")
            changes[function] = value
        elif isinstance(value, dict):
            failures.append(f"'{function}' failed: {value.get('comment', '(error message N/A)')}")
        else:
            failures.append(f"'{function}': {value}")
    return make_row(name, ", ".join(failures + successes), changes, result=not failures)


def _function_name(key: str) -> str:
    """Return the function of a key: ``mod.fun:2`` calls the same function a second time."""
    return key.partition(":")[0]


# For more than one function, Salt's text is "functionTrue".
def _missing_comment(names: list[str]) -> str:
    return f"Unavailable function{len(names) > 1 or ''}: {', '.join(names)}." if names else ""


def _words_of(name: str) -> str:
    """Return what there is to say of a function that is not available; "" if nothing.

    For a function that a provider lacks, its interface provides a stub that raises the reason, and that ``in`` does
    not find.
    """
    try:
        stub = __salt__[name]
    except KeyError as missing:
        return str(getattr(missing.__cause__, "reason", "")).partition("is not available.")[2].strip()
    try:
        stub()
    except CommandExecutionError as error:
        return str(error)
    return ""


def _waiting_comment(names: list[str]) -> str:
    return f"Function{len(names) > 1 or ''} {', '.join(names)} to be executed." if names else ""


def _call(function: Callable[..., Any], arguments: Any) -> Any:
    """Call ``function`` with a list of values and one-key dicts: ``[value, {keyword: value}]``."""
    if not isinstance(arguments, (list, tuple)):
        arguments = [] if arguments is None else [arguments]
    positional = [item for item in arguments if not isinstance(item, dict)]
    keywords: dict[str, Any] = {}
    for item in reversed(arguments):
        if isinstance(item, dict):
            keywords.update(item)
    required = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in _POSITIONAL and parameter.default is parameter.empty
    ]
    missing = [name for name in required[len(positional) :] if name not in keywords]
    if missing:
        raise InvocationError(f"Missing arguments: {', '.join(missing)}")
    return function(*positional, **keywords)


def _run_one(name: str, **kwargs: Any) -> Row:
    if name not in __salt__:
        words = _words_of(name)
        return failed(name, f"Module function {name} is not available" + (f": {words}" if words else ""))
    if is_dry_run():
        return would_change(name, f"Module function {name} is set to execute")
    function = __salt__[name]
    try:
        positional, keywords = _distribute(function, kwargs)
    except InvocationError as error:
        return failed(name, str(error))
    try:
        value = function(*positional, **keywords)
    except RunCancelled:
        raise
    except Exception as error:  # noqa: BLE001 - any error of the function becomes the comment
        return failed(name, f"Module function {name} threw an exception. Exception: {error}")
    return make_row(name, f"Module function {name} executed", {"ret": value}, result=_succeeded(value))


def _distribute(function: Callable[..., Any], given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments in ``given`` for which ``function`` has parameters."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    missing: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        key = _key_for(name, given)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional.extend(_typed(given.get(key, []), list, name, "a list"))
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            keywords.update(_typed(given.get(name, {}), dict, name, "a dict"))
        elif key in given:
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                keywords[name] = given[key]
            else:
                positional.append(given[key])
        elif parameter.default is parameter.empty:
            missing.append(_TAKEN_NAMES.get(name, name))
        elif parameter.kind in _POSITIONAL:
            positional.append(parameter.default)
    if missing:
        raise InvocationError(f"The following arguments are missing: {' '.join(missing)}")
    return positional, keywords


def _key_for(name: str, given: Mapping[str, Any]) -> str:
    substitute = _TAKEN_NAMES.get(name, name)
    return substitute if substitute in given or name not in given else name


def _typed(value: Any, kind: type, name: str, description: str) -> Any:
    if not isinstance(value, kind):
        raise InvocationError(f"'{name}' must be {description}.")
    return value


def _succeeded(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    return _dict_succeeded(value) if isinstance(value, dict) else True


def _dict_succeeded(data: Mapping[str, Any]) -> bool:
    for key, value in data.items():
        if (key == "result" and value is False) or (key == "retcode" and value != 0):
            return False
        if isinstance(value, dict) and not _dict_succeeded(value):
            return False
    return True
