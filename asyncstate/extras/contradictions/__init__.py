"""Finds states that undo each other's work: what they want a thing to be is a claim, and two claims may clash.

Read in this order: ``undone`` (the pairs, and which are mistakes), ``claims`` (what states want of accounts, packages,
services …) with ``claims_of_paths`` and ``claim_values``, ``clashes`` (which claims cannot both hold), ``below`` (what
is in the folders of states), ``texts`` (what states write into one file) with ``lines_of_entries``.
"""
