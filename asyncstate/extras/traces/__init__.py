"""Sends traces of runs to OpenTelemetry.

``spans`` makes them from events, ``export`` sends them, ``tracing`` does both for a run.
"""
