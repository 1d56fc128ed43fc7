"""Hides secrets in everything that leaves the engine.

`Secrets` is the growing set of secrets a runtime knows. `Redactor` is an immutable snapshot of it that hides them in
texts, values, tags and rows. `RedactedPlan` does so for everything that names the states of one plan.
"""
