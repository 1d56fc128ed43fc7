"""Registration of compiling for another machine with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(machine="asyncstate.extras.other_machine.restraint:AnotherMachine")
