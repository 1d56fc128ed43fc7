"""Scenarios for package managers, tests/recorded/transcripts/scenarios.yaml: played with the real program, and from its transcript.

``python tests/support/record_transcripts.py`` plays them with the real programs (`.ci/platform-tools` brings those) and keeps
what each command answered; the default suite plays them again from that.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from call_tables import answered, like
from interface_classes import bundled_interfaces

from asyncstate.data.formats import yaml_data
from asyncstate.interfaces import functions_of
from asyncstate.interfaces.conformance import mismatches

if TYPE_CHECKING:
    from collections.abc import Callable

TRANSCRIPTS = Path(__file__).parents[1] / "recorded" / "transcripts"
SCENARIOS: dict[str, list[Any]] = yaml_data((TRANSCRIPTS / "scenarios.yaml").read_text(encoding="utf-8"))


def play(scenario: list[Any], harness: Any, package: Callable[..., Any] | None = None) -> None:
    """Do all of a scenario, and compare. ``package`` puts a package into the repository."""
    for step in scenario:
        if isinstance(step, list):
            play(step, harness, package)
        elif "package" in step:
            if package is not None:
                package(*step["package"])
        else:
            made = answered(harness, None, copy.deepcopy(step))
            assert {key: like(value, made.get(key)) for key, value in step.items()} == made
            if "gives" in step:
                assert mismatches(declared_structure(step), made["gives"]) == [], step


def declared_structure(step: dict[str, Any]) -> Any:
    """What the interface says that this call returns at least."""
    (name, arguments), *_ = step.items()
    virtual, _, function = name.partition(".")
    return functions_of(bundled_interfaces()[virtual](virtual))[function].structure(
        *arguments, **step.get("options", {})
    )


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
