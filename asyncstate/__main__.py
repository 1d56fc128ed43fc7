"""``python -m asyncstate``: the command line."""

from asyncstate.cli import main

main()
