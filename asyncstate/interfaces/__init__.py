"""Interfaces of virtual modules (SMI): the functions of ``pkg``, ``service`` or ``user`` on every platform.

An interface is a class. Its public methods are the functions, callers may rely on their signatures (without ``self``),
and the values their bodies return declare the least that a caller gets::

    class PkgInterface(Interface):
        __modulename__ = "pkg"

        def version(self, name, **kwargs):
            "The installed version."
            return ""

        @Interface.supported(os_family=["Debian", "RedHat"])
        def hold(self, name):
            "Keep a package as it is."
            return {}

A provider declares that it follows the interface with ``__virtualname__ = PkgInterface(__name__)()``. A condition says
to which machines a function of the interface applies, by grains and the values they may have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from asyncstate.errors import CommandExecutionError, LoaderError
from asyncstate.value import Value

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

F = TypeVar("F", bound=Callable[..., Any])

_SUPPORTED = "__smi_supported__"
_NOT_APPLICABLE = "__smi_not_applicable__"
HIDDEN_STUB = "__smi_stub__"
_ALIASES = {"osfamily": "os_family"}
_COLLECTIONS = (list, tuple, set, frozenset)


class SMINotImplementedError(CommandExecutionError, NotImplementedError):
    """The provider in use on this machine lacks a function that its interface expects."""


class SMINotSupportedError(SMINotImplementedError):
    """The interface does not expect the function on this platform, and the provider lacks it."""


class InterfaceError(LoaderError):
    """An interface contradicts itself, or, under ``smi_strict``, a provider does not fit its interface."""


class StructureError(CommandExecutionError):
    """A provider returned a value that its interface does not allow; raised under ``smi_validate: raise``."""


class Condition:
    """``grain=[value, …]`` pairs; one grain with one of its values is enough.

    Values are compared as text, without regard to case, and may be globs. A grain that is a list matches if one of its
    elements does, a mapping if one of its keys does; a grain that this machine lacks does not match. ``a:b`` is the
    entry ``b`` of the grain ``a``, unless a grain has that name. Raises TypeError if a value is not text, a number or
    a boolean.
    """

    __slots__ = ("wanted",)

    def __init__(self, grains: Mapping[str, Any]) -> None:
        if not grains:
            raise TypeError("name at least one grain, such as os_family=['Debian']")
        self.wanted: dict[str, tuple[Any, ...]] = {
            _ALIASES.get(name, name): _values(name, value) for name, value in grains.items()
        }

    def matches(self, grains: Mapping[str, Any]) -> bool:
        """Return whether the condition holds on a machine with these grains."""
        return any(
            fnmatchcase(_text(actual), _text(pattern))
            for name, patterns in self.wanted.items()
            for actual in _elements(grain(name, grains))
            for pattern in patterns
        )

    def __str__(self) -> str:
        return " or ".join(f"{name}={','.join(map(str, values))}" for name, values in self.wanted.items())

    def __repr__(self) -> str:
        return f"<Condition {self}>"


def grain(name: str, grains: Mapping[str, Any]) -> Any:
    """Return a grain, or with ``a:b`` an entry of one that is a mapping; None if this machine has none."""
    value: Any = grains
    if name in grains:
        return grains[name]
    for part in name.split(":"):
        if isinstance(value, _COLLECTIONS):
            return next((item[part] for item in value if isinstance(item, Mapping) and part in item), None)
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def all_match(conditions: tuple[Condition, ...], grains: Mapping[str, Any]) -> bool:
    """Return whether all stacked conditions hold; False if there are none."""
    return bool(conditions) and all(condition.matches(grains) for condition in conditions)


def describe(conditions: tuple[Condition, ...]) -> str:
    """Return stacked conditions as text."""
    return " and ".join(f"({each})" if len(conditions) > 1 else str(each) for each in conditions)


def _values(name: str, value: Any) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, _COLLECTIONS) else (value,)
    for each in values:
        if each is None or callable(each) or isinstance(each, (Mapping, *_COLLECTIONS)):
            raise TypeError(f"{name}={each!r}: a grain is compared with texts, numbers or booleans")
    return values


def _elements(actual: Any) -> tuple[Any, ...]:
    if actual is None:
        return ()
    return tuple(actual) if isinstance(actual, (Mapping, *_COLLECTIONS)) else (actual,)


def _text(value: Any) -> str:
    return str(value).lower()


class Declared(Value):
    """One function of an interface, with the machines where it is expected and those where it does not apply."""

    name: str
    method: Callable[..., Any]
    signature: inspect.Signature
    supported: tuple[Condition, ...]
    not_applicable: tuple[Condition, ...]

    @property
    def doc(self) -> str:
        """The documentation of the function."""
        return inspect.getdoc(self.method) or ""

    def structure(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value that the method's body declares for these arguments, {} if the body fails."""
        try:
            return self.method(*args, **kwargs)
        except Exception:  # noqa: BLE001 - a body that fails declares nothing
            return {}


