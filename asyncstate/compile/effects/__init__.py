"""What states do to the machine, as far as it decides their order: aggregate groups and footprints.

Read in this order: ``aggregate`` (which states one call may do), ``footprint`` (what a state reads and writes),
``scoreboard`` (who touched a resource last, and so has to be waited for).
"""
