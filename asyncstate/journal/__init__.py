"""The journal: what every run of this machine did, so that none is lost and any can be looked at again.

Each run appends its events to a log of its own, whose last line, once the run has ended, is its entry. The next run
ends the logs of killed runs. Runs of one plan share its record. `store.Journal` reads all as one.
"""
