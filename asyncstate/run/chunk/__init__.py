"""One chunk, from its verdict to its row: how plugins are called, and what becomes of what they return."""
