"""Registration of Salt's own modules with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(lender="asyncstate.extras.borrow.lending:lender")
