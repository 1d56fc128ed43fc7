"""Analysis of a plan: why a state waits, what depends on it, likely mistakes, drawings of the graph.

No state runs here. With the profile of a recorded run, ``explain`` also reports what happened.

Read in this order: ``explain`` (one state) and ``waits`` (its waits in a run), ``impact`` (the effects of its
outcome), ``lint`` (order without a requisite) and ``patch`` (the missing requisites as a diff), ``aggregate``,
``graph`` and ``picture`` (drawings).
"""