class Interface:
    """The base of all interfaces. ``__modulename__`` is the virtual name, ``__func_alias__`` renames methods.

    ``__deprecated__`` may name the replacement of each function that left the interface.
    """

    __modulename__: ClassVar[str] = ""
    __func_alias__: ClassVar[Mapping[str, str]] = {}
    __deprecated__: ClassVar[Mapping[str, str]] = {}

    def __init__(self, provider: str = "") -> None:
        if not self.__modulename__:
            raise InterfaceError(f"{type(self).__name__} has no __modulename__: which virtual module does it describe?")

    def __call__(self) -> VirtualName:
        """Return the virtual name, for ``__virtualname__``."""
        return VirtualName(self)

    @cached_property
    def _functions(self) -> dict[str, Declared]:
        found: dict[str, Declared] = {}
        for name in _public_methods(type(self)):
            method = getattr(self, name)
            exported = self.__func_alias__.get(name, name)
            found[exported] = Declared(
                exported,
                method,
                inspect.signature(method),
                tuple(getattr(method, _SUPPORTED, ())),
                tuple(getattr(method, _NOT_APPLICABLE, ())),
            )
        return found

    def __str__(self) -> str:
        return self.__modulename__

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, (str, Interface)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.__modulename__)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.__modulename__}>"

    @staticmethod
    def supported(**grains: Any) -> Callable[[F], F]:
        """Expect a function only on machines with these grains; elsewhere it is *not supported*.

        One grain with one of its values is enough. All of several stacked decorators must match.
        """
        return _mark(_SUPPORTED, grains)

    @staticmethod
    def not_applicable(**grains: Any) -> Callable[[F], F]:
        """Let a function do nothing but return its declared structure on machines with these grains."""
        return _mark(_NOT_APPLICABLE, grains)


class VirtualName(str):
    """The virtual name of a provider that follows an interface. Outside the loader it is a plain string."""

    __slots__ = ("interface",)

    interface: Interface

    def __new__(cls, interface: Interface) -> Self:
        """Return the name of ``interface``."""
        name = super().__new__(cls, interface.__modulename__)
        name.interface = interface
        return name


def interface_of(namespace: object) -> Interface | None:
    """Return the interface that a provider follows, None if it follows none."""
    declared = getattr(namespace, "__virtualname__", None)
    declared = getattr(declared, "interface", declared)
    return declared if isinstance(declared, Interface) else None


def functions_of(interface: Interface) -> Mapping[str, Declared]:
    """Return the functions of an interface by the name callers use, in the order of their definition."""
    return interface._functions  # noqa: SLF001 - a method of that name would be a function of the interface


def _mark(attribute: str, grains: Mapping[str, Any]) -> Callable[[F], F]:
    condition = Condition(grains)

    def decorate(method: F) -> F:
        setattr(method, attribute, (condition, *getattr(method, attribute, ())))
        return method

    return decorate


def _public_methods(klass: type) -> list[str]:
    names: dict[str, None] = {}
    for base in reversed(klass.__mro__):
        if base is object or base is Interface:
            continue
        for name in vars(base):
            if not name.startswith("_"):
                names[name] = None
    return [name for name in names if callable(getattr(klass, name)) and not inspect.isclass(getattr(klass, name))]


def is_hidden_stub(func: Callable[..., Any]) -> bool:
    """Return whether a function is a stub that listings and ``in`` tests leave out."""
    return bool(getattr(func, HIDDEN_STUB, False))
