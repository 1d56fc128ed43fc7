"""The board on NATS with JetStream.

Read in this order: ``access`` (access rights, as accounts of the server), ``stream`` (contents, limits and ages),
``connection``, ``follower`` and ``board`` (one party's side), then ``certificates``, ``folder`` and ``server`` (a
server of our own: its files, its life).
"""
