"""An operator's side of runs: offers to hosts, their plans, their reports, and the result."""
