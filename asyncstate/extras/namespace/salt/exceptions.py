"""Salt's exceptions. The common ones are the classes of `asyncstate.errors` themselves.

So an ``except CommandExecutionError`` in a custom module catches what bundled modules raise, and vice versa.
"""

from __future__ import annotations

from asyncstate.errors import AsyncStateError as SaltException
from asyncstate.errors import CommandExecutionError, LoaderError
from asyncstate.errors import InvocationError as SaltInvocationError
from asyncstate.errors import RenderError as SaltRenderError
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

__all__ = [
    "ArgumentValueError",
    "AuthenticationError",
    "AuthorizationError",
    "CheckError",
    "CommandExecutionError",
    "CommandNotFoundError",
    "FileLockError",
    "InvalidConfigError",
    "InvalidEntityError",
    "LoaderError",
    "MinionError",
    "NotImplemented",
    "PkgParseError",
    "SaltClientError",
    "SaltConfigurationError",
    "SaltDeserializationError",
    "SaltException",
    "SaltInvocationError",
    "SaltRenderError",
    "SaltSystemExit",
    "SaltValidationError",
    "TemplateError",
    "TimedProcTimeoutError",
    "TimeoutError",
    "UnsupportedAlgorithm",
    "get_error_message",
]


class CommandNotFoundError(SaltException):
    """A required program is not installed."""


class PkgParseError(SaltException):
    """The output of a package manager cannot be read."""


class MinionError(SaltException):
    """A file cannot be fetched."""


class FileLockError(SaltException):
    """A lock file cannot be acquired. ``time_start`` is when the wait began."""

    def __init__(self, message: object = "", time_start: float | None = None) -> None:
        super().__init__(message)
        self.time_start = time_start


class TimedProcTimeoutError(SaltException):
    """A command ran longer than it may."""


class TimeoutError(SaltException):  # noqa: A001 - Salt's name
    """Something took longer than it may."""


class AuthenticationError(SaltException):
    """A user's authentication failed."""


class AuthorizationError(SaltException):
    """A user lacks the permission."""


class SaltClientError(SaltException):
    """A job cannot be sent to a master."""


class SaltConfigurationError(SaltException):
    """An option is wrong."""


class SaltDeserializationError(SaltException):
    """Data cannot be read."""


class SaltValidationError(SaltException):
    """A value does not have the required form."""


class UnsupportedAlgorithm(SaltException):
    """A cipher or signature is not supported."""


class NotImplemented(SaltException):  # noqa: A001 - Salt's name
    """A function does not exist for this platform."""


class TemplateError(SaltException):
    """A template raised an error on purpose."""


class ArgumentValueError(CommandExecutionError):
    """An argument has a value that makes no sense."""


class CheckError(CommandExecutionError):
    """A check failed."""


class InvalidConfigError(CommandExecutionError):
    """A configuration is wrong."""


class InvalidEntityError(CommandExecutionError):
    """A value fails its validation."""


class SaltSystemExit(SystemExit):
    """The program cannot go on. In a state or execution function it makes a failed row, like any SystemExit."""

    def __init__(self, code: int = 0, msg: str | None = None) -> None:
        super().__init__(msg or code)
        self.message = msg


def get_error_message(error: BaseException) -> object:
    """Return the first argument of an exception, ``""`` if it has none."""
    return error.args[0] if error.args else ""


__getattr__: ModuleGetattr = nothing_else(__name__)
