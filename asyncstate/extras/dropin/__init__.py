"""``asyncstate salt-call``: what Salt's ``salt-call`` does, for scripts, provisioners and habits.

``command`` is the command, ``options`` reads its words, ``settings`` finds the configuration, ``functions`` chooses the
code: ``calling`` for execution modules; ``states``, ``showing``, ``disabling``, ``under_way`` and ``package`` for the
``state`` module. ``answer`` is what a function gives, ``rows`` are those of a run as in Salt, ``printing`` writes;
``install`` puts a program named ``salt-call`` in a folder.
"""
