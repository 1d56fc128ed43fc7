"""Functions that a plugin offers only if a program or a module is present: Salt's ``@depends`` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_REQUIREMENTS: Final = "__requirements__"


def require(func: Any, is_met: Callable[[], bool], fallback: Callable[..., Any] | None = None) -> None:
    """Offer a function only if ``is_met``, else ``fallback`` or nothing. Further calls add conditions, newest last."""
    setattr(func, _REQUIREMENTS, [*getattr(func, _REQUIREMENTS, ()), (is_met, fallback)])


def offered(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the function offered for ``func`` here: itself, the fallback of an unmet condition, or None."""
    for is_met, fallback in getattr(func, _REQUIREMENTS, ()):
        if not is_met():
            return fallback  # type: ignore[no-any-return]  # the plugin's own function
    return func
