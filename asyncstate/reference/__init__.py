"""The documentation of plugins, read from their source: for ``asyncstate doc`` and for the pages of the site."""
