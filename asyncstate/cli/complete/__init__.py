"""What a shell completes, in about 0.3 s: SLS names, IDs, functions, arguments, runs, hosts.

A completion is a process of its own at every press of a key. So nothing here renders a tree, loads a plugin or imports
the engine: names are read from the text of files. Read in this order: ``shell`` (the question of a shell and the
answer), ``values`` (what stands where on a command line), ``places`` (which tree, which plugins), ``tree`` and
``plugins`` (the names).
"""
