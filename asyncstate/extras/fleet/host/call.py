"""A call of an execution function as a state, so that it is run, kept, masked and reported as states are.

Its row has the answer of Salt's minion: ``ret`` is the return value, ``retcode`` is 0 if the function succeeded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asyncstate.dunders import __context__, __salt__
from asyncstate.errors import CommandExecutionError, InvocationError, RunCancelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.model.result import Row

FUNCTION: Final = "fleet.call"
"""The name of the state, which exists in the runtime of a call only."""
_NOT_THERE: Final = 254
_BY_SHELL: Final = frozenset(
    {"cmd.run", "cmd.run_all", "cmd.run_bg", "cmd.run_stderr", "cmd.run_stdout", "cmd.retcode"}
)
"""Functions that use the shell by default when an operator calls them, as in Salt; in a tree they do not."""


async def call(name: str, arg: list[Any], kwarg: Mapping[str, Any]) -> Row:
    """Call the execution function ``name``. The row fails by its exit status or its return value, as in Salt."""
    if name not in __salt__:
        return _answered(name, f"'{name}' is not available.", _NOT_THERE)
    __context__["retcode"] = 0
    if name in _BY_SHELL:
        kwarg = {"python_shell": True, **kwarg}
    try:
        value = await __salt__[name](*arg, **kwarg)
    except RunCancelled:
        raise
    except CommandExecutionError as error:
        return _answered(name, f"ERROR: {error}", 1)
    except InvocationError as error:
        return _answered(name, f"ERROR executing '{name}': {error}", 1)
    except TypeError as error:
        return _answered(name, f"Passed invalid arguments to {name}: {error}", 1)
    except Exception as error:  # noqa: BLE001 - whatever the function raises is its answer
        return _answered(name, f"The minion function caused an exception: {type(error).__name__}: {error}", 1)
    return _answered(name, value, int(__context__["retcode"] or 0) or int(_says_failed(value)))


def _says_failed(value: Any) -> bool:
    return isinstance(value, dict) and not all(value.get(key, True) for key in ("result", "success"))


def _answered(name: str, value: Any, status: int) -> Row:
    answer = {"ret": value, "retcode": status}
    return {"name": name, "changes": answer, "result": not status, "comment": f"{name} was called"}
