"""Finding, loading and calling plugins.

Each file imports only files below it in this list; a contract of import-linter checks the order.

- `host`: the plugins of one runtime, its function maps, and the context that its calls see
- `functions`: ``__salt__``, ``__states__`` and the like: mappings of functions by name
- `bridge`: calls between threads and the event loop; `pending`: what a call on the loop returns; `threads`: the threads
- `call`: from low data to the arguments of a call; `annotations`: what an argument must be
- `loader`: from ``module.function`` to a function; `plugin`, `signature`: what it returns
- `virtual`: whether a plugin loads, and under which name; `claims`: the names its text allows; `exports`: its functions
- `imports`: importing a file, with `neighbours` and `packages`; `lock`: one thread at a time; `origins`: what is
  imported; `reasons`: why it does not load
- `search_path`, `entry_points`, `folders`: the folders of plugins and the files in them; `trust`: whether others can
  write to them
"""
