"""Scenarios for package managers with the expected results: played with the real program, and from its transcript.

``python tests/support/record_transcripts.py`` plays them with the real programs (`.ci/platform-tools` brings those) and keeps
what each command answered; the default suite plays them again from that.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from interface_classes import bundled_interfaces

from asyncstate.interfaces import functions_of
from asyncstate.interfaces.conformance import mismatches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRANSCRIPTS = Path(__file__).parents[1] / "recorded" / "transcripts"


class Package(NamedTuple):
    """A package is put into the repository."""

    name: str
    version: str
    fields: Mapping[str, str] = MappingProxyType({})


class Call(NamedTuple):
    """An execution function is called."""

    function: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    expected: Any


class State(NamedTuple):
    """A state function is called; ``expected``: result, changes, comment ("…" for any)."""

    function: str
    kwargs: dict[str, Any]
    expected: tuple[bool | None, dict[str, Any], str]


Scenario = list[Package | Call | State]


def call(function: str, *args: Any, expected: Any, **kwargs: Any) -> Call:
    return Call(f"pkg.{function}", args, kwargs, expected)


def state(function: str, result: bool | None, changes: dict[str, Any], comment: str, **kwargs: Any) -> State:
    return State(f"pkg.{function}", kwargs, (result, changes, comment))


def _change(old: str, new: str) -> dict[str, Any]:
    return {"sun": {"old": old, "new": new}}


_DONE = "The following packages were installed/updated: sun"
_THERE = "All specified packages are already installed"

RPM: Scenario = [
    Package("sky", "1.0"),
    Package("sun", "1.0"),
    call("install", "sky", refresh=True, expected={"sky": {"old": "", "new": "1.0-1"}}),
    state("installed", None, _change("", "1.0-1"), "…", name="sun", test=True, refresh=False),
    state("installed", True, _change("", "1.0-1"), _DONE, name="sun", refresh=False),
    state("installed", True, {}, f"{_THERE}", name="sun", refresh=False),
    state("installed", True, {}, f"{_THERE} and are at the desired version", name="sun", version="1.0", refresh=False),
    call("version", "sun", expected="1.0-1"),
    Package("sun", "1.5"),
    Package("sun", "2.0"),
    call("latest_version", "sun", refresh=True, expected="2.0-1"),
    call("upgrade_available", "sun", refresh=False, expected=True),
    call("list_repo_pkgs", "sun", expected={"sun": ["2.0-1", "1.5-1", "1.0-1"]}),
    call("list_upgrades", refresh=False, expected={"sun": "2.0-1"}),
    state("installed", True, _change("1.0-1", "1.5-1"), "…", name="sun", version=">1.0,<2", refresh=False),
    state("held", True, "hold", "Package sun is now being held", name="sun"),
    state("held", True, {}, "No changes made", name="sun"),
    call("upgrade", refresh=False, expected={}),
    state("unheld", True, "unhold", "Package sun is no longer held.", name="sun"),
    state("latest", True, _change("1.5-1", "2.0-1"), "…", name="sun", refresh=False),
    state("latest", True, {}, "Package sun is already up-to-date", name="sun", refresh=False),
    state("installed", True, _change("2.0-1", "1.0-1"), "…", name="sun", version="1.0", refresh=False),
    state("installed", False, {}, "…", name="nosuch", refresh=False),
    call("owner", "/usr/share/sun/version", expected="sun"),
    call("list_pkgs", expected={"sky": "1.0-1", "sun": "1.0-1"}),
    state("removed", None, _change("", "removed"), "The following packages will be removed: sun.", name="sun", test=True),
    state("removed", True, _change("1.0-1", ""), "All targeted packages were removed.", name="sun"),
    state("removed", True, {}, "All specified packages are already absent", name="sun"),
]  # fmt: skip

PACMAN: Scenario = [
    Package("sun", "1.0-1"),
    call("refresh_db", expected={"scratch": True}),
    state("installed", None, _change("", "1.0-1"), "…", name="sun", test=True),
    state("installed", True, _change("", "1.0-1"), _DONE, name="sun", refresh=False),
    state("installed", True, {}, _THERE, name="sun", refresh=False),
    Package("sun", "2.0-1"),
    call("latest_version", "sun", refresh=True, expected="2.0-1"),
    call("list_repo_pkgs", "s*", byrepo=True, expected={"scratch": {"sun": ["2.0-1"]}}),
    call("list_upgrades", expected={"sun": "2.0-1"}),
    state("latest", True, _change("1.0-1", "2.0-1"), "…", name="sun", refresh=False),
    state("installed", True, {}, f"{_THERE} and are at the desired version", name="sun", version="2.*", refresh=False),
    state("installed", False, {}, "…", name="nosuch", refresh=False),
    state("held", False, {}, "…", name="sun"),
    call("autoremove", list_only=True, expected=[]),
    state("removed", True, _change("2.0-1", ""), "All targeted packages were removed.", name="sun"),
    state("removed", True, {}, "All specified packages are already absent", name="sun"),
    call("list_pkgs", expected={}),
]

ZYPPER = [
    step
    if step != state("installed", False, {}, "…", name="nosuch", refresh=False)
    else state(
        "installed",
        False,
        {},
        "An error was encountered while installing package(s): Zypper command failure: "
        "Package 'nosuch' not found.Loading repository data...\nReading installed packages...",
        name="nosuch",
        refresh=False,
    )
    for step in RPM
]

SCENARIOS: dict[str, Scenario] = {"yumpkg": RPM, "zypperpkg": ZYPPER, "pacmanpkg": PACMAN}


def play(scenario: Scenario, harness: Any, package: Callable[..., Any] | None = None) -> None:
    """Do all of a scenario, and compare. ``package`` puts a package into the repository."""
    for number, step in enumerate(scenario):
        where = f"step {number}: {step}"
        if isinstance(step, Package):
            if package is not None:
                package(step.name, step.version, **step.fields)
        elif isinstance(step, Call):
            value = harness.call(step.function, *step.args, **step.kwargs)
            assert value == step.expected, where
            assert mismatches(declared_structure(step), value) == [], where
        else:
            row = harness.state(step.function, **step.kwargs)
            result, changes, comment = step.expected
            assert row["result"] is result, (where, row)
            assert comment in {"…", row["comment"]}, (where, row)
            if isinstance(changes, str):
                changes = {"sun": row["changes"].get("sun")}
                assert row["changes"]["sun"]["changes"]["new" if step.function == "pkg.held" else "old"] == "hold", row
            assert row["changes"] == changes, (where, row)


def declared_structure(step: Call) -> Any:
    """What the interface says that this call returns at least."""
    virtual, _, function = step.function.partition(".")
    return functions_of(bundled_interfaces()[virtual](virtual))[function].structure(*step.args, **step.kwargs)


class Recorder:
    """Wraps a ``cmd.run_all`` and keeps what each command answered; ``places`` are paths by the word to keep for them."""

    def __init__(self, run_all: Callable[..., dict[str, Any]], places: dict[str, str]) -> None:
        self._run_all = run_all
        self._places = places
        self.entries: list[dict[str, Any]] = []

    def __call__(self, command: list[str], **options: Any) -> dict[str, Any]:
        answer = self._run_all(command, **options)
        entry = {"command": list(command), **{key: answer[key] for key in ("retcode", "stdout", "stderr")}}
        text = json.dumps(entry)
        for path, word in self._places.items():
            text = text.replace(path, word)
        self.entries.append(json.loads(text))
        return answer

    def save(self, name: str) -> None:
        TRANSCRIPTS.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in self.entries)
        (TRANSCRIPTS / f"{name}.json").write_text(f"[\n{lines}\n]\n")


class Player:
    """A ``cmd.run_all`` that knows only a transcript: the same commands, in the same order."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self.left = list(entries)

    def __call__(self, command: list[str], **_: Any) -> dict[str, Any]:
        assert self.left, f"{command} is not in the transcript any more"
        entry = self.left.pop(0)
        assert entry["command"] == list(command), f"the transcript goes on with {entry['command']}, not {command}"
        return {"pid": 1, **{key: entry[key] for key in ("retcode", "stdout", "stderr")}}

    @classmethod
    def of(cls, name: str) -> Player:
        """The transcript of a provider."""
        return cls(json.loads((TRANSCRIPTS / f"{name}.json").read_text()))
