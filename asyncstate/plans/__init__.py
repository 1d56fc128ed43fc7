"""Plans as data without secrets: the intent of a run, to be kept, reviewed and compared."""
