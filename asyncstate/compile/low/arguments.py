"""Compare states with the functions they call, to find before the run what would fail in it.

A *mistake* is a call that the run answers with a failed row: the function does not exist, does not take an argument, or
lacks one. A function that takes any keyword has no use for most: it reads its parameters, those of its ``mod_watch``,
what its documentation marks as ``code``, and the arguments of the functions that it names there. The run does not
depend on these findings: its rows are Salt's.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from asyncstate.compile.high.declarations import misplaced
from asyncstate.compile.high.verify import UNREADABLE
from asyncstate.errors import FunctionNotFound
from asyncstate.load.call import OPTIONAL_KEYWORDS
from asyncstate.load.plugin import described
from asyncstate.model.chunk import SLOT
from asyncstate.model.requisite import INTERNAL_KEYWORDS, MISTAKEN_IN, REFERENCES
from asyncstate.nearest import did_you_mean, near_miss, nearest
from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.low.lowstate import Draft
    from asyncstate.load.loader import LazyLoader
    from asyncstate.load.plugin import Expected, LoadedFunction, LoadedModule

UNKNOWN_FUNCTION = "E401"
UNKNOWN_ARGUMENT = "E402"
MISSING_ARGUMENT = "E403"
PROBABLE_ARGUMENT = "E404"
ARGUMENT_TYPE = "E405"
REQUISITE_WORD = "E406"

_REQUISITE_WORDS = frozenset(REFERENCES) - {"prerequired"}
_COMMON = (
    _REQUISITE_WORDS
    | {"name", "names", "onfail_stop", "timeout", "aggregate"}
    | frozenset(word for word in INTERNAL_KEYWORDS if not word.startswith("__"))
) - {"state", "fun", "prerequired"}
"""Arguments that any state may have."""

_LONG_COMMON = frozenset(word for word in _COMMON if len(word) > 4)
"""The longer of them: of a short one, a changed letter makes another word (``user`` does not mean ``use``)."""

_SYNONYMS = {"owner": "user", "packages": "pkgs", "permissions": "mode", "src": "source", "user": "runas"}
"""Words of other tools, and of other functions, that do not resemble the argument that they mean."""

_MARKED = lazy_pattern(r"``(\w+)(?:: [^`]*)?``|^:?(\w+)$|^:param (?:\w+ )?(\w+):", re.MULTILINE)
"""An argument in a docstring: as code, in a line of its own (as in Salt's), or as a field."""

_NAMED = lazy_pattern(r"``(\w+\.\w+)``")
"""A function in a docstring that gets the keywords."""

_ANY = "``**kwargs``"
"""The mark of a bundled function that takes keywords of any name, in its docstring."""

_OTHER_TEMPLATES = lazy_pattern(r"\{%[-+]?\s*(?:include|import|from|extends)\b")

PASSING_ON = frozenset({"event", "module", "stateconf"})
"""Modules whose functions pass on all arguments, under names that the tree chooses."""

_GIVEN = frozenset({"name", "fun", "state", "order", "__id__", "__sls__", "__env__"})
"""Keys of low data that no SLS has to write."""

_BRINGERS = frozenset({"pkg", "pip", "virtualenv", "cmd", "archive", "git", "module", "saltutil"})
"""Modules whose states may install a program or library that another module needs to load."""
_PUTS_FILES = frozenset({"managed", "recurse", "copy", "symlink", "hardlink", "rename", "serialize"})
"""The ``file`` states that can put a module where the run loads it from."""


class _Taken(Value):
    """The arguments of one function, as sets to compare with; ``anything``: it takes any keyword."""

    function: LoadedFunction
    names: frozenset[str]
    accepted: frozenset[str]
    required: frozenset[str]
    anything: bool
    expected: dict[str, Expected]
    shapes: dict[str, frozenset[type | None]]

    @classmethod
    def by(cls, function: LoadedFunction) -> _Taken:
        signature = function.signature
        names = frozenset(signature.names)
        expected = signature.expected
        return cls(
            function,
            names,
            names | INTERNAL_KEYWORDS | OPTIONAL_KEYWORDS | ({"saltenv"} if signature.has_kwargs else set()),
            frozenset((*signature.required, *signature.required_keywords)) - _GIVEN,
            signature.has_kwargs,
            expected,
            {name: frozenset({*annotation.shapes(), None}) for name, annotation in expected.items()},
        )


class Misspelt(Value):
    """A keyword that a function which takes any drops, and ``near``, the argument that it resembles."""

    argument: str
    function: str
    near: str
    complete: bool

    @property
    def message(self) -> str:
        """Return the sentence without its place."""
        whole = "" if self.complete else ", which takes any keyword"
        return f"'{self.argument}' is no argument of '{self.function}'{whole}"

    @property
    def hint(self) -> str:
        """Return the suggestion, "" if nothing is near."""
        return did_you_mean(self.near)


class _Keywords(Value):
    """The keywords that a function reads; if they are not ``all``, it may read others, too."""

    names: frozenset[str]
    all: bool

    @classmethod
    def of(cls, function: LoadedFunction, find: Callable[[str], Iterable[LoadedFunction]]) -> _Keywords:
        module, doc = function.module, function.doc
        named = [other for name in _NAMED.findall(doc) for other in find(name) if other is not function]
        names = {*function.signature.names, *_marked(doc)}
        for other in (*named, *filter(None, [module.functions.get("mod_watch")])):
            names |= {*other.signature.names, *_marked(other.doc)}
        if not module.bundled:
            names |= {each for each in _constants(function) if isinstance(each, str)}
        open_ = [other for other in named if other.signature.has_kwargs and not _is_closed(other)]
        return cls(frozenset(names), _is_closed(function) and not open_)


def _is_closed(function: LoadedFunction) -> bool:
    """Return whether the documentation of a function has all keywords that it reads."""
    return function.module.bundled and _ANY not in function.doc


def _marked(doc: str) -> list[str]:
    return [next(filter(None, found)) for found in _MARKED.findall(doc)]


def _sibling_with(argument: str, function: LoadedFunction) -> str:
    """Return another state of the module that has an argument: where a template chooses between them, both get it."""
    states = ((name, each) for name, each in function.module.functions.items() if not name.startswith("mod_"))
    return next((f"{function.module.name}.{name}" for name, each in states if argument in each.signature.names), "")


def _constants(function: LoadedFunction) -> tuple[Any, ...]:
    code = getattr(inspect.unwrap(function.func), "__code__", None)
    return () if code is None else tuple(code.co_consts)


def _shape(value: Any) -> type | None:
    if isinstance(value, str) or value is None:
        return None if value is None or value.startswith(SLOT) else object
    return dict if isinstance(value, dict) else list if isinstance(value, (list, tuple)) else object


def check_arguments(
    drafts: Sequence[Draft],
    functions: LazyLoader,
    findings: Findings,
    *,
    modules: LazyLoader | None = None,
    used_by: Callable[[Draft], tuple[str, bool]],
) -> list[Misspelt]:
    """Record what is wrong with the function and the arguments of every draft; return the misspelt keywords.

    ``used_by(draft)`` returns the text of the templates that use the keywords of a draft as variables, and whether it
    is all. ``modules`` are the execution functions, to which states may pass keywords.
    """
    checker = _Checker(functions, modules, findings, used_by)
    checker.writer = writer_of(drafts, functions)
    checker.bringers = not _BRINGERS.isdisjoint(draft.state for draft in drafts)
    known = checker.known
    for draft in drafts:
        if draft.fun == UNREADABLE:
            continue
        name = f"{draft.state}.{draft.fun}"
        taken = known[name] if name in known else checker.look_up(name)
        if taken is None:
            checker.no_function(draft, name)
        elif not (draft.args.keys() <= taken.accepted and taken.required <= draft.args.keys()):
            checker.arguments(draft, name, taken)
        if taken is not None and taken.shapes:
            for key in draft.args.keys() & taken.shapes.keys():
                value, expected = draft.args[key], taken.expected[key]
                nothing = not value and key in taken.required and expected.is_none(value)
                if (
                    nothing
                    or _shape(value) not in taken.shapes[key]
                    or (value is True and not expected.fits(value))
                    or (isinstance(value, (list, dict)) and not expected.works(value))
                ):
                    checker.shape(draft, name, key, expected, nothing=nothing)
    return checker.misspelt


def writer_of(drafts: Sequence[Draft], functions: LazyLoader) -> str:
    """Return the ID of a state that may write a module which the run then loads; "" if there is none."""
    puts = (draft for draft in drafts if draft.state == "file" and draft.fun in _PUTS_FILES)
    return next((draft.id for draft in puts if functions.has_place_for(draft.name)), "")


class _Checker:
    """Checks one draft at a time; reports the same mistake at the same place once."""

    def __init__(
        self,
        functions: LazyLoader,
        modules: LazyLoader | None,
        findings: Findings,
        used_by: Callable[[Draft], tuple[str, bool]],
    ) -> None:
        self._functions = functions
        self._modules = modules
        self._findings = findings
        self._used_by = used_by
        self._keywords: dict[str, _Keywords] = {}
        self._noted: set[tuple[Any, ...]] = set()
        self.known: dict[str, _Taken | None] = {}
        self.misspelt: list[Misspelt] = []
        self.bringers = False
        self.writer = ""

    def look_up(self, name: str) -> _Taken | None:
        """Return what a function takes, None if it does not exist; the answer is cached."""
        function = self._functions.find(name)
        if function is None and self.bringers:
            function = self._later(name)
        taken = self.known[name] = None if function is None else _Taken.by(function)
        return taken

    def no_function(self, draft: Draft, name: str) -> None:
        """Report a missing function, unless its module exists and may load once part of the tree was applied."""
        module = self._functions.refused(draft.state) if self.bringers else None
        if module is not None and not module.functions:
            return
        reason, hint = _missing(self._functions, name) if module is None else ("", _nearest_of(module, draft.fun))
        message = f"State '{name}' was not found in SLS '{draft.sls}' (ID '{draft.id}')"
        if self.writer and module is None and self._functions.module(draft.state) is None:
            hint = f"whether ID '{self.writer}', which writes a module, brings it cannot be told before that has run"
            self._note(UNKNOWN_FUNCTION, draft, None, message, hint, mistake=False)
            return
        self._note(UNKNOWN_FUNCTION, draft, None, message, "\n".join(filter(None, (reason, hint))), mistake=True)

    def _later(self, name: str) -> LoadedFunction | None:
        """Return a function of a module that may load once part of the tree was applied."""
        state, _, fun = name.partition(".")
        module = self._functions.refused(state)
        return module.functions.get(fun) if module is not None else None

    def arguments(self, draft: Draft, name: str, taken: _Taken) -> None:
        """Report arguments that a call lacks or that its function does not take."""
        for key in sorted(taken.required - draft.args.keys()):
            if (draft.state, key) in self._findings.misdirected:
                continue
            message = f"Missing parameter {key} for state {name} (ID '{draft.id}' in SLS '{draft.sls}')"
            self._note(MISSING_ARGUMENT, draft, None, message, f"what it means: asyncstate doc {name}", mistake=True)
        for key in [key for key in draft.args if key not in taken.accepted and isinstance(key, str)]:
            if not key.startswith("__"):
                self._argument(draft, name, taken, key)
        for key in [key for key in draft.args if not isinstance(key, str)]:
            message = (
                f"{key!r} is not text, so '{name}' cannot take it as an argument (ID '{draft.id}' in SLS '{draft.sls}')"
            )
            hint = "put its name in quotes: YAML reads numbers, on, off, yes and no as other values"
            self._note(UNKNOWN_ARGUMENT, draft, str(key), message, hint, mistake=True)

    def shape(self, draft: Draft, name: str, key: str, expected: Expected, *, nothing: bool) -> None:
        """Report an argument that is a list, a mapping, True, ``nothing`` or none of them, against the annotation."""
        where = f"ID '{draft.id}' in SLS '{draft.sls}'"
        value = draft.args[key]
        message = f"'{key}' of '{name}' must be {expected}, not {described(value)} ({where})"
        shapes = expected.shapes()
        if nothing:
            hint = f"what it means: asyncstate doc {name}"
        elif value is True:
            hint = "YAML reads yes and on as True: put a text in quotes"
        elif isinstance(value, (list, tuple, dict)):
            hint = "write 'key: value' in lines of their own, without '- '" if dict in shapes else ""
            hint = hint or "write one value behind the colon, in the same line"
        else:
            hint = (
                "write each value in a line of its own behind '- '" if list in shapes else "write 'key: value' below it"
            )
        self._note(ARGUMENT_TYPE, draft, key, message, hint, mistake=nothing or not expected.works(value))

    def _argument(self, draft: Draft, name: str, taken: _Taken, key: str) -> None:
        where = f"ID '{draft.id}' in SLS '{draft.sls}'"
        word = _requisite_meant_by(key)
        if word and _refers(draft.args[key]) and not near_miss(key, taken.names):
            message = f"'{key}' ({where}) is no requisite: '{name}' gets it as an argument"
            self._note(REQUISITE_WORD, draft, key, message, did_you_mean(word), mistake=True)
        elif not taken.anything:
            message = f"'{key}' is an invalid keyword argument for '{name}' ({where})"
            synonym = _SYNONYMS.get(key, "")
            near = near_miss(key, taken.names) or (synonym if synonym in taken.names else "")
            hint = did_you_mean(near) or misplaced(key)
            hint = hint or did_you_mean(nearest(key, [*sorted(taken.names), *sorted(_COMMON)]))
            hint = hint or f"remove it; asyncstate doc {name} lists all arguments"
            self._note(UNKNOWN_ARGUMENT, draft, key, message, hint, mistake=True)
        elif key not in MISTAKEN_IN and draft.state not in PASSING_ON:
            self._keyword(draft, name, taken, key, where)

    def _keyword(self, draft: Draft, name: str, taken: _Taken, key: str, where: str) -> None:
        """Report a keyword that a function which takes any has no use for, unless a template may use it.

        What ``use`` copies may mean something to the other function only, whose own keywords are checked.
        """
        if (draft.id, draft.state, key) in self._findings.copied:
            return
        if name not in self._keywords:
            self._keywords[name] = _Keywords.of(taken.function, self._find)
        known, complete = self._keywords[name].names, self._keywords[name].all
        if key in known:
            return
        near = near_miss(key, taken.names) or near_miss(key, known | _LONG_COMMON)
        if not near and not complete:
            return
        if draft.args.get("template") or not complete:
            text, whole = self._used_by(draft)
            whole = whole and not _OTHER_TEMPLATES.search(text)
            if re.search(rf"\b{re.escape(key)}\b", text) or not (near or whole):
                return
        sibling = ""
        if not near:
            synonym = _SYNONYMS.get(key, "")
            near = synonym if synonym in known else next((each for each in sorted(known) if key in each.split("_")), "")
            sibling = "" if near else _sibling_with(key, taken.function)
        misspelt = Misspelt(key, name, near, complete)
        if near:
            self.misspelt.append(misspelt)
        hint = misspelt.hint or misplaced(key) or f"remove it; asyncstate doc {name} lists all arguments"
        hint = f"'{sibling}' has it; here it has no effect" if sibling else hint
        self._note(PROBABLE_ARGUMENT, draft, key, f"{misspelt.message} ({where})", hint, mistake=not sibling)

    def _find(self, name: str) -> Iterator[LoadedFunction]:
        """Yield the state and the execution function of a name."""
        for functions in filter(None, [self._functions, self._modules]):
            function = functions.find(name)
            if function is not None:
                yield function

    def _note(self, code: str, draft: Draft, argument: str | None, message: str, hint: str, *, mistake: bool) -> None:
        line = draft.line_of(argument)
        # All states that one line of a loop declares have the same mistake: only the first is reported.
        key = (code, draft.file, line, draft.state, draft.fun, argument) if line else (code, message)
        if key not in self._noted:
            self._noted.add(key)
            self._findings.noted(code, message, draft.file, line, hint, mistake=mistake)


def _missing(functions: LazyLoader, name: str) -> tuple[str, str]:
    try:
        functions.get(name)
    except FunctionNotFound as error:
        if not error.reason.endswith("is not available."):
            return error.reason, did_you_mean(error.suggestion)
        state = name.partition(".")[0]
        nothing = f"there is no state module '{state}' here; one of your own belongs into _states of a file root, "
        nothing += "and Salt's own are borrowed where Salt is installed (salt_python)"
        known = functions.module(state) is not None
        return "", misplaced(state) or did_you_mean(error.suggestion) or ("" if known else nothing)
    return "", ""


def _nearest_of(module: LoadedModule, fun: str) -> str:
    near = nearest(fun, [name for name in module.functions if not name.startswith("mod_")])
    return did_you_mean(f"{module.name}.{near}" if near else "")


def _requisite_meant_by(key: str) -> str:
    """Return the requisite that a key probably means: misspelt, or ``watches``, ``require-in``, ``on_changes``."""
    plain = key.replace("-", "_").removesuffix("es")
    return plain if plain in _REQUISITE_WORDS else near_miss(key, _REQUISITE_WORDS)


def _refers(value: Any) -> bool:
    """Return whether a value has the form of a list of requisites."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, str) or (isinstance(item, dict) and len(item) == 1) for item in value)
    )
