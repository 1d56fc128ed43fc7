"""Finding, loading and calling plugins."""
