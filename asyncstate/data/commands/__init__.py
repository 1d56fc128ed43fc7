"""What the text of a command says it touches, before it runs.

``syntax`` reads a command as a POSIX shell does, ``shell`` follows the script from command to command, ``caller`` takes
one command and those that it starts. ``programs`` is the table of what common programs do with their ``operands``,
``paths`` turns words into names of resources, and ``effects`` puts all together. Nothing here looks at the disk.
"""

from asyncstate.data.commands.effects import Effects, effects_of, script_effects

__all__ = ["Effects", "effects_of", "script_effects"]
