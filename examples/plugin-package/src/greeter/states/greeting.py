"""Greetings in files.

/etc/greeting:
  greeting.present:
    - text: good morning
"""

from asyncstate.dunders import Row, __context__, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import InvocationError


def present(name: str, text: str, greetings: dict | None = None, **kwargs) -> Row:
    """The greeting is in the file.

    name
        The file.

    text
        The greeting, one line.

    greetings
        Several at once, by file: what `mod_aggregate` makes of the states of a run. Not meant for trees.
    """
    wanted = greetings or {name: text}
    if any("\n" in greeting for greeting in wanted.values()):
        raise InvocationError("a greeting is one line")
    changes = _differences(wanted)
    if not changes:
        return unchanged(name, "Everybody is greeted already")
    if is_dry_run():
        return would_change(name, "Would greet", changes)
    __salt__["greeting.write"]({path: wanted[path] for path in changes})
    missing = _differences(wanted)
    if missing:
        return failed(name, f"Not written: {', '.join(missing)}")
    return changed(name, "Greeted", changes)


def _differences(wanted: dict) -> dict:
    """Look: which files say something else, and what."""
    now = {path: __salt__["greeting.read"](path) for path in wanted}
    return {path: {"old": now[path], "new": text} for path, text in wanted.items() if now[path] != text}


async def heard(name: str, **kwargs) -> Row:
    """The file has a greeting, whatever it is. Changes nothing, and runs on the event loop."""
    greeting = await __salt__["greeting.read"](name)
    return unchanged(name, f"It is: {greeting}") if greeting else failed(name, "Nobody greets")


def mod_watch(name: str, **kwargs) -> Row:
    """Announce the greeting anew: called where a watched state has changed and the greeting itself has not."""
    if is_dry_run():
        return would_change(name, "Would be announced", {"announced": name})
    __salt__["greeting.announce"](name)
    return changed(name, "Announced", {"announced": name})


def mod_init(low: dict) -> bool:
    """Called once in a run, before the first greeting: the place to refresh a cache, or to log in somewhere."""
    __context__["greeting.ready"] = True
    return True


def mod_aggregate(low: dict, chunks: list, running: dict) -> dict:
    """Let the first of several greetings write them all, in one call; mark those whose work it does."""
    folded = [chunk for chunk in chunks if chunk is not low and chunk["fun"] == low["fun"] == "present"]
    if folded:
        low["greetings"] = {chunk["name"]: chunk["text"] for chunk in (low, *folded)}
        for chunk in folded:
            chunk["__agg__"] = True
    return low


def mod_aggregate_split(low: dict, chunks: list, ret: dict) -> dict:
    """Say which changes of the common call are whose, by state tag: so what watches one greeting sees its change."""
    return {
        _tag(chunk): {path: change for path, change in ret["changes"].items() if path == chunk["name"]}
        for chunk in chunks
    }


def _tag(low: dict) -> str:
    return f"{low['state']}_|-{low['__id__']}_|-{low['name']}_|-{low['fun']}"


def mod_footprint(low: dict) -> dict:
    """Say what a greeting touches: its file."""
    place = f"path:{low['name']}"
    return {"reads": [place], "writes": []} if low["fun"] == "heard" else {"reads": [], "writes": [place]}
