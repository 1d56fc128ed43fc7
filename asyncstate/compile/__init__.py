"""The compiler: turns SLS names or high data into a Plan. The same input always gives the same plan.

Each package is one stage and builds on those before it:

1. ``high``: SLS files become high data; ``include``, ``extend``, ``exclude`` and ``_in`` are applied, all is checked.
2. ``low``: high data becomes drafts, one for each call; ``names`` are expanded, arguments and sources checked.
3. ``graph``: requisites, prereq and explicit orders become nodes and edges; the serial order comes out of them. Groups
   of states that share a call join them, and edges between states that touch the same resources (`asyncstate.effects`).

``compiler`` calls them in that order: ``ordering`` has the way from high data to the serial order, on which every
mistake is found, and ``planning`` the rest. ``findings`` collects the mistakes, with file and line.
"""
