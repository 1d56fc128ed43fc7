"""Orchestrations: their steps are runs across hosts, each with a controller of its own."""
