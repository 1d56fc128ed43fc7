"""Reports of a run, for people and programs, made from its events and the final RunReport only.

Read in this order: ``terminal`` (colours, safe text), ``summary``, ``human`` (with ``nested`` and ``compress``), then
the other formats: ``progress``, ``jsonl``, ``junit``, ``github``, ``metrics``. ``issues`` shows the mistakes in a
tree, ``edges`` has the order of a plan.
"""
