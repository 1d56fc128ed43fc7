"""Pairs of states whose claims to one thing cannot both hold: present and absent, or two values of a property."""

from __future__ import annotations

import os
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from asyncstate.effects.places import FILE, FILL, FOLDER, GONE, LINK, THERE, place
from asyncstate.effects.resources import PATH, TREE, folders_above, plain_path
from asyncstate.extras.contradictions.below import parts, removal, wanted
from asyncstate.extras.contradictions.claim_values import (
    BARRED,
    CLEANED,
    FILLED,
    HELD,
    MAY_BAR,
    NEEDS,
    PERHAPS,
    STARTABLE,
    UNLINKED,
    Claim,
    Marked,
    binds,
    differ,
    how,
    meets,
    plain,
)
from asyncstate.extras.contradictions.claims import claims, unmasks
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.compile.low.salt_sources import SaltSources
    from asyncstate.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk
    from asyncstate.sources.packages.known import KnownPackages

    Claims = dict[tuple[str, str], list[Claim]]

TO_AND_FRO = "each run changes it to and fro"
ONE_FAILS = "one of them fails in each run"
_EITHER = "each run changes it to and fro, or one of them fails"
_TAKE_AWAY = frozenset({"absent", "removed", "purged"})
_OF_FOLDERS = frozenset({"directory", "recurse"})
_OF_WHAT_IS_BELOW = frozenset({"clean", "recurse"})
"""Arguments with which these say something of what is below their folder."""
_EMPTY = frozenset({"copy", "tidied"})
"""Functions that may take away all that is below theirs."""
_OF_ANOTHER = frozenset({"file.copy", "file.rename"})
"""Functions that make a path of another one."""
_LET_ONE_DECIDE = "let one state decide; unless, onchanges and the like say when the other one runs"
_LET_IT_REQUIRE = "let the state with clean: True require the other one, whose file it then keeps, or exclude it"
_EXCLUDE_IT = "exclude it with exclude_pat, or remove clean: True, which keeps only what required states of file make"
_LEAVE_IT_OUT = "let matches or exclude of file.tidied leave it out"
_KEEP_LINES = frozenset({"host", "ssh_auth"})
"""State modules whose entries other states may write as lines of a file."""
_BAR = frozenset({BARRED, MAY_BAR})
_KEPT = frozenset({"uid", "gid"})
"""Numbers of a user, which ``user.present`` changes only if it is allowed to."""
_FAIL = _BAR | NEEDS | {STARTABLE}
"""Marks of claims with which one of two states fails."""
_MET_BY_OTHERS = NEEDS - {HELD}
_INSIDE = {
    **dict.fromkeys(("git.latest", "git.cloned", "git.detached"), ".git"),
    "archive.extracted": "*",
    "virtualenv.managed": "bin",
}
"""The files that states leave in the folder that they fill; "*" if only a run can tell."""


class Clash(Value):
    """Two states whose claims to a thing cannot both hold; not ``certain``: perhaps they can.

    ``outcome`` says what runs do. ``meant``: their order says so. ``in_turn``: one takes away what the other makes,
    which an order of theirs may mean. ``resource`` is what a state between them would touch, ``hint`` what helps.
    """

    first: LowChunk
    second: LowChunk
    thing: str
    resource: str
    outcome: str = TO_AND_FRO
    certain: bool = True
    meant: bool = False
    in_turn: bool = False
    hint: str = ""


