"""The promises of states that proofs check: functions that yield a line for each broken one."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.model.chunk import AGGREGATED, MOD_AGGREGATE, MOD_PREFETCH
from asyncstate.model.encode import plain
from asyncstate.model.result import Row
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from asyncstate.model.event import PrefetchEnded

Footprint = dict[str, Any] | None
"""The footprint that `mod_footprint` declares; None for a module without it."""

Listing = dict[str, tuple[int, str]]
"""Mode and content of everything below a folder, by relative path."""

FETCHING_SECONDS = 60
"""Time that the state under proof waits for prefetches, in seconds."""

WHEN = ("the dry run", "the real run", "the second run", "the dry run at the end")


class Proof(msgspec.Struct, frozen=True):
    """The rows of a proof: the dry run before, the real run, the real run after it, and the dry run at the end."""

    foretold: Row
    row: Row
    again: Row
    settled: Row

    @property
    def changes(self) -> dict[str, Any]:
        """The changes of the real run."""
        changes: dict[str, Any] = self.row["changes"]
        return changes


class Call(Value):
    """One call of a function: its arguments, and what it returned or raised."""

    arguments: tuple[Any, ...]
    returned: Any = None
    error: BaseException | None = None


def listing(root: Path) -> Listing:
    """Return mode and content of everything below a folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            content = f"-> {os.readlink(path)}"
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        found[str(path.relative_to(root))] = (path.lstat().st_mode, content)
    return found


def differences(before: Listing, after: Listing) -> list[str]:
    """Return the paths that differ between two listings."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def of_rows(rows: Iterable[tuple[str, Row]]) -> Iterator[str]:
    """Check the types of the values in rows."""
    for when, row in rows:
        if not isinstance(row["changes"], dict):
            yield f"{when}: changes is not a dictionary: {row['changes']!r}"
        if not isinstance(row["comment"], str) or not row["comment"]:
            yield f"{when}: the comment is empty or not text: {row['comment']!r}"


def of_returns(returns: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Check the return values of functions, before the engine made rows of them."""
    for when, returned in returns:
        try:
            json.dumps(returned)
        except Exception as error:  # noqa: BLE001 - reading what a state returned may raise anything
            yield f"{when}: what it returned cannot be written as JSON: {plain(error)}"


def of_footprints(
    root: Path,
    before: Listing,
    after: Listing,
    declared: Sequence[Footprint],
) -> Iterator[str]:
    """Yield the paths below a folder that changed outside of all footprints; none if a footprint is not declared."""
    known = [each for each in declared if each is not None]
    if len(known) < len(declared):
        return
    shown = known[0] if len(known) == 1 else known
    for path in differences(before, after):
        place = os.path.join(root, path)
        if not any(_written(place, each) for each in known):
            yield f"{path} changed, and the footprint does not list it as written: {shown}"
        if all(_is_hidden_link(place, after.get(path), each) for each in known):
            yield f"{path} is a link now, and the footprint does not list it under 'links': {shown}"


def of_results(proof: Proof, *, changes: bool, result: bool) -> Iterator[str]:
    """Compare the rows of a proof with each other."""
    if proof.row["result"] is not result:
        yield f"the real run: the result is {proof.row['result']!r}, not {result!r}: {proof.row['comment']}"
    if not result:
        if proof.foretold["result"] is True:
            yield "the dry run says that all is well, and the real run fails"
        return
    if bool(proof.row["changes"]) is not changes:
        yield f"the real run: changes are {proof.row['changes']!r}"
    expected = None if changes else True
    if proof.foretold["result"] is not expected:
        yield f"the dry run: the result is {proof.foretold['result']!r}, not {expected!r}"
    if proof.foretold["changes"] and not proof.row["changes"]:
        yield f"the dry run predicted changes that the real run did not make: {proof.foretold['changes']!r}"
    if proof.again["result"] is not True or proof.again["changes"]:
        yield f"the second run: {proof.again['result']!r} with changes {proof.again['changes']!r}"
    if proof.settled["result"] is not True or proof.settled["changes"]:
        yield f"the dry run at the end: {proof.settled['result']!r} with changes {proof.settled['changes']!r}"


