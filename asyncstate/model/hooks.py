"""Names shared by the engine and state modules: hooks that a module may define, and marks in low data."""

from __future__ import annotations

from typing import Final

MOD_INIT: Final = "mod_init"
"""``mod_init(low)``: called once a run, before the first state of the module."""

MOD_WATCH: Final = "mod_watch"
"""``mod_watch(name, **kwargs)``: called when a watched state has changes, with the state's arguments."""

MOD_FOOTPRINT: Final = "mod_footprint"
"""``mod_footprint(low)``: returns what one state reads and writes; called while compiling."""

MOD_AGGREGATE: Final = "mod_aggregate"
"""``mod_aggregate(low, chunks, running)``: returns the low data of one call that does the work of several states."""

MOD_AGGREGATE_SPLIT: Final = "mod_aggregate_split"
"""``mod_aggregate_split(low, chunks, ret)``: returns the changes of the common call by state."""

MOD_TRANSACTION: Final = "mod_transaction"
"""``mod_transaction(low, first)``: returns why a state cannot share a transaction with later (``first``) or earlier."""

MOD_PREFETCH: Final = "mod_prefetch"
"""``mod_prefetch(low)``: returns what can be fetched ahead for one state; called when a run begins."""

MOD_RUN_CHECK: Final = "mod_run_check"
"""A module with this function evaluates ``onlyif``, ``unless`` and ``creates`` itself."""

MOD_RUN_CHECK_CMD: Final = "mod_run_check_cmd"
"""A module with this function runs the ``check_cmd`` of its states itself, where they take it as an argument."""

EXCLUSIVE: Final = "__exclusive__"
"""``__exclusive__ = True``: each state of the module runs alone."""

LANE: Final = "__lane__"
"""``__lane__ = "name"``: each state of the module takes a place in that lane."""

AGGREGATED: Final = "__agg__"
"""Key of low data, true where another state's common call does the work."""

TRANSACTION: Final = "__transaction__"
"""Key of low data: ``{"id": text, "later": [low, …], "kept": {…}}``: the later members of its transaction that may run,
and plain data that its members keep for one another, also for a run that is resumed."""

SCRIPT: Final = "__script__"
"""Key of low data given to ``mod_footprint``: the text of the script that the state runs, where it is known."""

SLOT: Final = "__slot__:"
"""The prefix of an argument that a run replaces by the result of a function."""

REQUISITE_LOWS: Final = "__reqs__"
"""Key of low data given to ``mod_watch``: the low data of the watched states, by requisite."""
