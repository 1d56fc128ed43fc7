"""The resources that a shell command touches, derived from its text before it runs.

``syntax`` parses a command like a POSIX shell, ``shell`` follows the script from command to command, ``caller``
resolves one command and the commands it starts. ``programs`` is the table of common programs and their ``operands``,
``paths`` turns words into names of resources, and ``effects`` combines all of it. Nothing here looks at the disk.
"""

from asyncstate.data.commands.effects import Effects, effects_of, script_effects

__all__ = ["Effects", "effects_of", "script_effects"]
