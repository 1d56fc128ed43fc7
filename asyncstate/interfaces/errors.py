"""The errors of interfaces: calls to functions that a provider lacks, and interfaces that contradict themselves."""

from __future__ import annotations

from asyncstate.errors import CommandExecutionError, LoaderError


class SMINotImplementedError(CommandExecutionError, NotImplementedError):
    """The provider in use on this machine lacks a function that its interface expects."""


class SMINotSupportedError(SMINotImplementedError):
    """The interface does not expect the function on this platform, and the provider lacks it."""


class InterfaceError(LoaderError):
    """An interface contradicts itself, or, under ``smi_strict``, a provider does not fit its interface."""


class StructureError(CommandExecutionError):
    """A provider returned a value that its interface does not allow; raised under ``smi_validate: raise``."""
