"""Fleets: one DAG across many hosts.

Every host compiles and runs its own plan with the usual engine; some nodes of that plan are states of other hosts.
Read in this order: ``board`` (what all parties write to and read from), ``subjects`` (its keys and access rights),
``protocol`` (the messages), ``join/`` (how the plans of hosts become one graph), ``host/`` (a host's side of a run),
``controller/`` (an operator's side), ``rollout/`` (which hosts may begin), ``orchestration/`` (runs as steps).
Boards are ``nats/``, on a server, and ``local_board``, in this process, on which ``ssh/`` runs hosts without an agent.
"""
