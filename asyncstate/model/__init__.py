"""Frozen values that pass between the stages: no I/O, no imports of ours but errors."""
