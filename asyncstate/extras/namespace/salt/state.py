"""Keys of a state declaration that are not arguments of its function."""

from __future__ import annotations

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.model.requisite import IN_SUFFIXED, INTERNAL_KEYWORDS, REQUISITE_KEYWORDS, RUNTIME_KEYWORDS

STATE_REQUISITE_KEYWORDS = REQUISITE_KEYWORDS
STATE_REQUISITE_IN_KEYWORDS = frozenset(IN_SUFFIXED)
STATE_RUNTIME_KEYWORDS = RUNTIME_KEYWORDS
STATE_INTERNAL_KEYWORDS = INTERNAL_KEYWORDS

__getattr__: ModuleGetattr = nothing_else(__name__)
