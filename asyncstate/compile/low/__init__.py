"""Low data: one draft for each call of a state function, before its place in the serial order is known.

Read in this order: ``lowstate`` (high data to drafts, one for each of the ``names``); then the checks of drafts
against the state functions (``arguments``) and the file roots (``salt_sources``).
"""
