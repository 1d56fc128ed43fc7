"""States that return what they are told, for runs of Salt and of asyncstate alike."""
# ruff: noqa: F821, PLR0917 - dunders are injected; a state's arguments come from SLS, by name


def run(name, result=True, changes=None, predicted=None, comment="done", skip_req=False, raises=False):
    """Return `result` and `changes`; in test mode `predicted`, a list of both, if it is given."""
    if raises:
        raise ValueError("boom")
    if __opts__["test"] and predicted is not None:
        result, changes = predicted
    row = {"name": name, "result": result, "changes": changes or {}, "comment": comment}
    if skip_req:
        row["skip_req"] = True
    return row


def mod_watch(name, sfun=None, **kwargs):
    """React."""
    return {
        "name": name,
        "result": None if __opts__["test"] else True,
        "changes": {"watched": sfun},
        "comment": "reacted",
    }
