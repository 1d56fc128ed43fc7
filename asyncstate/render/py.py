"""The ``py`` renderer: an SLS that is a Python program whose ``run()`` returns the data."""

from __future__ import annotations

import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from asyncstate.data.text import excerpt_around
from asyncstate.errors import RenderError, RunCancelled
from asyncstate.salt_compat import PROGRAM_BUILTINS

if TYPE_CHECKING:
    from asyncstate.render.context import RenderContext

_MODULE_NAME: Final = __name__  # a name in `sys.modules`, where dataclasses look up their module


def render(text: str, context: RenderContext) -> Any:
    """Run the program and return what its ``run()`` returns.

    It sees ``__salt__``, ``__grains__``, ``__pillar__``, ``__opts__``, ``__env__``, ``__sls__``, the same without
    underscores, ``saltenv`` and ``context``. Any exception, also SystemExit, becomes a RenderError with its line.
    """
    path = context.path or "<py>"
    given = _names(context)
    namespace: dict[str, Any] = {
        "__name__": _MODULE_NAME,
        "__file__": path,
        "__builtins__": PROGRAM_BUILTINS,
        **given,
    }
    try:
        exec(compile(text, path, "exec"), namespace)  # noqa: S102 - running it is what this renderer is for
        for name, value in given.items():
            if not isinstance(namespace.get(name), ModuleType):
                namespace[name] = value
        run = namespace.get("run")
        if callable(run):
            return run()
    except (RunCancelled, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise program_error(error, text, path) from error
    raise RenderError("the py renderer needs a function run() that returns the data", file=path, line=1)


def _names(context: RenderContext) -> dict[str, Any]:
    names = {"salt": context.salt, "grains": context.grains, "pillar": context.pillar, "opts": context.opts}
    return {
        **names,
        **{f"__{name}__": value for name, value in names.items()},
        "__env__": context.saltenv,
        "__sls__": context.sls,
        "saltenv": context.saltenv,
        "sls": context.sls,
        "context": dict(context.extra),
        "renderers": context.renderers,
    }


def program_error(error: BaseException, text: str, path: str) -> RenderError:
    """Return the RenderError for an exception of the program in ``text``, with its current line."""
    line = 0
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno or 0
    else:
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == path:
                line = frame.lineno or 0
    return failed_at(line, error, text, path)


def failed_at(line: int, error: BaseException, text: str, path: str) -> RenderError:
    """Return the RenderError for an exception at a line of ``text``, or at an unknown one (0)."""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    message = f"{what}; line {line}\n\n{excerpt_around(text, line)}" if line else what
    return RenderError(message, file=path, line=line)
