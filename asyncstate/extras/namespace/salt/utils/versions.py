"""Comparing versions, and warnings about changes in a later version."""

from __future__ import annotations

import re
import warnings
from functools import total_ordering
from typing import TYPE_CHECKING, Any, Final

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.version import SaltStackVersion
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

log: Final = get_logger(__name__)

_PARTS = re.compile(r"(\d+|[a-z]+|\.)")
_OPERATORS = {"<": {-1}, "<=": {-1, 0}, "==": {0}, ">=": {0, 1}, ">": {1}, "!=": {-1, 1}}


@total_ordering
class LooseVersion:
    """A version of any form: numbers compare as numbers; with letters, all parts compare as text."""

    def __init__(self, vstring: str | None = None) -> None:
        self.vstring: str = ""
        self.version: list[int | str] = []
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        """Split a version into its parts."""
        self.vstring = vstring
        parts = [part for part in _PARTS.split(vstring) if part not in {"", "."}]
        self.version = [int(part) if part.isdigit() else part for part in parts]

    def __eq__(self, other: object) -> bool:
        mine, theirs = _comparable(self, _loose(other))
        return mine == theirs

    def __lt__(self, other: object) -> bool:
        mine, theirs = _comparable(self, _loose(other))
        return mine < theirs

    def __hash__(self) -> int:
        return hash(tuple(self.version))

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"LooseVersion ('{self.vstring}')"


def _loose(other: object) -> LooseVersion:
    return other if isinstance(other, LooseVersion) else LooseVersion(str(other))


def _comparable(one: LooseVersion, other: LooseVersion) -> tuple[list[Any], list[Any]]:
    if all(isinstance(part, int) for part in one.version + other.version):
        return one.version, other.version
    as_text = ([f"{part:08d}" if isinstance(part, int) else part for part in each.version] for each in (one, other))
    mine, theirs = as_text
    return mine, theirs


def version_cmp(pkg1: Any, pkg2: Any, ignore_epoch: bool = False) -> int | None:
    """Return -1, 0 or 1, None for an empty version; ``ignore_epoch`` ignores the part before a colon."""
    one, other = (
        LooseVersion(str(version).split(":", 1)[-1] if ignore_epoch else str(version)) for version in (pkg1, pkg2)
    )
    if not one.version or not other.version:
        return None
    return (one > other) - (one < other)


def compare(
    ver1: Any = "",
    oper: str = "==",
    ver2: Any = "",
    cmp_func: Callable[..., Any] | None = None,
    ignore_epoch: bool = False,
) -> bool:
    """Return whether a comparison holds; ``cmp_func`` returns a number as `version_cmp` does, or None."""
    if oper not in _OPERATORS:
        log.error("Invalid operator '%s' for version comparison", oper)
        return False
    found = (cmp_func or version_cmp)(ver1, ver2, ignore_epoch=ignore_epoch)
    if found is None:
        return False
    if not isinstance(found, int):
        log.error("The version comparison function did not return an integer/long.")
        return False
    return (found > 0) - (found < 0) in _OPERATORS[oper]


def warn_until(
    version: Any,
    message: str,
    category: type[Warning] = DeprecationWarning,
    stacklevel: int | None = None,
    **_more: Any,
) -> None:
    """Warn about a removal in a version of Salt; ``{version}`` in the message is replaced by its number."""
    warnings.warn(message.format(version=_named(version)), category, stacklevel=stacklevel or 2)


def kwargs_warn_until(
    kwargs: dict[str, Any],
    version: Any,
    category: type[Warning] = DeprecationWarning,
    stacklevel: int | None = None,
    **_more: Any,
) -> None:
    """Warn about arguments that will be refused from a version of Salt on."""
    if kwargs:
        text = (
            "The following parameter(s) have been deprecated and will be removed in "
            f"'{_named(version)}': {', '.join(map(repr, kwargs))}."
        )
        warnings.warn(text, category, stacklevel=stacklevel or 3)


def _named(version: Any) -> str:
    """Return the number of a version, or its name if it has no number."""
    if isinstance(version, (tuple, list)):
        return SaltStackVersion(*version).string
    return str(version)


__getattr__: ModuleGetattr = nothing_else(__name__)
