"""The board on NATS with JetStream.

Read in this order: ``access`` (who may do what, as accounts of the server), ``stream`` (what is kept, for how long),
``connection``, ``follower`` and ``board`` (one party's side), then ``certificates``, ``folder`` and ``server`` (a
server of our own: its files, its life).
"""
