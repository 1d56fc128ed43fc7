"""``python -m asyncstate``: the command line."""

import sys

from asyncstate.cli import leave, main

code: int = main()
leave(code)
sys.exit(code)
