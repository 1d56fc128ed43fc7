"""``python -m asyncstate``: the command line."""

import sys

from asyncstate.cli import program

sys.exit(program())
