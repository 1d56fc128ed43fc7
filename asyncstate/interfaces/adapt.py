"""Adapting a provider to its interface when it is loaded.

A function that the provider lacks becomes a stub, which raises when it is called. A function that the interface does
not have keeps working, with a warning at the first call. The provider's own namespace is not changed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

from asyncstate.dunders.context import current
from asyncstate.interfaces import (
    HIDDEN_STUB,
    InterfaceError,
    SMINotImplementedError,
    SMINotSupportedError,
    StructureError,
    describe,
)
from asyncstate.interfaces.conformance import Finding, Status, check_conformance, declined_by, mismatches
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    from types import ModuleType

    from asyncstate.interfaces import Declared, Interface

log: Final = get_logger(__name__)

Function = Callable[..., Any]
Exports = Mapping[str, Function]

_NAMED_GRAINS = ("os", "os_family", "kernel")
_warned: set[tuple[str, str, str]] = set()


def adapt(interface: Interface, namespace: ModuleType, exports: Exports) -> Exports:
    """Return the functions that the loader offers for a provider, by name; ``exports`` are the provider's own.

    Grains and options come from the current call. Raises InterfaceError if the interface contradicts itself, or under
    ``smi_strict`` if a signature does not fit.
    """
    context = current.get(None)
    grains: Mapping[str, Any] = context.grains if context else {}
    opts: Mapping[str, Any] = context.base_opts if context else {}
    provider = _Provider(interface, namespace, grains, opts)
    adapted: dict[str, Function] = {}
    for finding in check_conformance(interface, exports, grains, declined_by(namespace)):
        func = exports.get(finding.function)
        adapted[finding.function] = provider.offered(finding, func)
    return adapted


class _Provider:
    """One provider on this machine, with the data for the messages of its functions."""

    def __init__(
        self, interface: Interface, namespace: ModuleType, grains: Mapping[str, Any], opts: Mapping[str, Any]
    ) -> None:
        self.interface = type(interface).__name__
        self.notes = interface.__deprecated__
        self.virtual = str(interface)
        self.file = str(getattr(namespace, "__file__", namespace.__name__))
        self.machine = ", ".join(f"{name}={grains[name]}" for name in _NAMED_GRAINS if name in grains) or "no grains"
        self.visible_stubs = bool(opts.get("smi_visible_stubs"))
        self.strict = bool(opts.get("smi_strict"))
        self.validate = validation_mode(opts.get("smi_validate"))

    def offered(self, finding: Finding, func: Function | None) -> Function:
        """Return the callable that the loader offers for one function."""
        declared = finding.declared
        if declared is None:
            assert func is not None  # noqa: S101 - only the provider can have it
            return self._deprecated(finding.function, func)
        if finding.status is Status.NOT_APPLICABLE:
            return self._not_applicable(declared, func)
        if func is None:
            return self._stub(finding, declared)
        if finding.status is Status.INCOMPATIBLE:
            self._incompatible(finding, declared, func)
        return self._validated(declared, func) if self.validate else func

    def _stub(self, finding: Finding, declared: Declared) -> Function:
        unsupported = finding.status is Status.UNSUPPORTED
        kind = SMINotSupportedError if unsupported else SMINotImplementedError
        verb = "not supported here" if unsupported else "not implemented"
        where = f"; it exists on {describe(declared.supported)}" if unsupported else ""
        why = f": {finding.notes[0]}" if finding.status is Status.DECLINED and finding.notes else ""
        text = (
            f"'{self._full(declared.name)}' is {verb}: {self.interface} asks for it, {self.file} lacks it{why}"
            f" ({self.machine}{where})"
        )
        log.debug(text)

        def stub(*_args: Any, **_kwargs: Any) -> NoReturn:
            raise kind(text)

        _describe(stub, declared)
        setattr(stub, HIDDEN_STUB, not self.visible_stubs)
        return stub

    def _not_applicable(self, declared: Declared, func: Function | None) -> Function:
        full = self._full(declared.name)
        if func is not None:
            self._warn_once(declared.name, "inapplicable", f"'{full}' of {self.file} is ignored: not applicable here")

        def nothing(*args: Any, **kwargs: Any) -> Any:
            log.debug("'%s' was called; %s says it is not applicable on %s", full, self.interface, self.machine)
            return declared.structure(*args, **kwargs)

        _describe(nothing, declared)
        return nothing

    def _deprecated(self, name: str, func: Function) -> Function:
        note = self.notes.get(name, "It may go without further notice.")
        text = f"'{self._full(name)}' is deprecated: {self.interface} does not have it. {note}"

        @functools.wraps(func)
        def deprecated(*args: Any, **kwargs: Any) -> Any:
            self._warn_once(name, "deprecated", text)
            return func(*args, **kwargs)

        return deprecated

    def _incompatible(self, finding: Finding, declared: Declared, func: Function) -> None:
        problems = "; ".join(finding.details)
        text = (
            f"'{self._full(declared.name)}' of {self.file} does not fit {self.interface}: {problems}\n"
            f"    interface: {declared.name}{declared.signature}\n"
            f"    provider:  {declared.name}{inspect.signature(func)}"
        )
        if self.strict:
            raise InterfaceError(text)
        self._warn_once(declared.name, "incompatible", text)

    def _validated(self, declared: Declared, func: Function) -> Function:
        if inspect.iscoroutinefunction(inspect.unwrap(func)):

            @functools.wraps(func)
            async def validated(*args: Any, **kwargs: Any) -> Any:
                return self._checked(declared, args, kwargs, await func(*args, **kwargs))
        else:

            @functools.wraps(func)
            def validated(*args: Any, **kwargs: Any) -> Any:
                return self._checked(declared, args, kwargs, func(*args, **kwargs))

        return validated

    def _checked(self, declared: Declared, args: Any, kwargs: Any, value: Any) -> Any:
        wrong = mismatches(declared.structure(*args, **kwargs), value)
        if wrong:
            text = f"'{self._full(declared.name)}' of {self.file} returned what {self.interface} does not allow: "
            text += "; ".join(wrong)
            if self.validate == "raise":
                raise StructureError(text)
            self._warn_once(declared.name, "structure", text)
        return value

    def _warn_once(self, function: str, kind: str, text: str) -> None:
        key = (self.file, function, kind)
        if key not in _warned:
            _warned.add(key)
            log.warning(text)

    def _full(self, name: str) -> str:
        return f"{self.virtual}.{name}"


def validation_mode(setting: Any) -> str:
    """Return the meaning of ``smi_validate``: "", "warn" or "raise". True is "warn"."""
    if setting is True:
        return "warn"
    return str(setting) if setting in {"warn", "raise"} else ""


def _describe(func: Function, declared: Declared) -> None:
    func.__name__ = func.__qualname__ = declared.name
    func.__doc__ = declared.doc
    func.__signature__ = declared.signature  # type: ignore[attr-defined]  # inspect.signature reads it
