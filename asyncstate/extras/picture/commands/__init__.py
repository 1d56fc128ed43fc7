"""The command that draws a plan."""
