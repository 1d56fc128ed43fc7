"""Hosts without an agent: the operator's program starts a runner on each over ssh, and is the board between them.

Read in this order: ``roster`` (the hosts and their addresses), ``bundle`` (the program sent to them), ``launch`` and
``loader`` (its start there), ``frames`` (the protocol of the stream), ``channel``, ``stream_board``, ``tree`` and
``runner`` (the host's side), ``operator_side`` (the operator's side of one host's stream), ``connection`` and
``session`` (all hosts).

Controller, join and agent are the usual ones.
"""
