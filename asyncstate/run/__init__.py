"""From a Plan to a RunReport."""
