"""Contents of packages, as far as they are certain, as resources for the states of any formula.

A state asks questions, each a resource that it reads. The packages that answer one write it:

    packages:/etc/nginx       which of them has something in /etc/nginx?
    packages:/etc/cron.d/app  which of them may have this file in a folder that many packages share?
    packages:curl             which of them brings the program curl?
    packages:nginx.service    which of them brings this unit?
    packages:user:redis       which of them makes this account?
    packages:next-number      which of them makes accounts, so that another gets the next number?

A package with unknown contents answers by its name: it counts for every file, program or unit of that name.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from asyncstate.data.packages import UNITS, last_name, unit_of
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from asyncstate.data.packages import Brings
    from asyncstate.sources.packages.known import KnownPackages


class About(Enum):
    """The subject of a question.

    Packages may answer for an account that a state needs, for one that it makes, or for the number that one gets.
    """

    PLACE = "place"
    PROGRAM = "program"
    UNIT = "unit"
    ACCOUNT = "account"
    MADE_ACCOUNT = "made account"
    NEXT_NUMBER = "next number"


class Question(Value):
    """A question to packages: ``name`` is a path, program, unit or account, ``place`` the place of a path or unit.

    A path that ends in a slash is a folder that must be there. Without a name, only packages of its formula are asked.
    """

    about: About
    name: str
    place: str = ""

    @classmethod
    def at(cls, path: str, place: str, *, written: bool) -> Question:
        """Return the question who has something at a path, which is in a place."""
        if place == UNITS:
            return cls(About.UNIT, unit_of(path), place)
        return cls(About.PLACE, f"{path}/" if path == place and not written else path.partition("/**")[0], place)


class PackageContents:
    """The packages of a tree, by the states that name them, and the questions they are asked."""

    def __init__(self, knowledge: KnownPackages | None) -> None:
        self._knowledge = knowledge
        self._known: dict[str, Brings | None] = {}
        self._named_by: dict[str, list[int]] = {}
        self._not_plain: set[str] = set()
        self._asked: dict[str, Question] = {}
        self._needed: set[str] = set()

    def __bool__(self) -> bool:
        """Whether there are any packages."""
        return bool(self._named_by)

    def add(self, state: int, packages: Iterable[str], *, plain: bool) -> None:
        """Note that a state, a number, names packages; later numbers run later. ``plain``: it just installs them."""
        for package in packages:
            self._named_by.setdefault(package, []).append(state)
            if not plain:
                self._not_plain.add(package)

    def brings(self, package: str) -> Brings | None:
        """Return what a package brings, or None if that is not known."""
        if package not in self._known:
            self._known[package] = None if self._knowledge is None else self._knowledge.brings(package)
        return self._known[package]

    def is_there(self, package: str) -> bool:
        """Whether a package is known to be installed."""
        brings = self.brings(package)
        return brings is not None and brings.installed

    def ask(self, question: Question, *, needed: bool) -> str:
        """Note a question. Return the resource that stands for the packages that answer it.

        ``needed``: who asks needs the unit or account, so that if no package has a name like it, all answer that
        bring units or accounts.
        """
        if question.about is About.PLACE and not self._in_a_folder_of_many(question):
            question = question.replaced(name=question.place)
        resource = f"packages:{question.name}"
        self._asked.setdefault(resource, question)
        if needed and question.about in {About.UNIT, About.ACCOUNT}:
            self._needed.add(resource)
        return resource

    def _in_a_folder_of_many(self, question: Question) -> bool:
        own = question.name != question.place
        return own and self._knowledge is not None and self._knowledge.of_many(question.place)

    def answers(self) -> dict[int, list[str]]:
        """Return the resources of the questions that each state's packages answer."""
        found: dict[int, list[str]] = {}
        known = [(package, brings) for package in self._named_by if (brings := self.brings(package)) is not None]
        for resource, question in self._asked.items():
            packages = self._answering(question, known)
            if not packages and resource in self._needed:
                packages = [package for package, brings in known if _may_answer(brings, question)]
            for state in dict.fromkeys(state for package in packages for state in self._named_by[package]):
                found.setdefault(state, []).append(resource)
        return found

    def _answering(self, question: Question, known: Iterable[tuple[str, Brings]]) -> list[str]:
        """Return the packages that answer a question for certain; ``known`` are packages with known contents."""
        if question.about is About.NEXT_NUMBER:
            return [each for each in self._named_by if (brings := self.brings(each)) is None or brings.accounts]
        packages = self._first((package, brings) for package, brings in known if _answers(brings, question))
        name = _bare(question)
        return packages + [
            each for each in (name, f"{name}-server") if each in self._named_by and not self.brings(each)
        ]

    def _first(self, packages: Iterable[tuple[str, Brings]]) -> list[str]:
        """Return packages without those that depend on one before them: what they bring of it is there by then."""
        found: list[str] = []
        for package, brings in packages:
            there = brings.packages.intersection(found) - {package}
            if package in self._not_plain or self._not_plain.issuperset(there):
                found.append(package)
        return found


def _answers(brings: Brings, question: Question) -> bool:
    if question.about is About.PROGRAM:
        return brings.runs(question.name)
    if question.about is About.PLACE and question.name == question.place:
        return question.place in brings.places or brings.named(last_name(question.place))
    return _may_answer(brings, question) and brings.named(_bare(question))


def _may_answer(brings: Brings, question: Question) -> bool:
    return question.place in brings.places if question.place else brings.accounts


def _bare(question: Question) -> str:
    """Return a name without its folder, and without what makes it one of a unit or an account."""
    return last_name(question.name).removesuffix(".service").partition("@")[0].rpartition(":")[2]
