"""Salt's own modules, run by Salt's own code in processes of the interpreter that Salt is installed for.

    loader ──▶ lending ──▶ workers ──pipe──▶ worker.py: Salt's loader

`finding` finds Salt and, without loading it, the folders of its modules. `workers` starts processes when a module of
Salt is first needed, lends them to calls, and replaces any that end or hang. `process` is one worker, `wire` the
protocol. `worker.py` and `wire.py` run under Salt's interpreter, so they import nothing of this package.
"""
