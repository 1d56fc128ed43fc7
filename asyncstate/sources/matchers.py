"""Targets: matching expressions, of a top file for example, against this machine.

These are Salt's minion-side matchers. An invalid expression, also one with an invalid regular expression, matches
nothing and is logged as a warning; it never raises an exception.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from asyncstate.data.paths import DELIMITER, glob_fits, subdict_match
from asyncstate.logs import get_logger
from asyncstate.nearest import nearest
from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from asyncstate.data.paths import Fits

log: Final = get_logger(__name__)

_OPERATORS = frozenset({"and", "or", "not", "(", ")"})
_ENGINES = {
    "G": "grain",
    "P": "grain_pcre",
    "I": "pillar",
    "J": "pillar_pcre",
    "L": "list",
    "S": "ipcidr",
    "E": "pcre",
    "M": "managing_minion",
    "T": "resource",
}
_TARGET = lazy_pattern(r"(?:(?P<engine>[GPIJLNSERTM])(?P<delimiter>(?<=[GPIJ]).)?@)?(?P<pattern>.+)$")
_KIND = lazy_pattern(r"[A-Z]@")
_NODEGROUP = lazy_pattern(r"N@.")
_MEANT = frozenset({*_ENGINES, "N"} - {"T"})
_KINDS_WRITTEN = ", ".join(f"{kind}@" for kind in sorted(_MEANT))
_WITHOUT_COUNTERPART = frozenset({"range", "data", "resource"})


class Matcher:
    """Matches targets against one machine: its ID and nodegroups (from ``opts``), its grains, its pillar."""

    def __init__(self, opts: Mapping[str, Any], grains: Mapping[str, Any], pillar: Mapping[str, Any]) -> None:
        self._id: str = opts.get("id", "")
        self._nodegroups: Mapping[str, Any] = opts.get("nodegroups") or {}
        self._grains = grains
        self._kinds: dict[str, Callable[..., bool]] = {
            "compound": self.compound,
            "glob": self.glob,
            "pcre": self.pcre,
            "grain": partial(self._in_data, grains, "grains", glob_fits),
            "grain_pcre": partial(self._in_data, grains, "grains pcre", _regex_match),
            "pillar": partial(self._in_data, pillar, "pillar", glob_fits),
            "pillar_pcre": partial(self._in_data, pillar, "pillar pcre", _regex_match),
            "pillar_exact": partial(self._in_data, pillar, "pillar", _equal_match),
            "list": self.list,
            "nodegroup": self.nodegroup,
            "ipcidr": self.ipcidr,
            "managing_minion": self.managing_minion,
        }

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that `match` accepts, including those that never match here."""
        return frozenset(self._kinds) | _WITHOUT_COUNTERPART

    def match(self, kind: str, expr: Any, **options: Any) -> bool:
        """Whether ``expr`` of the given kind matches this machine. Grain and pillar kinds take a ``delimiter``.

        Raises KeyError for a kind that is not among `kinds`.
        """
        if kind in _WITHOUT_COUNTERPART:
            log.warning("Targets of kind %r need a Salt master and never match: %s", kind, expr)
            return False
        return self._kinds[kind](expr, **options)

    def glob(self, expr: Any) -> bool:
        """Whether a shell pattern matches the ID."""
        return isinstance(expr, str) and fnmatch.fnmatch(self._id, expr)

    def pcre(self, expr: str) -> bool:
        """Whether a regular expression matches the ID, from its start."""
        return bool(self._pcre(expr))

    def _pcre(self, expr: str) -> bool | None:
        """Match a regular expression; None if it is none."""
        from asyncstate.sources.patterns import require_fast  # noqa: PLC0415 - few top files have patterns

        try:
            require_fast(expr, self._id)
            return re.match(expr, self._id) is not None
        except (re.error, TypeError, ValueError) as error:
            log.warning("Invalid regular expression %r in target: %s", expr, error)
            return None

    def list(self, expr: str | Sequence[str]) -> bool:
        """Whether the ID is in a comma-separated list, or in a sequence."""
        ids = expr.split(",") if isinstance(expr, str) else expr
        return self._id in ids

    def managing_minion(self, expr: str) -> bool:
        """Whether ``expr`` equals the ID."""
        return self._id == expr

    @staticmethod
    def _in_data(data: Mapping[str, Any], what: str, fits: Fits, expr: Any, delimiter: str = DELIMITER) -> bool:
        """Whether data match ``key:value``. The delimiter also separates nested keys."""
        if not isinstance(expr, str) or delimiter not in expr:
            log.warning("Got insufficient arguments for %s match: %s", what, expr)
            return False
        return subdict_match(data, expr, delimiter, fits)

    def nodegroup(self, expr: str) -> bool:
        """Whether this machine is in a nodegroup of the configuration."""
        return expr in self._nodegroups and self.compound(self._nodegroup_words(expr))

    def ipcidr(self, expr: str) -> bool:
        """Whether any interface has the address or is in the network (grains ``ipv4`` and ``ipv6``)."""
        try:
            network = ipaddress.ip_network(expr)
        except ValueError:
            log.warning("Invalid IP/CIDR target: %s", expr)
            return False
        addresses = self._grains.get(f"ipv{network.version}") or ()
        return any(_is_within(address, network) for address in addresses)

    def compound(self, expr: str | Sequence[str]) -> bool:
        """Whether a boolean expression of the other kinds is true: ``G@os:Debian and not ( web* or L@a,b )``.

        As in Salt, the words of a nodegroup stand in the place of its name, in parentheses only if it names other
        nodegroups: `surprise` finds expressions to which that matters.
        """
        if not isinstance(expr, str | list | tuple):
            log.warning("Compound target is neither text nor a list: %r", expr)
            return False
        words = expr.split() if isinstance(expr, str) else [str(word) for word in expr]
        terms: list[str | bool] = []
        for word in self._expanded(words):
            if word in _OPERATORS:
                terms += _operator(word, terms)
                continue
            matched = self._term(word)
            if matched is None:
                log.warning("Nothing can match %r in compound target %r", word, expr)
                return False
            terms.append(matched)
        verdict = _evaluate(terms)
        if verdict is None:
            log.warning("Invalid compound target: %s", expr)
        return bool(verdict)

    def mistake(self, expr: Any, kind: str = "compound") -> str:
        """Return the mistake in a compound target or a regular expression that can match no machine, "" without one."""
        if kind == "pcre":
            wrong = _regex_mistake(str(expr))
            return f"is no regular expression: {wrong}" if wrong else ""
        if kind != "compound" or not isinstance(expr, str):
            return ""
        for word in expr.split():
            if word.startswith("N@") and word[2:] not in self._nodegroups:
                near = nearest(word[2:], list(self._nodegroups))
                hint = f"did you mean {near!r}?" if near else "`nodegroups` in the configuration defines them"
                return f"names a nodegroup that there is not, {word[2:]!r}: {hint}"
            if _KIND.match(word) and word[0] not in _MEANT:
                return f"has a kind of target that there is not, {word[:2]!r}: there are {_KINDS_WRITTEN}"
            if word.startswith("E@") and (wrong := _regex_mistake(word[2:])):
                return f"has no regular expression in {word!r}: {wrong}"
        terms: list[str | bool] = []
        for word in self._expanded(expr.split()):
            terms += _operator(word, terms) if word in _OPERATORS else [True]
        if _evaluate(terms) is None:
            return "is not one: targets are combined by `and`, `or`, `not` and parentheses between blanks"
        return ""

    def surprise(self, expr: Any, kind: str = "compound") -> str:
        """Return what is unexpected in a sound compound target: an operator that binds a part of a nodegroup only."""
        words = expr.split() if kind == "compound" and isinstance(expr, str) else []
        for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
            group = self._nodegroup_words(word[2:]) if _NODEGROUP.match(word) else []
            outer = _outer_operators(group)
            apart = before == "not" if outer else False
            if apart or ("or" in outer and (before == "and" or after in ("and", "not"))):
                read = " ".join(self._expanded(words))
                return f"means {read!r}, as in Salt: to keep the nodegroup together, write ( {word} )"
        return ""

    def _term(self, word: str) -> bool | None:
        """Match one word; None if it names an unknown engine."""
        parts = _TARGET.match(word)
        if parts is None or not parts["engine"]:
            return self.glob(word)
        kind = _ENGINES.get(parts["engine"])
        if kind is None:
            return None
        if kind == "pcre":
            return self._pcre(parts["pattern"])
        options = {"delimiter": parts["delimiter"]} if parts["delimiter"] else {}
        return self.match(kind, parts["pattern"], **options)

    def _expanded(self, words: Sequence[str]) -> Sequence[str]:
        """Replace each ``N@name`` by the words of that nodegroup."""
        expanded: list[str] = []
        for word in words:
            expanded += self._nodegroup_words(word[2:]) if _NODEGROUP.match(word) else [word]
        return expanded

    def _nodegroup_words(self, name: str, within: frozenset[str] = frozenset()) -> Sequence[str]:
        """Return the words of a nodegroup, with nested ones expanded; [] for an invalid one.

        A nodegroup that is nested, or has nested ones, is in parentheses.
        """
        definition = self._nodegroups.get(name)
        if name in within or not isinstance(definition, str | list | tuple):
            reason = "contains itself" if name in within else "is not defined as text or a list"
            log.warning("Failed nodegroup expansion: nodegroup %r %s", name, reason)
            return []
        words = definition.split() if isinstance(definition, str) else [str(word) for word in definition]
        if is_list_of_ids := _as_single_target(words):
            return [is_list_of_ids]
        if not within and not any(map(_NODEGROUP.match, words)):
            return words
        expanded: list[str] = []
        for word in words:
            expanded += self._nodegroup_words(word[2:], within | {name}) if _NODEGROUP.match(word) else [word]
        return ["(", *expanded, ")"] if expanded else []


