"""The version, and nothing else: packaging reads this file."""

__version__ = "0.1.0"
