"""Finding, loading and calling plugins.

Each file imports only files below it in this list; a contract of import-linter checks the order.

- `host`: the plugins of one runtime, its function maps, and the context that its calls see
- `functions`: ``__salt__``, ``__states__`` and the like: mappings of functions by name
- `bridge`: calls between threads and the event loop, and what a call on the loop returns; `threads`: the threads
- `call`: from low data to the arguments of a call; `annotations`: what an argument must be
- `loader`: from ``module.function`` to a function; `plugin`: what it returns
- `virtual`: whether a plugin loads, under which name, with which functions; `claims`: the names its text allows
- `imports`: importing a file, with `neighbours`; `reasons`: why it does not load
- `folders`, `entry_points`: the folders of plugins, the files in them, and whether others can write to them
"""
