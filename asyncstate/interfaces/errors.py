"""What calling a function of an interface can raise where a provider lacks it, and what a bad interface raises."""

from __future__ import annotations

from asyncstate.errors import CommandExecutionError, LoaderError


class SMINotImplementedError(CommandExecutionError, NotImplementedError):
    """The provider in use on this machine lacks a function that its interface asks for."""


class SMINotSupportedError(SMINotImplementedError):
    """The function does not exist on this platform, and is not expected to."""


class InterfaceError(LoaderError):
    """An interface contradicts itself, or, under ``smi_strict``, a provider does not fit its interface."""


class StructureError(CommandExecutionError):
    """Under ``smi_validate: raise``: a provider returned something else than its interface declares."""