def clashes(
    steps: Sequence[LowChunk],
    chunks: Sequence[LowChunk],
    known: Sequence[Footprint],
    sources: SaltSources,
    packages: KnownPackages | None = None,
) -> Iterator[Clash]:
    """Yield the pairs of states that cannot both have what they want; each pair once, with a certain thing if any.

    ``steps`` are the chunks to be compared, or parts of chunks.
    """
    claimed: Claims = {}
    for chunk in steps:
        _claim(claimed, chunk, known[chunk.index])
    more: list[Iterable[tuple[LowChunk, tuple[str, str, Any]]]] = []
    if keepers := [chunk for chunk in steps if chunk.state in _KEEP_LINES]:
        from asyncstate.extras.contradictions.lines import claims_of_lines

        more.append(claims_of_lines(steps, keepers, known, sources.source_of))
    if any("requirements" in chunk.args for chunk in steps):
        from asyncstate.extras.contradictions.requirements import claims_of_files

        more.append(claims_of_files(steps, sources))
    if "git" in {chunk.state for chunk in steps}:
        from asyncstate.extras.contradictions.git_settings import claims_of_patterns

        more.append(claims_of_patterns(steps, known))
    for chunk, (thing, resource, value) in chain.from_iterable(more):
        claimed.setdefault((thing, resource), []).append(Claim(chunk, value))
    if packages is not None:
        _add_implied(claimed, packages)
    _add_folders(claimed, steps, chunks, known, sources)
    found: dict[tuple[int, int], Clash] = {}
    barring = set[int]()
    claimed_above = _ClaimedFolders(claimed)
    for (thing, resource), own in claimed.items():
        folders = claimed_above(resource.removeprefix(PATH)) if thing.startswith("/") else ()
        if len(own) == 1 and not folders:
            continue
        above = [claim for folder in folders for claim in _above_it(claimed, folder, own, barring)]
        ordered = sorted((*own, *above), key=lambda claim: claim.chunk.index)
        binding = [claim for claim in ordered if binds(claim.value)]
        if not binding or len({claim.value for claim in ordered}) == 1:
            continue
        own = [claim for claim in own if how(claim.value) not in _MET_BY_OTHERS or not _is_met(claim, binding)]
        turns = sum(1 for one, other in pairwise(binding) if differ(one.value, other.value))
        for one in binding:
            for other in own:
                first, second = (one, other) if one.chunk.index < other.chunk.index else (other, one)
                pair = (first.chunk.index, second.chunk.index)
                known_pair = found.get(pair)
                if pair[0] == pair[1] or (known_pair and known_pair.certain):
                    continue
                unlike = differ(first.value, second.value)
                if unlike or (unlike is None and known_pair is None):
                    barring |= {claim.chunk.index for claim in (one, other) if how(claim.value) in _BAR}
                    found[pair] = _clash(first, second, thing, resource, certain=unlike is True, turns=turns)
    yield from found.values()


def _is_met(need: Claim, binding: Sequence[Claim]) -> bool:
    """Whether the last state that decides about a thing, of this run or the one before, leaves what another needs."""
    before = [claim for claim in binding if claim.chunk.index < need.chunk.index] or binding
    return meets(before[-1].value, need.value)


def _clash(first: Claim, second: Claim, thing: str, resource: str, *, certain: bool, turns: int) -> Clash:
    values = {first.value, second.value}
    cleaned = any(how(claim.value) == CLEANED for claim in (first, second))
    barring = [claim.chunk for claim in (first, second) if how(claim.value) in _BAR]
    thing = place(barring[0]) or thing if barring else thing
    start = thing.find("/")
    outcome = _outcome(first, second, thing)
    anew = first.value == GONE and first.chunk.state == "file" and first.chunk.sls == second.chunk.sls
    anew = anew and outcome != ONE_FAILS
    takes_away = GONE in values or any(claim.chunk.fun in _TAKE_AWAY for claim in (first, second))
    hint = _LET_ONE_DECIDE
    if any(claim.chunk.fun == "tidied" for claim in (first, second)):
        hint = _LEAVE_IT_OUT
    elif cleaned:
        hint = _LET_IT_REQUIRE if first.chunk.state == second.chunk.state == "file" else _EXCLUDE_IT
    return Clash(
        first.chunk,
        second.chunk,
        f"{thing[:start]}the files in {os.path.dirname(thing[start:])}" if thing.endswith("/*") else thing,
        resource,
        outcome,
        certain=certain,
        meant=((turns > 1 and takes_away) or anew) and not cleaned and not barring,
        in_turn=takes_away and not cleaned and outcome != ONE_FAILS,
        hint=hint,
    )


def _outcome(first: Claim, second: Claim, thing: str) -> str:
    """Return what runs of two states do that cannot both have what they want."""
    both, values = (first.chunk, second.chunk), (first.value, second.value)
    hows = {how(first.value), how(second.value)}
    if isinstance(first.value, tuple) and first.value[0] == "holder":
        return ONE_FAILS
    if isinstance(first.value, tuple) and first.value[0] in _KEPT and first.chunk.state == "user":
        moves = all(chunk.args.get(f"allow_{first.value[0]}_change") is True for chunk in both)
        return TO_AND_FRO if moves else ONE_FAILS
    if isinstance(first.value, tuple) and first.value[0] == "content":
        return _EITHER
    if isinstance(first.value, tuple) and first.value[0] == "rev":
        moves = all(chunk.fun == "detached" or chunk.args.get("force_reset") is True for chunk in both)
        return TO_AND_FRO if moves else _EITHER
    if not hows.isdisjoint(_FAIL):
        return ONE_FAILS
    if CLEANED in hows:
        empties = any(chunk.fun == "tidied" and not chunk.args.get("rmdirs") for chunk in both)
        clones = [chunk.fun for chunk in both if f"{place(chunk)}/.git" == thing]
        return ONE_FAILS if clones and (empties or "cloned" in clones) else TO_AND_FRO
    if thing.startswith("mask of"):
        return TO_AND_FRO if any(map(unmasks, both)) else ONE_FAILS
    if set(values) == {FILE, FOLDER}:
        return ONE_FAILS
    if {LINK, UNLINKED} <= hows:
        return _EITHER if FILE in values and any(chunk.args.get("force") is True for chunk in both) else ONE_FAILS
    return TO_AND_FRO


