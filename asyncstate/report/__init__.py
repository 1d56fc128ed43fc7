"""What people and programs see of a run: reads events and reports only."""
