"""The scoreboard: which state touched which resource last. States enter it in serial order and learn what to wait for.

    earlier    later
    read       read      neither waits
    read       write     the later one waits (write-after-read)
    write      read      the later one waits (read-after-write)
    write      write     the later one waits (write-after-write)
    make       make      neither waits; a folder that may be missing, such as with ``makedirs``. With other marks, the
                         later one waits
    make       need      the later one waits
    need       make      the later one waits

A resource is a name such as ``user:www`` or ``pkgdb``. Paths are hierarchical: touching ``path:/a/b`` needs ``/a``, so
it waits for the last writer of ``/a``, and a later writer of ``/a`` waits for it. ``path:/a/**`` is everything at and
below ``/a``, also a folder that is made there. The cost of an access grows with the depth of its path; nodes that many
wait for are joined in one node. A made folder may have marks, ``path:/a?0700:www:www``: the mode and the owners that it
gets from whoever is first. Of ``path:/a//b/c``, only ``b`` and ``c`` are made; ``/a`` is needed.

A state that ``leaves`` a folder is the proof, for those behind it, that the folder is there: a make and a need, or
makes with other marks, conflict only if the proof fails. So these waits are contingent on it, until somebody writes the
folder or one above it. The first state that leaves a folder is its proof.

Each wait has a reason: the resource that both states touch and at least one of them writes or makes.

States that share their work touch plain names *beside* one another: none waits for the others, and a state that comes
later waits for all of them that touched what it touches.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from asyncstate.effects.resources import PATH, Proof, Resources, folder_and_marks, is_plain, whole_of
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from asyncstate.effects.resources import Access, Place


_USERS = attrgetter("users")
_WRITERS_BELOW = attrgetter("writers_below")

Waits = dict[int, tuple[str, ...]]
"""The nodes to wait for, each with the names of the resources that are the reason."""

Contingent = dict[tuple[int, int], tuple[str, ...]]
"""The nodes to wait for until another succeeds: ``(node, proof)``, each with the folders that are the reason."""


class Waiting(Value):
    """The nodes that a node waits for: always, and until a proof succeeds."""

    always: Waits
    contingent: Contingent


class Scoreboard:
    """Resources and the nodes that touched them.

    ``join(nodes, resource)`` makes a node that ends when all of ``nodes`` have ended; all of them touched ``resource``.
    """

    def __init__(self, join: Callable[[list[int], str], int]) -> None:
        self._join = join
        self._resources = Resources()
        self._touches = 0

    def touch(
        self,
        node: int,
        reads: Iterable[str],
        writes: Iterable[str],
        makes: Iterable[str] = (),
        leaves: Iterable[str] = (),
        *,
        together: Callable[[Iterable[int]], Collection[int]] | None = None,
    ) -> Waiting:
        """Return what ``node`` waits for, and why; record what it reads, writes and makes.

        ``makes`` are folders that it makes if they, or folders above them, are missing; ``leaves`` are folders that are
        there once it has run and succeeded. The resource of a wait is the one that ``node`` names, or the folder above
        it that the other node wrote or made. For those that ``together`` returns, ``node`` does not wait because of
        plain names.
        """
        self._touches += 1
        before: Waits = {}
        contingent: Contingent = {}
        made = []
        needs = []
        marked: dict[Place, str] = {}
        for name in makes:
            folder, marks = folder_and_marks(name)
            needed, two_slashes, _ = folder.partition("//")
            places = self._resources.places(folder.removeprefix(PATH))
            there = len(self._resources.places(needed.removeprefix(PATH))) if two_slashes else 1  # the root
            made.append(places)
            marked.update((place, marks) for place in places[there:] if not place.lasting)
            needs += [place for place in places[:there][-1:] if not place.lasting]
        placed = [*self._resources.placed(reads, writes), *((places, False, False) for places in made)]
        needs += _needed(placed, list(marked))
        plain: Waits = {}
        for where, tree, writes_it in placed:
            beside = together is not None and is_plain(where)
            self._look(where, tree, writes_it, plain if beside else before, join=not beside)
        for where in made:
            self._wait_for_tree_readers(where[:-1], before, where[-1].name)
        proofs = self._proofs(placed) if needs or marked else {}
        for place in needs:
            proof = proofs.get(place)
            if proof is not None and proof.marks is not None:
                _wait(before, proof.node, place.name)
            place.makers = self._joined(place.makers, place.name)
            _wait_until(before, contingent, place.makers, proof, place.name)
        for place, marks in marked.items():
            proof = proofs.get(place)
            if proof is not None and (proof.needs or proof.marks not in {None, marks}):
                _wait(before, proof.node, place.name)
            place.needers = self._joined(place.needers, place.name)
            _wait_until(before, contingent, place.needers, proof, place.name)
            if place.makers and place.marks != marks:
                place.other_makers = self._joined(place.makers, place.name)
                place.makers = []
            _wait_until(before, contingent, place.other_makers, proof, place.name)
        others = together((*(each for each, _ in contingent), *before, *plain)) if together else ()
        for other, resources in plain.items():
            if other not in others:
                for resource in resources:
                    _wait(before, other, resource)
        for where, tree, writes_it in placed:
            left = _beside(where[0], others, writes_it) if others and is_plain(where) else None
            self._note(where, node, tree, writes_it)
            if left is not None:
                where[0].beside = left
        for where in made:
            _append(map(_WRITERS_BELOW, where[:-1]), node)
        own = self._prove(node, leaves, needs, marked)
        for place in needs:
            if place not in own:
                _append((place.needers,), node)
        for place, marks in marked.items():
            if place not in own:
                place.marks = marks
                _append((place.makers,), node)
        return Waiting(before, contingent)

    def _proofs(self, placed: list[Access]) -> dict[Place, Proof]:
        """Return the proofs that hold of the places on the way to the accesses."""
        found = {}
        for where, _, _ in placed:
            written_at = 0
            for place in where:
                written_at = max(written_at, place.written_at)
                if place.proof is not None and place.proof.touch >= written_at:
                    found[place] = place.proof
        return found

    def _prove(self, node: int, leaves: Iterable[str], needs: list[Place], marked: dict[Place, str]) -> set[Place]:
        """Make a node the proof of the folders that it leaves and of those above them that have none; return these."""
        found = set()
        for name in leaves:
            written_at = 0
            for place in self._resources.places(name.removeprefix(PATH)):
                written_at = max(written_at, place.written_at)
                if not place.lasting and (place.proof is None or place.proof.touch < written_at):
                    place.proof = Proof(node, self._touches, marked.get(place), place in needs)
                    found.add(place)
        return found

    def _wait_for_tree_readers(self, places: list[Place], before: Waits, own: str) -> None:
        for above in places:
            if above.tree_readers:
                above.tree_readers = self._joined(above.tree_readers, self._resources.tree(above))
                _wait(before, above.tree_readers[0], own)

    def _look(self, places: list[Place], tree: bool, writes: bool, before: Waits, *, join: bool) -> None:
        place = places[-1]
        own = self._resources.tree(place) if tree else place.name
        for above in places:
            writer = above.writer
            if writer != -1:
                if above.tree_writer != -1:
                    _wait(before, above.tree_writer, own)
                if writer != above.tree_writer and (above is not place or not (writes and place.users)):
                    _wait(before, writer, above.name)
                if above.beside:
                    above.beside = self._joined(above.beside, above.name) if join else above.beside
                    _wait_for_all(before, above.beside, above.name)
        if writes:
            self._wait_for_tree_readers(places, before, own)
        if place.is_entry and writes:
            whole = whole_of(places)
            if whole.readers:
                whole.readers = self._joined(whole.readers, whole.name)
                _wait(before, whole.readers[0], own)
        if writes:
            _wait_for_all(before, place.users, own)
        elif (tree or place.is_entry) and place.writers_below:
            place.writers_below = self._joined(place.writers_below, own)
            _wait(before, place.writers_below[0], own)
        elif place.entry_writers:
            place.entry_writers = self._joined(place.entry_writers, own) if join else place.entry_writers
            _wait_for_all(before, place.entry_writers, own)

    def _note(self, places: list[Place], node: int, tree: bool, writes: bool) -> None:
        place = places[-1]
        if place.is_entry and writes:
            _append((whole_of(places).entry_writers,), node)
        _append(map(_USERS, places[:-1]), node)
        if writes:
            _append(map(_WRITERS_BELOW, places[:-1]), node)
            if place.beside:
                place.beside = []
            place.users = []
            place.readers = []
            place.writers_below = []
            place.entry_writers = []
            place.makers = []
            place.other_makers = []
            place.needers = []
            if tree or place.is_entry:
                place.tree_writer = node
                place.tree_readers = []
            place.writer = node
            place.written_at = self._touches
        else:
            _append((place.users, place.tree_readers if tree or place.is_entry else place.readers), node)

    def _joined(self, nodes: list[int], resource: str) -> list[int]:
        return nodes if len(nodes) < 2 else [self._join(nodes, resource)]


def _wait(before: Waits, node: int, resource: str) -> None:
    known = before.get(node)
    if known is None:
        before[node] = (resource,)
    elif resource not in known:
        before[node] = (*known, resource)


def _wait_for_all(before: Waits, nodes: Iterable[int], resource: str) -> None:
    for node in nodes:
        _wait(before, node, resource)


def _beside(place: Place, others: Collection[int], writes: bool) -> list[int]:
    """Return the nodes that the next one to touch a plain name must also wait for, as a node does not wait for others.

    If it writes, whom it waits for need not be waited for again.
    """
    beside = [each for each in place.beside if not writes or each in others]
    if place.writer in others:
        _append((beside,), place.writer)
    if writes:
        beside += [each for each in place.users if each in others]
    return beside


def _wait_until(
    before: Waits, contingent: Contingent, nodes: Iterable[int], proof: Proof | None, resource: str
) -> None:
    """Wait for nodes until the node of a proof succeeds; in any case if there is no proof."""
    if proof is None:
        _wait_for_all(before, nodes, resource)
        return
    for node in nodes:
        known = contingent.get((node, proof.node), ())
        if resource not in known:
            contingent[node, proof.node] = (*known, resource)


def _needed(placed: list[Access], made: list[Place]) -> list[Place]:
    """Return the folders that must exist: those that are read, and those in which something is written.

    To write an entry, the folder of its file must exist, but not the file. Folders in ``made`` need not exist; but one
    whose tree is read counts, because it is part of the tree whoever makes it.
    """
    own = {id(place) for place in made}
    needed = []
    for where, tree, writes_it in placed:
        read_whole = where[-1] if tree and not writes_it else None
        if not where[-1].is_entry:
            folders = where[-2:-1] if writes_it else where[-1:]
        elif writes_it:
            depth = where.index(whole_of(where))
            folders = [*where[depth - 1 : depth], *where[depth + 1 : -1]]
        else:
            folders = [whole_of(where)]
        needed += [place for place in folders if not place.lasting and (id(place) not in own or place is read_whole)]
    return needed


def _append(lists: Iterable[list[int]], node: int) -> None:
    """Append a node to each list that does not end with it."""
    for nodes in lists:
        if not nodes or nodes[-1] != node:
            nodes.append(node)
