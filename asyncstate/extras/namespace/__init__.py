"""The package ``salt`` that plugins written for Salt import from, where Salt itself is not installed.

``names`` imports its modules, ``salt`` has them: each offers the functions of Salt's module of that name that plugins
use. ``bundled`` gives plugins the functions of ours as Salt's.
"""
