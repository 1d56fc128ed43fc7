"""Commands of extras show no secret, and write nothing that controls a terminal."""

from __future__ import annotations

import pytest
from tables import rows

from tests.guarantees.test_canary import BROKEN, FORMS, HUSHED, PASSWORD, asyncstate  # noqa: F401 - a fixture
from tests.guarantees.test_terminal import COLOUR, CONTROL, run  # noqa: F401 - a fixture

SHOWN = [
    *(("show", "graph", "--format", form) for form in ("dot", "mermaid", "html", "json")),
    *(("show", "aggregate", "--out", form) for form in FORMS),
    *(("show", "impact", "named", "--out", form) for form in FORMS),
    ("show", "impact", "quiet"),
    *(("explain", wanted, "--out", form) for form in FORMS for wanted in ("named", "quiet", "quiet-too", "requires")),
    ("explain", PASSWORD),
    ("explain", "nothing like it"),
    *(("lint", "--out", form) for form in FORMS),
    ("doc", "probe"),
    ("doc", "--why"),
    ("smi", "check"),
]
LINES = [
    "apply a --report NAME/x",
    "show graph evil",
    "show graph evil --format mermaid",
    "lint evil",
    "explain NAME evil",
    "explain a evil",
    "show impact NAME evil",
    "show diff NAME",
    "show diff run:NAME",
    "show aggregate evil",
    "doc NAME",
    "doc evil.said",
    "doc evil",
    "what-if NAME",
    "smi show NAME",
    "schema NAME",
    "completion NAME",
    "footprints show NAME",
    "salt-call NAME",
    "salt-call --local evil.said",
    "salt-call --local evil.raised",
    "salt-call --local evil.refused",
    "salt-call --local test.echo NAME",
    "salt-call --local state.apply NAME",
    "salt-call --local state.apply evil",
    "salt-call --local sys.doc evil.said",
    "salt-call --local --NAME",
]


@rows("words", SHOWN)
def test_no_command_shows_a_secret(asyncstate, words):  # noqa: F811
    asyncstate(*words)


def test_a_patch_shows_what_is_written_in_the_file_and_no_more(asyncstate):  # noqa: F811
    asyncstate("lint", "--fix-diff", but=HUSHED)


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("words", [("check",), ("lint",)], ids=" ".join)
def test_no_compile_error_shows_a_secret(asyncstate, name, words):  # noqa: F811
    code, _, errors = asyncstate(*words, name, "--debug")
    assert code in {0, 1}, errors


@pytest.mark.parametrize("line", LINES)
def test_no_command_writes_what_controls_a_terminal(line, run, monkeypatch):  # noqa: F811
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = run(line.replace("salt-call --local", "salt-call --local --force-color"))
    for text in (done.stdout, done.stderr):
        assert not CONTROL.search(COLOUR.sub("", text)), ascii(text)
    assert "Traceback" not in done.stderr
