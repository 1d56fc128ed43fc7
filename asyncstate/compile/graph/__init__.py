"""The graph: requisites and explicit orders as nodes and edges, and the serial order that follows from them.

Read in this order: ``requisite_graph`` (its nodes and edges), ``resolve`` and ``prereq`` (requisites), ``order`` (the
serial order), ``cycle`` (reports why there is none), ``listen``, ``restrict`` (a few IDs only), ``stages`` (barriers
between explicit orders), ``assemble`` (the finished plan).
"""
