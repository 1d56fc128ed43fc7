"""Hypothesis strategies for trees of the simulated modules."""

from __future__ import annotations

from typing import NamedTuple

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
ORDERS = (1, 2, 2, 10003, -1, "first", "last")


class Tree(NamedTuple):
    """High data and the options it is compiled with. ``split``: the package module has ``mod_aggregate_split``."""

    high: dict
    options: dict
    split: bool


@st.composite
def trees(draw, max_size=9, functions=None, kinds=KINDS, options=None):
    """Acyclic trees of two formulas: every reference goes to a state earlier in a hidden order.

    All states are of ``functions``, if given, their requisites of ``kinds``, and ``options`` are some that are not drawn.
    """
    size = draw(st.integers(2, max_size))
    order = draw(st.permutations(range(size)))
    place = {number: position for position, number in enumerate(order)}
    functions = functions or draw(st.sampled_from((FUNCTIONS, FUNCTIONS, PACKAGES, FILES, COUNTERS, FOLDERS, FOLDERS)))
    paths = slice(6, 10) if functions is FOLDERS else draw(st.sampled_from((slice(8), slice(4), slice(2))))
    states = [draw(calls(functions, paths)) for _ in range(size)]
    most = draw(st.sampled_from((0, 1, 2)))
    asking_of = _prereq_pairs(draw, order)
    target_of = {asking: target for target, asking in asking_of.items()}
    high = {}
    for number, (formula, module, function, arguments) in enumerate(states):
        arguments = [function, {"order": 10000 + number}, *arguments]
        if draw(st.integers(0, 7)) == 0:
            arguments[1] = {"order": draw(st.sampled_from(ORDERS))}
        earlier = [other for other in range(size) if place[other] < place[number] and asking_of.get(number) != other]
        for kind in draw(st.lists(st.sampled_from(kinds), max_size=most, unique=True)) if earlier else ():
            chosen = draw(st.lists(st.sampled_from(earlier), min_size=1, max_size=3, unique=True))
            arguments.append({kind: [_reference(states, other) for other in chosen]})
        if (
            formula == "b"
            and number not in asking_of
            and _may_require_sls(states, place, number)
            and draw(st.booleans())
        ):
            arguments.append({"require_any": [{"sls": "a"}]})
        if number in target_of:
            arguments.append({"prereq": [_reference(states, target_of[number])]})
        if draw(st.integers(0, 5)) == 0:
            arguments.append({"listen": [_reference(states, draw(st.integers(0, size - 1)))]})
        arguments.extend(draw(st.sampled_from(EXTRAS)))
        high[f"s{number}"] = {module: arguments, "__sls__": formula, "__env__": "base"}
    drawn = {
        "state_aggregate": draw(st.sampled_from((None, False, True, ["pkg"], ["counter"]))),
        "implicit_order": draw(st.sampled_from(("footprint", "strict"))),
    }
    return Tree(high, drawn | (options or {}), draw(st.booleans()))


EXTRAS = (
    *([],) * 8,
    [{"retry": {"attempts": 2, "interval": 3}}],
    [{"retry": {"attempts": 3, "interval": 1, "until": False}}],
    [{"check_cmd": ["test -e /shared/s"]}],
    [{"exclusive": True}],
    [{"lane": "slow"}],
    [{"aggregate": True}],
    [{"aggregate": False}],
)


def _reference(states, number):
    return {states[number][1]: f"s{number}"}


def _may_require_sls(states, place, number):
    """Whether all of SLS ``a`` comes before a state in the hidden order."""
    first = [place[other] for other, state in enumerate(states) if state[0] == "a"]
    return bool(first) and max(first) < place[number]


def _prereq_pairs(draw, order):
    """Target -> the state that has it as a prereq, right before it in the hidden order."""
    return {
        order[position + 1]: order[position] for position in range(0, len(order) - 1, 2) if draw(st.integers(0, 4)) == 0
    }


