"""What may be shown of a run: secrets are hidden wherever they leave the engine.

`Secrets` is the growing set a runtime knows, `Redactor` the immutable snapshot of it that texts, values, tags and rows
pass through, `ShownPlan` the same for everything that names the states of one plan.
"""
