"""Salt's own modules, run by Salt's own code in processes of the interpreter that Salt is installed for.

    loader ──▶ catalogue: may Salt have a module of that name? ──▶ workers ──pipe──▶ worker.py: Salt's loader

`interpreter` finds Salt and asks it, without loading it, in which folders its modules are. `workers` starts processes
when a module of Salt is first needed, lends them to calls, and replaces those that end or hang. `process` is one of
them, `wire` what both sides say. `worker.py` and `wire.py` run under Salt's interpreter, so they import nothing of this
package.
"""
