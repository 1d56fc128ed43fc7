"""One chunk, from its verdict to its row: how plugins are called, and how their returns become rows.

    LocalDispatch ──▶ Invoker: mod_init, aggregation, retry, mod_watch ──▶ Caller: one call ──▶ plugin

The row goes back the same way.
"""
