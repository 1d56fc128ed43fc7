"""Fleets: one DAG across many hosts.

Every host compiles and runs its own plan with the usual engine; some nodes of that plan stand for states of others.
Read in this order: ``board`` (what all parties write to and read from), ``subjects`` (who may write and read what),
``protocol`` (the messages), ``join/`` (how the plans of hosts become one graph), ``host/`` (a host's side of a run),
``controller/`` (an operator's side), ``rollout/`` (which hosts may begin), ``orchestration/`` (runs as steps).
Boards are ``nats/``, a server's, and ``local_board``, this process's, on which ``ssh/`` runs hosts without an agent.
"""
