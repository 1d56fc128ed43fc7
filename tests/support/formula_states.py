"""States as the rule of formulas sees them, and what two of them hold of their formulas that keeps them in order."""

from __future__ import annotations

from types import SimpleNamespace

from asyncstate.effects.formula import FormulaRule, Touching


def state(kind, fun, *, sls="f", reads=(), writes=(), programs=None, tested=(), unknown=False, **args):
    chunk = SimpleNamespace(state=kind, fun=fun, sls=sls, args=args)
    return Touching(chunk, tuple(reads), tuple(writes), programs, tested if tested is None else tuple(tested), unknown)


def packages(names, fun="installed", **args):
    return state("pkg", fun, **args, writes=("pkgdb", *(f"package:{name}" for name in names)))


def a_file(path, **more):
    return state("file", "managed", writes=(f"path:{path}",), **more)


def of_table(states, **usual):
    """States that a table has: a function, and what it touches; ``packages`` are those that it is about."""
    found = []
    for each in states:
        ((function, touched),) = each.items()
        kind, _, fun = function.partition(".")
        named = (
            {"writes": ["pkgdb", *(f"package:{name}" for name in touched["packages"])]} if "packages" in touched else {}
        )
        found.append(
            state(kind, fun, **usual | named | {key: value for key, value in touched.items() if key != "packages"})
        )
    return found


def held_by(*states, known=None, accounts=(), strict=False):
    """What states hold of their formulas."""
    return FormulaRule(strict=strict, packages=known, has_account=lambda name: name in accounts).of_all(states)


def between(*states, **given):
    """What the first and the last of some states conflict about, beside what they touch themselves."""
    held = held_by(*states, **given)
    first, last = held[0], held[-1]
    return (set(first.writes) & {*last.reads, *last.writes}) | (set(first.reads) & set(last.writes))
