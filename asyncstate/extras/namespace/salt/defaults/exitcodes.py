"""Exit statuses."""

from __future__ import annotations

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

EX_OK = 0
EX_GENERIC = 1
EX_STATE_COMPILER_ERROR = 1
EX_STATE_FAILURE = 2
EX_PILLAR_FAILURE = 5
EX_AGGREGATE = 20
EX_USAGE = 64
EX_NOUSER = 67
EX_UNAVAILABLE = 69
EX_SOFTWARE = 70
EX_CANTCREAT = 73
EX_TEMPFAIL = 75
EX_NOPERM = 77

__getattr__: ModuleGetattr = nothing_else(__name__)