def _outer_operators(words: Sequence[str]) -> set[str]:
    """Return the operators outside of all parentheses."""
    found, depth = set[str](), 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth == 0 and word in ("and", "or", "not"):
            found.add(word)
    return found


def _as_single_target(words: Sequence[str]) -> str:
    """Return a nodegroup without operators and engines as one target, a list (L@) or a regex (E@); else ""."""
    if _OPERATORS & set(words) or any("*" in word or re.match(r"[A-Z]@", word) for word in words):
        return ""
    is_regex = any(character in word for word in words for character in "([{\\?}])")
    return f"{'E' if is_regex else 'L'}@{','.join(words)}"


def _is_within(address: str, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    try:
        return ipaddress.ip_address(address) in network
    except ValueError:
        return False


def _regex_mistake(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return ""


class _Partial(Value):
    value: bool
    rest: int


def _operator(word: str, terms: Sequence[str | bool]) -> list[str]:
    """Return the operators for a word after these terms: ``not`` after a term means ``and not``."""
    return ["and", "not"] if word == "not" and terms and terms[-1] not in ("and", "or", "(") else [word]


def _evaluate(terms: Sequence[str | bool]) -> bool | None:
    """Evaluate with Python's precedence (not, and, or); None if the expression is malformed."""
    whole = _alternatives(terms, 0)
    return whole.value if whole is not None and whole.rest == len(terms) else None


def _alternatives(terms: Sequence[str | bool], start: int) -> _Partial | None:
    value, rest = False, start - 1
    while rest < start or (rest < len(terms) and terms[rest] == "or"):
        part = _conjunction(terms, rest + 1)
        if part is None:
            return None
        value, rest = value or part.value, part.rest
    return _Partial(value, rest)


def _conjunction(terms: Sequence[str | bool], start: int) -> _Partial | None:
    value, rest = True, start - 1
    while rest < start or (rest < len(terms) and terms[rest] == "and"):
        part = _factor(terms, rest + 1)
        if part is None:
            return None
        value, rest = value and part.value, part.rest
    return _Partial(value, rest)


def _factor(terms: Sequence[str | bool], start: int) -> _Partial | None:
    if start >= len(terms):
        return None
    term = terms[start]
    if isinstance(term, bool):
        return _Partial(term, start + 1)
    if term == "not":
        part = _factor(terms, start + 1)
        return part and _Partial(not part.value, part.rest)
    if term == "(":
        inner = _alternatives(terms, start + 1)
        if inner is not None and inner.rest < len(terms) and terms[inner.rest] == ")":
            return _Partial(inner.value, inner.rest + 1)
    return None


def _regex_match(value: Any, pattern: str) -> bool:
    from asyncstate.sources.patterns import require_fast  # noqa: PLC0415 - as above

    try:
        require_fast(pattern.lower(), str(value).lower())
        return re.match(pattern.lower(), str(value).lower()) is not None
    except (re.error, ValueError) as error:
        log.warning("Invalid regular expression %r in target: %s", pattern, error)
        return False


def _equal_match(value: Any, pattern: str) -> bool:
    """Whether a value equals a text, without regard to case."""
    return str(value).lower() == pattern.lower()
