"""Products around the engine, each in a folder with its commands. The engine finds them by `asyncstate.extend`.

``fleet`` runs many hosts as one graph, ``editor`` is the language server, ``proof`` runs a tree to find missing orders,
``dropin`` replaces Salt's ``salt-call``, ``borrow`` runs Salt's own modules, ``namespace`` is the package ``salt`` for
plugins, ``renderers`` are ``pyobjects`` and ``stateconf``, ``contradictions`` finds states that undo each other's work,
``analyse`` explains plans and past runs, ``manual`` has the documentation, ``traces`` sends spans to a collector,
``completion`` answers shells.
"""
