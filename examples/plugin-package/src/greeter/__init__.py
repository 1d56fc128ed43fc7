"""Greetings in files: states and execution functions for asyncstate."""
