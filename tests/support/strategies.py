"""Hypothesis strategies for trees: high data that compiles, with every kind of requisite."""

from __future__ import annotations

from hypothesis import strategies as st

KINDS = (
    "require",
    "watch",
    "onchanges",
    "onfail",
    "require_any",
    "watch_any",
    "onchanges_any",
    "onfail_any",
    "onfail_all",
)
MODULES = ("test", "cmd", "pkg")
EXPLICIT = (1, 2, 2, 5.5, 10003, 20000, -1, -2, "first", "last", "soon", True, None, float("inf"))


def orders(automatic):
    """An ``order`` argument, or none: most states have the automatic number only."""
    return st.one_of(st.just(automatic), st.just(automatic), st.just(automatic), st.sampled_from(EXPLICIT))


@st.composite
def high_data(draw, max_size=8, *, prereq=True, names=True, explicit=True, sls=True, listen=False):
    """Acyclic high data: every reference goes to a state earlier in a hidden order, so something always can run."""
    size = draw(st.integers(1, max_size))
    order = draw(st.permutations(range(size)))
    place = {number: position for position, number in enumerate(order)}
    modules = [draw(st.sampled_from(MODULES)) for _ in range(size)]
    files = [draw(st.sampled_from(("a", "b"))) for _ in range(size)]
    target_of = _prereq_pairs(draw, order) if prereq else {}
    asked_by = {target: asking for asking, target in target_of.items()}
    high = {}
    for number in range(size):
        automatic = 10000 + number
        arguments = ["nop", {"order": draw(orders(automatic)) if explicit else automatic}]
        earlier = [other for other in range(size) if place[other] < place[number] and asked_by.get(number) != other]
        for kind in draw(st.lists(st.sampled_from(KINDS), max_size=2, unique=True)) if earlier else ():
            chosen = draw(st.lists(st.sampled_from(earlier), min_size=1, max_size=3))
            arguments.append({kind: [_reference(draw, other, modules) for other in chosen]})
        if sls and number not in asked_by and _all_earlier(files, place, number) and draw(st.booleans()):
            arguments.append({"require_any": [{"sls": "a"}]})
        if number in target_of:
            arguments.append({"prereq": [{modules[target_of[number]]: f"s{target_of[number]}"}]})
        if names and draw(st.integers(0, 5)) == 0:
            arguments.append({"names": ["x", {"y": [{"order": 3}]}] if draw(st.booleans()) else ["x", "y"]})
        if listen and draw(st.integers(0, 3)) == 0:
            other = draw(st.integers(0, size - 1))
            arguments.append({"listen": [{modules[other]: f"s{other}"}]})
        high[f"s{number}"] = {modules[number]: arguments, "__sls__": files[number], "__env__": "base"}
    return high


def _prereq_pairs(draw, order):
    """Some states, and the one right behind each in the hidden order, which then must not depend on it."""
    pairs = {}
    for position in range(0, len(order) - 1, 2):
        if draw(st.integers(0, 3)) == 0:
            pairs[order[position]] = order[position + 1]
    return pairs


def _reference(draw, other, modules):
    plain = f"s{other}"
    return draw(st.sampled_from((plain, {modules[other]: plain}, {"id": plain})))


def _all_earlier(files, place, number):
    """Whether all of SLS ``a`` comes before a state in the hidden order, so that it may require the SLS."""
    return (
        files[number] == "b"
        and any(sls == "a" for sls in files)
        and all(place[other] < place[number] for other, sls in enumerate(files) if sls == "a")
    )


@st.composite
def graphs(draw, max_size=12):
    """(size, edges): a directed graph, cycles and all."""
    size = draw(st.integers(1, max_size))
    nodes = st.integers(0, size - 1)
    return size, draw(st.lists(st.tuples(nodes, nodes), max_size=size * 3))


@st.composite
def accesses(draw, max_size=14):
    """What a row of states reads and writes: a few nested paths, trees, plain names, and entries of them."""
    paths = ("/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f", "/")
    resources = [f"path:{path}" for path in paths]
    resources += [f"path:{path.rstrip('/')}/**" for path in paths] + ["user:u", "pkgdb"]
    for file in ("path:/e", "path:/e/f", "path:/a/b", "pkgdb"):
        resources += [f"{file}#k", f"{file}#l", f"{file}#k/l", f"{file}#k/l/m"]
    some = st.lists(st.sampled_from(resources), max_size=2, unique=True)
    return draw(st.lists(st.tuples(some, some), min_size=2, max_size=max_size))


@st.composite
def footprints(draw, max_size=12, marks=("", "?0700:u:g")):
    """What a row of states reads, writes, makes with marks, and leaves."""
    folders = [f"path:{path}" for path in ("/a", "/a/b", "/a/b/c", "/e")]
    named = [f"{folder}{each}" for folder in folders for each in marks]
    made = st.lists(st.sampled_from(named), max_size=1)
    left = st.lists(st.sampled_from(folders), max_size=1)
    return [(reads, writes, draw(made), draw(left)) for reads, writes in draw(accesses(max_size))]
