"""Orchestrations: sequences of runs across hosts, one controller for each step."""
