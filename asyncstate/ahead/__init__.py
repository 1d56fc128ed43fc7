"""Looks ahead of the states of a run: fetches early what they will use, and tells in a dry run which depend on others.

``prefetcher`` decides what is fetched when, ``offers`` asks the state modules what can be fetched, and calls them;
``foresight`` marks the rows of a dry run that cannot be told yet.
"""
