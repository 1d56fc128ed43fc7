"""The graph: requisites and explicit orders as nodes and edges, the serial order that follows from them, and groups.

Read in this order: ``requisite_graph`` (its nodes and edges), ``resolve`` and ``prereq`` (requisites), ``order`` (the
serial order), ``cycle`` (reports why there is none), ``listen``, ``restrict`` (a few IDs only), ``stages`` (barriers
between explicit orders), ``aggregate`` and ``transactions`` (which states share a call), ``implicit`` (the order
that effects ask for), ``assemble`` (the finished plan).
"""
