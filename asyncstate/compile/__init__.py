"""From SLS names to a Plan."""
