"""Shell completion, in about 0.3 s: SLS names, IDs, functions, arguments, runs, hosts.

Each completion starts a process. So nothing here renders a tree, loads a plugin or imports the engine: names are read
from the text of files. A command imports `completes` of ``framework`` only. Read in this order: ``shell`` (the request
of a shell and the answer), ``values`` (the completions of each argument and option), ``places`` (the tree and the
plugins), ``tree`` and ``plugins`` (the names).
"""
