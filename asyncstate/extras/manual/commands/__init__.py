"""The commands that print the documentation."""
