"""What can be said of a plan: why a state waits and what hangs on it, what is amiss, how the graph looks.

Nothing here runs a state. With the profile of a recorded run, ``explain`` also says what happened.

Read in this order: ``explain`` (one state) and ``waits`` (what it waited for in a run), ``impact`` (what its outcome
decides), ``lint`` (order that nobody wrote down) and ``patch`` (the missing requisites as a diff), ``aggregate``,
``graph`` and ``svg`` (drawings).
"""
