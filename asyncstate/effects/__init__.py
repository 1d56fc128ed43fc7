"""Effects of states on the machine: what each reads and writes, by the names of resources.

Read in this order: ``resources`` (their names), ``declared`` (what a state says), ``footprint`` (what it reads and
writes), ``conditions`` (what its conditions read), ``formula`` (what packages and daemons add), ``links`` (names that
lead to one path), ``scoreboard`` (which state touched a resource last, so that later ones wait for it), ``refusals``
(what root refuses where others may write).
"""
