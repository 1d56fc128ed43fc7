"""Finding, loading and calling plugins.

From the top, each file builds on those below it; a contract of import-linter holds the order.

- `host`: the plugins of one runtime, its function maps, and the context that its calls see
- `functions`: ``__salt__``, ``__states__`` and the like: mappings of functions by name
- `bridge`: calls between threads and the event loop; `pending`: what a call gives on the loop; `threads`: the threads
- `call`: from low data to the arguments of a call; `annotations`: what an argument must be
- `loader`: from ``module.function`` to a function; `plugin`, `signature`: what it hands out
- `virtual`: a plugin's answer on whether it loads, and as what; `claims`: what its text tells; `exports`: its functions
- `imports`: importing a file, with `neighbours` and `packages`; `lock`: one thread at a time; `origins`: what is
  imported; `reasons`: why it does not load
- `search_path`, `entry_points`, `folders`: where plugins are looked for, and which files stand there; `trust`: whether
  others can write to them
"""
