"""Reads plans and past runs: why a state waits, what depends on it, likely mistakes, how long another run would take.

No state runs here. With the ``profile`` of a run, which collects its times, ``explain`` also reports what happened, and
``reasons`` why each state ran when it did.

Read in this order: ``explain`` (one state) and ``waits`` (its waits in a run), ``impact`` (the effects of its
outcome), ``lint`` (order without a requisite) and ``patch`` (the missing requisites as a diff), ``aggregate``,
``plan_diff``; then past runs: ``recording``, ``simulate``, ``what_if``, ``remaining``.
"""
