"""The ``test`` execution module: functions with a known answer."""

from __future__ import annotations

import builtins
import hashlib
import importlib.metadata
import logging
import os
import random as _random
import secrets
import sys
import time
import traceback
from typing import Any

import anyio

from asyncstate import dunders, filesystem
from asyncstate._version import __version__
from asyncstate.data import SALT_VERSION
from asyncstate.dunders import __opts__, __salt__
from asyncstate.errors import CommandExecutionError

__func_alias__ = {"assertion_": "assertion", "false_": "false", "true_": "true", "try_": "try"}

log = logging.getLogger(__name__)

_LIBRARIES = ("anyio", "Jinja2", "msgspec", "PyYAML", "structlog")


def ping() -> bool:
    """Return True."""
    return True


def echo(text: Any) -> Any:
    """Return ``text``."""
    return text


def true_() -> bool:
    """Return True."""
    return True


def false_() -> bool:
    """Return False."""
    return False


def arg(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return the arguments."""
    return {"args": args, "kwargs": kwargs}


def arg_repr(*args: Any, **kwargs: Any) -> dict[str, str]:
    """Return the arguments as Python shows them."""
    return {"args": repr(args), "kwargs": repr(kwargs)}


def arg_type(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return the types of the arguments."""
    return {
        "args": [str(type(value)) for value in args],
        "kwargs": {key: str(type(value)) for key, value in kwargs.items()},
    }


def arg_clean(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return the arguments without the internal ones."""
    return {"args": args, "kwargs": {key: value for key, value in kwargs.items() if not key.startswith("__")}}


def kwarg(**kwargs: Any) -> dict[str, Any]:
    """Return the keyword arguments."""
    return kwargs


def outputter(data: Any) -> Any:
    """Return ``data``."""
    return data


def cross_test(func: str, args: list[Any] | None = None) -> Any:
    """Call another execution function and return its value."""
    return __salt__[func](*(args or []))


def try_(module: str, return_try_exception: bool = False, **kwargs: Any) -> Any:
    """Call another execution function; if it raises, return None, or the exception."""
    try:
        return __salt__[module](**kwargs)
    except Exception as error:  # noqa: BLE001 - catching any error is the purpose
        dunders.check_cancelled()
        return error if return_try_exception else None


async def sleep(length: float) -> bool:
    """Wait whole seconds and return True. A cancelled run does not wait for it."""
    await anyio.sleep(int(length))
    return True


async def rand_sleep(max: int = 60) -> bool:
    """Wait a random number of seconds and return True."""
    await anyio.sleep(_random.randint(0, max))  # noqa: S311 - no secret
    return True


def fib(num: int) -> tuple[int, float]:
    """Return a Fibonacci number and the seconds it took."""
    wanted = int(num)
    if wanted < 0:
        raise ValueError("Negative number is not allowed!")
    begin = time.time()
    previous, current = 0, 1
    for _ in range(wanted - 1):
        previous, current = current, previous + current
    return (current if wanted else 0), time.time() - begin


def collatz(start: int) -> tuple[list[float], float]:
    """Return the Collatz sequence from a number and the seconds it took."""
    number: float = int(start)
    begin = time.time()
    steps = []
    while number != 1:
        steps.append(number)
        number = number / 2 if number % 2 == 0 else number * 3 + 1
    return steps, time.time() - begin


def retcode(code: int = 42) -> bool:
    """Return True, and set an exit status that conditions see."""
    dunders.context.current.get().retcode = code
    return True


def exception(message: str = "Test Exception") -> None:
    """Raise CommandExecutionError."""
    raise CommandExecutionError(message)


def raise_exception(name: str, *args: Any, **kwargs: Any) -> bool:
    """Raise a built-in exception by its name; False if there is none of that name."""
    found = getattr(builtins, name.rpartition(".")[2], None)
    if isinstance(found, type) and issubclass(found, Exception):
        raise found(*args)
    log.error("No such exception: %s", name)
    return False


def assertion_(assertion: Any) -> None:
    """Raise AssertionError unless the argument is true."""
    if not assertion:
        raise AssertionError


def random_hash(size: int = 9999999999, hash_type: str | None = None) -> str:
    """Return the digest of a random number below ``size``."""
    kind = hash_type or __opts__.get("hash_type") or "sha256"
    return hashlib.new(kind, str(secrets.randbelow(int(size))).encode()).hexdigest()


def rand_str(size: int = 9999999999, hash_type: str | None = None) -> str:
    """Return the same as `random_hash`."""
    return random_hash(size, hash_type)


def version() -> str:
    """Return the version of asyncstate."""
    return __version__


def versions_information() -> dict[str, dict[str, str]]:
    """Return the versions of Salt's behaviour, of asyncstate, of Python, of libraries and of the system."""
    system = os.uname()
    return {
        "Salt Version": {"Salt": ".".join(map(str, SALT_VERSION))},
        "asyncstate": {"asyncstate": __version__},
        "Python Version": {"Python": sys.version.replace("\n", "")},
        "Dependency Versions": {name: _installed(name) for name in _LIBRARIES},
        "System Versions": {"system": system.sysname, "release": system.release, "machine": system.machine},
    }


def versions_report() -> str:
    """Return `versions_information` as text."""
    parts = versions_information()
    wide = max(len(name) for part in parts.values() for name in part)
    return "\n \n".join(
        "\n".join([f"{title}:", *(f"{name:>{wide}}: {version}" for name, version in part.items())])
        for title, part in parts.items()
    )


versions = versions_report


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "Not Installed"


def get_opts() -> dict[str, Any]:
    """Return the options."""
    return dict(__opts__)


def opts_pkg() -> dict[str, Any]:
    """Return the options."""
    return dict(__opts__)


def conf_test() -> Any:
    """Return the option ``test.foo``."""
    return __salt__["config.option"]("test.foo")


def attr_call() -> dict[str, Any]:
    """Return the grains."""
    grains: dict[str, Any] = __salt__["grains.items"]()
    return grains


def deprecation_warning() -> bool:
    """Return True, and log two warnings of what is deprecated."""
    log.warning("A test of a deprecation by version")
    log.warning("A test of a deprecation by date")
    return True


def stack() -> str:
    """Return the calls that led to this one."""
    return "".join(traceback.format_stack())


def tty(*args: Any, **kwargs: Any) -> str:
    """Return that another function does this."""
    return "ERROR: This function has been moved to cmd.tty"


def module_report() -> dict[str, list[str]]:
    """Return all execution modules and functions, by the ways in which ``__salt__`` gives them; none is missing."""
    functions = sorted(__salt__)
    modules = sorted({name.partition(".")[0] for name in functions})
    return {
        "functions": functions,
        "function_attrs": functions,
        "function_subs": functions,
        "modules": modules,
        "module_attrs": modules,
        "missing_attrs": [],
        "missing_subs": [],
    }


def not_loaded() -> list[str]:
    """Return the names of the bundled files of execution modules that this machine does not use."""
    names = {
        name.partition(".")[0] for name in filesystem.listdir(os.path.dirname(__file__)) if not name.startswith("_")
    }
    return sorted(names - set(providers()))


def provider(module: str) -> str:
    """Return the name of the file that provides an execution module, "" if none does."""
    loaded = dunders.runtime_services().plugins("modules").module(module)
    return "" if loaded is None else _file_name(loaded.file)


def providers() -> dict[str, str]:
    """Return all execution modules by the names of the files that provide them."""
    names = sorted({name.partition(".")[0] for name in __salt__})
    return {provider(name): name for name in names}


def _file_name(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.basename(folder) if name == "__init__.py" else os.path.splitext(name)[0]
