"""The commands that look at trees, plans and past runs."""
