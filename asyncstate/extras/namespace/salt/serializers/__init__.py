"""Reading and writing data by the name of a format."""

from __future__ import annotations

from asyncstate.extras.namespace.names import ModuleGetattr, submodules
from asyncstate.extras.namespace.salt.exceptions import SaltException, SaltRenderError


class DeserializationError(SaltRenderError):
    """Text is not of the format."""


class SerializationError(SaltException):
    """Data cannot be written in the format."""


__getattr__: ModuleGetattr = submodules(__name__)
