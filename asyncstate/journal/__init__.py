"""The journal: what every run of this machine did, so that none is lost and any can be looked at again.

Each run appends its events to a log of its own. At its end, or when the next run finds it dead, the log becomes a part
of one SQLite database. `store.Journal` reads both as one.
"""
