"""The frozen values that pass between the stages: low chunks, requisites, the DAG, plans, events, rows and reports.

Nothing here does input or output.
"""
