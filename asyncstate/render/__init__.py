"""From SLS text to data: the renderer pipe."""
