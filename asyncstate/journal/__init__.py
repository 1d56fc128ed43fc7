"""The journal: a record of every run of this machine, kept safe against crashes, for later reading.

Each run appends its events to a log of its own, whose last line, once the run has ended, is its entry. The next run
ends the logs of killed runs. Runs of one plan share its record. `store.Journal` reads all as one.
"""