@st.composite
def calls(draw, functions, paths):
    """(formula, module, function, arguments) of one state that calls one of ``functions`` on one of these paths."""
    formula = draw(st.sampled_from("ab"))
    module, function = draw(st.sampled_from(functions))
    path = st.sampled_from(_paths(formula)[paths])
    arguments = []
    match module:
        case "file" | "probe":
            names = [draw(path)]
            arguments = draw(_file_arguments(function, path))
            if function != "fail" and draw(st.integers(0, 7)) == 0:
                names.append(draw(path.filter(lambda name: name != names[0])))
        case "user":
            names = [draw(st.sampled_from(("u1", "u2")))]
        case "counter":
            names = [draw(st.sampled_from(("x", "y", "y", "z", "broken")))]
            arguments = [{"by": draw(st.sampled_from((1, 10)))}]
        case "bundle":
            names = [draw(st.sampled_from((f"/etc/{formula}", "/shared")))]
            arguments = [{"parts": draw(st.sampled_from((["s"], ["s", "conf"], ["t", "none/t"])))}]
        case "pkg":
            names = [f"{formula}-{draw(st.sampled_from(('p', 'p', 'q', 'r', 's', 'broken')))}"]
        case _:
            names = [f"{formula}-{draw(st.sampled_from(('d', 'e')))}"]
    named = {"name": names[0]} if len(names) == 1 else {"names": names}
    return formula, module, function, [named, *arguments, *draw(_condition(formula, path))]


FUNCTIONS = (
    *(("file", "managed"),) * 3,
    *(("file", "append"),) * 2,
    ("file", "absent"),
    *(("file", "directory"),) * 2,
    ("probe", "read"),
    ("probe", "tree"),
    ("probe", "fail"),
    ("user", "present"),
    ("user", "absent"),
    *(("pkg", "installed"),) * 3,
    ("pkg", "removed"),
    *(("service", "running"),) * 2,
    ("service", "dead"),
    *(("counter", "add"),) * 2,
    ("bundle", "deployed"),
)
PACKAGES = (*(("pkg", "installed"),) * 3, ("file", "append"), ("probe", "tree"), ("service", "running"))
COUNTERS = (*(("counter", "add"),) * 3, ("service", "running"), ("probe", "fail"), ("file", "managed"))
FOLDERS = (*(("file", "managed"),) * 5, ("file", "directory"), ("probe", "read"))
FILES = tuple(call for call in FUNCTIONS if call[0] in {"file", "probe"})


def _paths(formula):
    """Of a formula's own and of those that both share, the more entangled first; the last are in a folder not there."""
    own, shared = f"/etc/{formula}", "/shared"
    return (
        *(f"{own}/{formula}-p.conf", f"{shared}/s", own, shared),
        *(f"{own}/conf", f"{own}/conf/y", f"{shared}/d", f"{shared}/d/t"),
        *(f"{shared}/d/u", f"{shared}/d/e/v"),
    )


@st.composite
def _file_arguments(draw, function, path):
    match function:
        case "managed":
            source = [{"source": draw(path)}] if draw(st.integers(0, 3)) == 0 else []
            user = [{"user": draw(st.sampled_from(("u1", "u2")))}] if draw(st.integers(0, 3)) == 0 else []
            makes = [{"makedirs": True}] if draw(st.booleans()) else []
            return [{"contents": draw(st.sampled_from(("one", "two")))}, *source, *user, *makes]
        case "append":
            return [{"text": draw(st.sampled_from(("+", "-")))}]
        case "directory":
            return [{"mode": draw(st.sampled_from((700, 755)))}, {"recurse": draw(st.booleans())}]
        case _:
            return []


@st.composite
def _condition(draw, formula, path):
    """No condition, mostly; or one that looks at a file, or at a package of the own formula."""
    if draw(st.integers(0, 4)):
        return []
    kind = draw(st.sampled_from(("onlyif", "unless")))
    if draw(st.integers(0, 2)) == 0:
        return [{kind: [f"test -e {draw(path)}"]}]
    if draw(st.booleans()):
        return [{kind: [{"fun": "probe.exists", "path": draw(path)}]}]
    return [{kind: [{"fun": "probe.installed", "name": f"{formula}-p"}]}]
