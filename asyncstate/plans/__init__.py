"""Plans as data: what a run was going to do, without its secrets, to be kept, reviewed and compared."""
