"""Registration of the search for contradictions with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(contradictions="asyncstate.extras.contradictions.undone:undone", codes="contradictions/codes.yaml")