def _claim(claimed: Claims, chunk: LowChunk, footprint: Footprint) -> None:
    for thing, resource, value in claims(chunk, footprint):
        claimed.setdefault((thing, resource), []).append(Claim(chunk, value))


def _add_implied(claimed: Claims, packages: KnownPackages) -> None:
    """Add that states may install what states remove: a package that theirs depend on, or that provides their name."""
    by_name = {resource: own for (thing, resource), own in claimed.items() if thing.startswith("package ")}
    removed = {resource for resource, own in by_name.items() if any(claim.value == GONE for claim in own)}
    for resource, own in by_name.items() if removed else ():
        installing = [claim.chunk for claim in own if claim.value == THERE]
        implied = {f"package:{name}" for name in packages.implied(resource.partition(":")[2])} if installing else ()
        for other in sorted(removed.intersection(implied)):
            by_name[other] += [Claim(chunk, Marked(THERE, PERHAPS)) for chunk in installing]


def _add_folders(
    claimed: Claims,
    steps: Sequence[LowChunk],
    chunks: Sequence[LowChunk],
    known: Sequence[Footprint],
    sources: SaltSources,
) -> None:
    """Add what states of folders want of what is below them: ``clean``, ``recurse``, and those that fill a folder."""
    folders: dict[str, list[LowChunk]] = {}
    for chunk in (each for each in steps if each.function == "file.rename"):
        kind = _kind(claimed, Claim(chunk, THERE))
        if kind != THERE:  # it moves in each run what another state makes anew
            path = plain_path(chunk.name)
            claimed.setdefault((path, f"{PATH}{path}"), []).append(Claim(chunk, kind))
    for chunk in steps:
        says = not _OF_WHAT_IS_BELOW.isdisjoint(chunk.args) if chunk.fun in _OF_FOLDERS else chunk.fun in _EMPTY
        if chunk.state == "file" and says:
            folders.setdefault(plain_path(chunk.name), []).append(chunk)
    filling = [
        chunk for chunk in steps if (chunk.fun == "recurse" if chunk.state == "file" else chunk.function in FILL)
    ]
    _add_unknown(claimed, filling)
    for chunk in filling:
        top = place(chunk)
        above = () if top is None else (top, *folders_above(top))
        if {folder.index for each in above for folder in folders.get(each, ())} - {chunk.index}:
            _add_inside(claimed, chunk, known, sources)
    made = [(path, claimed[path, resource]) for path, resource in claimed if path.startswith("/")] if folders else []
    for path, makers in made:
        resource = f"{PATH}{path}"
        for folder in (each for above in folders_above(path) for each in folders.get(above, ())):
            if folder.fun == "directory":
                for argument, given in wanted(folder, path, is_folder=makers[0].value == FOLDER):
                    setting, key = plain(argument, given), (f"{argument} of {path}", resource)
                    if setting is not None and key in claimed:
                        claimed[key].append(Claim(folder, (argument, setting)))
            left = next((_kind(claimed, each) for each in makers if each.value != GONE), None)
            if left is not None and (mark := removal(folder, path, left, chunks, sources)):
                makers.append(Claim(folder, Marked(GONE, mark)))


def _kind(claimed: Claims, claim: Claim) -> Any:
    """Return the value of a claim; for a copy or a move, the value of the source if this tree makes it."""
    if claim.chunk.function not in _OF_ANOTHER:
        return claim.value
    source = plain_path(str(claim.chunk.args.get("source")))
    kinds = (each.value for each in claimed.get((source, f"{PATH}{source}"), ()) if each.value in {FILE, FOLDER})
    return next(kinds, claim.value)


