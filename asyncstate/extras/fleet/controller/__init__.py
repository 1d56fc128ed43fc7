"""An operator's side of runs: what hosts are asked to do, and what becomes of it."""
