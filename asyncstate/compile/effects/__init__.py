"""Effects of states on the machine that decide their order: aggregate groups and footprints.

Read in this order: ``aggregate`` (which states one call may do), ``footprint`` (what a state reads and writes),
``conditions`` (what its conditions read), ``formula`` (what packages and daemons add), ``links`` (names that lead to
one path), ``scoreboard`` (which state touched a resource last, so that later ones wait for it).
"""
