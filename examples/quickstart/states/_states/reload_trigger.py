"""Keep a reload trigger in place, and pull it when something that is watched has changed."""


def armed(name):
    """The trigger file is there."""
    ret = {"name": name, "result": True, "changes": {}, "comment": "The trigger is in place"}
    if __salt__["reload_trigger.exists"](name):
        return ret
    ret["changes"] = {"armed": name}
    if __opts__["test"]:
        return ret | {"result": None, "comment": "The trigger would be made"}
    __salt__["reload_trigger.pull"](name)
    return ret | {"comment": "The trigger was made"}


def mod_watch(name, **kwargs):
    """Called in place of the state function's clean verdict when a watched state reports changes."""
    ret = {"name": name, "result": True, "changes": {"reloaded": name}, "comment": "The server was told to reload"}
    if __opts__["test"]:
        return ret | {"result": None, "comment": "The server would be told to reload"}
    __salt__["reload_trigger.pull"](name)
    return ret
