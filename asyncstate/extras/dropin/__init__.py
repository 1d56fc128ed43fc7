"""``asyncstate salt-call``: a replacement of Salt's ``salt-call`` for scripts, provisioners and habits.

``command`` is the command, ``options`` parses it, ``settings`` finds the configuration, ``functions`` dispatches the
call: ``calling`` for execution modules; ``states``, ``showing``, ``disabling``, ``under_way`` and ``package`` for the
``state`` module. ``answer`` is the result of a function, ``rows`` orders rows as Salt does, ``printing`` writes;
``install`` puts a program named ``salt-call`` in a folder.
"""
