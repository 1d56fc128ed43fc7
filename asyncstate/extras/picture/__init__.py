"""Pictures: the page of a run, and drawings of what waits for what.

Read in this order: ``page_data`` (the data of a page) and ``html`` (the page, shown by the scripts in ``page/``), then
``picture`` (a graph to draw), ``plan_graph`` (that of a plan) and ``drawing`` (what a command writes).
"""