def _add_inside(claimed: Claims, chunk: LowChunk, known: Sequence[Footprint], sources: SaltSources) -> None:
    """Add what a state wants of what it leaves in the folder that it fills."""
    top = place(chunk)
    if chunk.function == "file.recurse":
        for part in parts(chunk, [f"{top}/{file}" for file in sources.files_of(chunk)], sources):
            _claim(claimed, part, known[chunk.index])
    elif chunk.args.keys().isdisjoint({"if_missing", "bare", "mirror"}):
        path = f"{top}/{_INSIDE[chunk.function]}"
        claimed.setdefault((path, f"{PATH}{path}"), []).append(Claim(chunk, Marked(THERE, FILLED)))
        for argument in ("user", "group") if chunk.state == "archive" else ():
            setting = plain(argument, chunk.args.get(argument))
            if setting is not None:
                key = (f"{argument} of {path}", f"{PATH}{path}")
                claimed.setdefault(key, []).append(Claim(chunk, (argument, setting)))


def _add_unknown(claimed: Claims, filling: Sequence[LowChunk]) -> None:
    """Add that states may make anew what others remove below their folders, or write, where they reset it."""
    tops: dict[str, list[LowChunk]] = {}
    for chunk in filling:
        top = place(chunk)
        resets = chunk.function == "git.latest" and chunk.args.get("force_reset") is True
        if top is not None and (resets or (chunk.function == "archive.extracted" and "if_missing" not in chunk.args)):
            tops.setdefault(top, []).append(chunk)
    for (path, _), makers in claimed.items() if tops else ():
        for chunk in (each for above in folders_above(path) for each in tops.get(above, ())):
            own = {GONE} if chunk.state == "archive" else {GONE, FILE}
            if path.startswith("/") and any(each.value in own for each in makers):
                makers.append(Claim(chunk, Marked("", PERHAPS)))


def is_between(
    first: LowChunk, second: LowChunk, resource: str, chunks: Sequence[LowChunk], known: Sequence[Footprint]
) -> bool:
    """Whether one of these states, between the two and of their SLS, may need what the first has done: steps."""
    if first.sls != second.sls:
        return False
    between = (
        each
        for each in chunks
        if first.index < each.index < second.index and each.sls == first.sls and each.state != "test"
    )
    if resource.startswith("service:"):
        return any(between)
    return any(known[each.index].unknown or _touches(known[each.index], resource) for each in between)


def _touches(footprint: Footprint, resource: str) -> bool:
    for name in footprint.everything():
        own = name.removesuffix(TREE)
        if own == resource or own.startswith((f"{resource}/", f"{resource}#")):
            return True
        if name != own and resource.startswith(f"{own}/"):
            return True
    return False


class _ClaimedFolders:
    """Finds the folders above a path to which there are claims."""

    def __init__(self, claimed: Claims) -> None:
        self._claimed = frozenset(thing for thing, resource in claimed if resource == f"{PATH}{thing}")
        self._above: dict[str, list[str]] = {}

    def __call__(self, path: str) -> list[str]:
        """Return the claimed folders above a path, from the nearest to the top."""
        folder = path.rpartition("/")[0]
        above = self._above.get(folder)
        if above is None:
            above = self._above[folder] = [each for each in folders_above(path) if each in self._claimed]
        return above


def _above_it(claimed: Claims, folder: str, own: Sequence[Claim], barring: set[int]) -> Iterator[Claim]:
    """Yield the claims that a folder above a path is gone, or a file by other states than ``barring``."""
    for chunk, value in claimed[folder, f"{PATH}{folder}"]:
        if how(value) == LINK:
            yield from _through(claimed, Claim(chunk, value), folder, own, barring)
        elif value == GONE and how(value) not in {CLEANED, PERHAPS}:
            yield Claim(chunk, value)
        elif value == FILE and chunk.index not in barring:
            yield Claim(chunk, Marked(GONE, BARRED))


def _through(claimed: Claims, link: Claim, path: str, own: Sequence[Claim], barring: set[int]) -> Iterator[Claim]:
    """Yield the claims that bar the way through a link: it leads to a file, to what is removed, or to nothing known."""
    if not link.value:
        return
    target = plain_path(os.path.join(os.path.dirname(path), link.value))
    there = claimed.get((target, f"{PATH}{target}"))
    if there and all(value in {FILE, GONE} and how(value) not in {CLEANED, PERHAPS} for _, value in there):
        yield from (Claim(chunk, Marked(GONE, BARRED)) for chunk, _ in there if chunk.index not in barring)
    elif not there and any(claim.chunk.args.get("makedirs") is True for claim in own):
        near = (f"{path}/" for path, _ in claimed)
        if not any(each.startswith(f"{target}/") or f"{target}/".startswith(each) for each in near):
            yield Claim(link.chunk, Marked(GONE, MAY_BAR))
