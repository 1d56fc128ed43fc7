"""``python -m asyncstate``: the command line."""

import sys

from asyncstate.cli import main

sys.exit(main())
