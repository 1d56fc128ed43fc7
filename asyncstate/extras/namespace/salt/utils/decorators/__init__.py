"""Decorators for functions of modules."""

from __future__ import annotations

import functools
import inspect
import shlex
import time
from typing import TYPE_CHECKING, Any, Final

from asyncstate.extras.namespace.names import ModuleGetattr, submodules
from asyncstate.extras.namespace.salt.exceptions import SaltInvocationError
from asyncstate.extras.namespace.salt.utils.args import clean_kwargs
from asyncstate.extras.namespace.salt.utils.versions import version_cmp
from asyncstate.logs import get_logger
from asyncstate.process.child import run_child
from asyncstate.salt_compat import require

if TYPE_CHECKING:
    from collections.abc import Callable

log: Final = get_logger(__name__)


class depends:  # noqa: N801 - a decorator
    """Offers the function only if its dependencies are met; otherwise ``fallback_function``, if there is one.

    A dependency is True, or a global name of the module that is true when the module has been loaded; its
    ``__version__`` is at least ``version``. With ``retcode=0`` or ``nonzero_retcode`` it is a command with that exit
    status.
    """

    def __init__(self, *dependencies: Any, **params: Any) -> None:
        self.dependencies = dependencies
        self.params = params

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Record the dependencies on the function; the loader checks them."""
        names = inspect.unwrap(function).__globals__
        require(function, lambda: self._is_met(names), self.params.get("fallback_function"))
        return function

    def _is_met(self, names: dict[str, Any]) -> bool:
        return all(self._has(dependency, names) for dependency in self.dependencies)

    def _has(self, dependency: Any, names: dict[str, Any]) -> bool:
        if "retcode" in self.params:
            return bool(_exit_status(dependency) == self.params["retcode"])
        if "nonzero_retcode" in self.params:
            return (_exit_status(dependency) != 0) == bool(self.params["nonzero_retcode"])
        if dependency is True:
            return True
        found = names.get(dependency)
        if found and "version" in self.params:
            return version_cmp(getattr(found, "__version__", None), self.params["version"]) in {0, 1}
        return bool(found)


Depends = depends


def _exit_status(command: str) -> int:
    try:
        return run_child(shlex.split(command)).returncode
    except OSError:
        return -1


def memoize(func: Callable[..., Any]) -> Callable[..., Any]:
    """Call a function once for the same arguments; arguments with the same text are the same."""
    cache: dict[str, Any] = {}

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        key = ",".join([*map(str, args), *(f"{name}={kwargs[name]}" for name in sorted(kwargs))])
        if key not in cache:
            cache[key] = func(*args, **kwargs)
        return cache[key]

    return wrapped


def timing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Log how long a function takes."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        start = time.time()
        result = function(*args, **clean_kwargs(**kwargs))
        log.debug("%s.%s took %.6f seconds", function.__module__, function.__name__, time.time() - start)
        return result

    return wrapped


def require_one_of(*kwarg_names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Refuse a call that does not give exactly one of some arguments."""
    return _exclusive(kwarg_names, "Only one of the following is allowed", needed=True)


def allow_one_of(*kwarg_names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Refuse a call that gives more than one of some arguments."""
    return _exclusive(kwarg_names, "Only of the following is allowed", needed=False)


def _exclusive(
    names: tuple[str, ...], complaint: str, *, needed: bool
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        positional = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            passed = {**dict(zip(positional, args, strict=False)), **kwargs}
            given = [name for name in names if passed.get(name)]
            if len(given) > 1:
                raise SaltInvocationError(f"{complaint}: {', '.join(names)}")
            if needed and not given:
                raise SaltInvocationError(f"One of the following must be provided: {', '.join(names)}")
            return function(*args, **kwargs)

        return wrapped

    return decorate


def ignores_kwargs(*kwarg_names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Drop some arguments of a call."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **{name: value for name, value in kwargs.items() if name not in kwarg_names})

        return wrapped

    return decorate


__getattr__: ModuleGetattr = submodules(__name__)
