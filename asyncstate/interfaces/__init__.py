"""Interfaces of virtual modules (SMI): the functions of ``pkg``, ``service`` or ``user`` on every platform.

This package exports all names that a provider or an author of an interface needs; `base` explains both.
"""

from __future__ import annotations

from asyncstate.interfaces.base import (
    Interface,
    InterfaceError,
    SMINotImplementedError,
    SMINotSupportedError,
    StructureError,
    VirtualName,
    functions_of,
    interface_of,
)

__all__ = [
    "Interface",
    "InterfaceError",
    "SMINotImplementedError",
    "SMINotSupportedError",
    "StructureError",
    "VirtualName",
    "functions_of",
    "interface_of",
]
