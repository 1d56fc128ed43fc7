"""Hosts without an agent: the operator's program starts a runner on each over ssh, and is the board between them.

Read in this order: ``roster`` (which hosts, and how to reach them), ``bundle`` (what is brought there), ``launch`` and
``loader`` (what starts it there), ``frames`` (what the two say to each other), ``channel``, ``stream_board``, ``tree``
and ``runner`` (the host's side), ``desk`` (the operator's side of one host's stream), ``connection`` and ``session``
(all of them).

Controller, join and agent are those of every fleet.
"""