def named(proof: Proof) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a proof with their names."""
    return zip(WHEN, (proof.foretold, proof.row, proof.again, proof.settled), strict=True)


def of_aggregation(calls: Sequence[Call], states: int) -> Iterator[str]:
    """Check the calls of `MOD_AGGREGATE`: one for each state that is not yet in a common call."""
    if not calls:
        yield f"{MOD_AGGREGATE} was not called"
    for call in calls:
        if call.error is not None:
            yield f"{MOD_AGGREGATE} raised {call.error!r}"
        elif not isinstance(call.returned, dict):
            yield f"{MOD_AGGREGATE} returned {type(call.returned).__name__}, not the low data"
    if len(calls) == states:
        yield f"{MOD_AGGREGATE} took no other state into a common call: it marked none with {AGGREGATED!r}"


def of_common_call(alone: Mapping[str, Row], joined: Mapping[str, Row], *, split: bool) -> Iterator[str]:
    """Compare the rows of a common call with the rows of states that ran one by one."""
    for name, row in joined.items():
        if row["result"] != alone[name]["result"]:
            yield f"{name}: the result is {row['result']!r}, and {alone[name]['result']!r} alone: {row['comment']}"
        elif split and row["changes"] != alone[name]["changes"]:
            yield f"{name}: its share of the changes is {row['changes']!r}, and alone it has {alone[name]['changes']!r}"


def offers(calls: Sequence[Call]) -> list[Any]:
    """Return the prefetches that a hook offers."""
    return [offer for call in calls if isinstance(call.returned, (list, tuple)) for offer in call.returned]


def of_offers(calls: Sequence[Call]) -> Iterator[str]:
    """Check the return values of `MOD_PREFETCH`."""
    if not calls:
        yield f"{MOD_PREFETCH} was not called"
    for call in calls:
        if call.error is not None:
            yield f"{MOD_PREFETCH} raised {call.error!r}"
        elif not isinstance(call.returned, (list, tuple)) or not call.returned:
            yield f"{MOD_PREFETCH} returned {call.returned!r}: there is nothing to fetch"
    for offer in offers(calls):
        if not isinstance(offer, dict) or not isinstance(offer.get("function"), str):
            yield f"{MOD_PREFETCH} offered {offer!r}, which has no 'function'"
        elif not isinstance(offer.get("arguments", {}), dict):
            yield f"{MOD_PREFETCH} offered {offer!r}, whose 'arguments' are no dictionary"


def of_fetches(calls: Sequence[Call], ended: Sequence[PrefetchEnded]) -> Iterator[str]:
    """Check the results of prefetches."""
    for each in ended:
        if each.result not in {"fetched", "nothing"}:
            yield f"fetching {each.what} ended as {each.result!r}: {each.text}"
    if len(ended) < len(offers(calls)) and not [*of_offers(calls)]:
        yield f"{len(ended)} of {len(offers(calls))} fetches ended within {FETCHING_SECONDS} seconds"


def _written(path: str, declared: Mapping[str, Any]) -> bool:
    """Whether a footprint allows writing a path: by name, as part of a tree, or as a parent folder of either."""
    if declared.get("unknown"):
        return True
    for name in declared.get("writes") or ():
        kind, _, place = str(name).partition(":")
        if kind != "path":
            continue
        tree = place.removesuffix("/**")
        if path == tree or tree.startswith(f"{path}/") or (tree != place and path.startswith(f"{tree}/")):
            return True
    return False


def _is_hidden_link(path: str, found: tuple[int, str] | None, declared: Mapping[str, Any]) -> bool:
    """Whether a path is a link that a footprint does not declare. Paths in a written tree need not be named."""
    if found is None or not stat.S_ISLNK(found[0]) or declared.get("unknown"):
        return False
    trees = [name for name in declared.get("writes") or () if str(name).endswith("/**")]
    return path not in (declared.get("links") or ()) and not _written(path, {"writes": trees})
