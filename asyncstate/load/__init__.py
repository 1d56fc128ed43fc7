"""Finding, loading and calling plugins.

Each file imports only files below it in this list; a contract of import-linter checks the order.

- `host`: the plugins of one runtime, its function maps (``__salt__``), and the context that its calls see
- `bridge`: calls between threads and the event loop, and what a call on the loop returns; `threads`: the threads
- `call`: from low data to the arguments of a call
- `loader`: from ``module.function`` to a function; `plugin`: what it returns, with the types of arguments
- `virtual`: the names that the text of a plugin allows; whether it loads, under which name, with which functions
- `imports`: importing a file, with `neighbours`; `reasons`: why it does not load
- `folders`, `entry_points`: the folders of plugins, the files in them, and whether others can write to them
"""
