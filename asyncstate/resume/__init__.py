"""Keeps a run in the journal, with its plan, and resumes one that was cut off.

``keeping`` opens the journal of a run, ``earlier_runs`` reads what others did, ``resumed`` runs what they left.
"""
