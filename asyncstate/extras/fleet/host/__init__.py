"""A host's side of runs: its agent, its part in each run, and its policy."""
