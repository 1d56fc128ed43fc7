"""The compiler: from SLS names or high data to a Plan, as pure functions of what was read.

One package a stage, each built on those before it:

1. ``high``: SLS files become high data; ``include``, ``extend``, ``exclude`` and ``_in`` applied, the whole checked.
2. ``low``: high data becomes drafts, one for each call; ``names`` are expanded, arguments and sources checked.
3. ``graph``: requisites, prereq and explicit orders become nodes and edges; the serial order comes out of them.
4. ``effects``: aggregate groups, and the edges between states that touch the same things.

``compiler`` calls them in that order. ``findings`` collects every mistake on the way, with its file and line.
"""
