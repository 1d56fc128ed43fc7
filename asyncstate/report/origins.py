"""Origins of the code behind the states of a plan: bundled, borrowed from Salt, of the tree, or missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from asyncstate.load.loader import LazyLoader
    from asyncstate.load.plugin import LoadedModule
    from asyncstate.model.plan import Plan

BUNDLED: Final = "bundled"
BORROWED: Final = "borrowed"
CUSTOM: Final = "custom"
MISSING: Final = "missing"
"""No module of that name has the function here, now; what the tree installs may bring it."""
ORIGINS: Final = (BUNDLED, BORROWED, CUSTOM, MISSING)


def origin_of(module: LoadedModule) -> str:
    """Return whose a module is."""
    return BORROWED if module.borrowed else BUNDLED if module.bundled else CUSTOM


def origins(plan: Plan, states: LazyLoader) -> dict[str, dict[str, int]]:
    """Return, by origin, the modules of a plan's states, sorted, and how many states each has; none is left out.

    A missing function of an existing module is listed by its own name in place of the module's.
    """
    found: dict[str, dict[str, int]] = {origin: {} for origin in ORIGINS}
    for chunk in plan.chunks:
        function = states.find(chunk.function)
        modules = found[MISSING if function is None else origin_of(function.module)]
        name = chunk.function if function is None and states.module(chunk.state) is not None else chunk.state
        modules[name] = modules.get(name, 0) + 1
    return {origin: dict(sorted(modules.items())) for origin, modules in found.items()}


def origin_line(found: dict[str, dict[str, int]]) -> str:
    """Return them in words; "" if every state is bundled."""
    if not any(modules for origin, modules in found.items() if origin != BUNDLED):
        return ""
    words = {BORROWED: "borrowed from Salt"}
    parts = []
    for origin, modules in found.items():
        number = sum(modules.values())
        if number:
            named = "" if origin == BUNDLED else f" ({', '.join(modules)})"
            parts.append(f"{number} {words.get(origin, origin)}{named}")
    return f"States: {', '.join(parts)}."
