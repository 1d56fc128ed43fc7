"""Registration of the package ``salt`` with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(salt="asyncstate.extras.namespace.names:imported")
