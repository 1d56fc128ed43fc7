"""All independent mistakes of a tree are reported at once, whatever form each of them has."""

from __future__ import annotations

import pytest
from mistakes import MISTAKES, codes_in


@pytest.fixture
def codes(tmp_path):
    """Return the codes of the mistakes of a text."""
    with codes_in(tmp_path) as look:
        yield look


@pytest.mark.parametrize("first", MISTAKES)
def test_no_mistake_hides_another_one(codes, first):
    assert codes(MISTAKES[first]) == {first}
    for other in (code for code in MISTAKES if code > first):
        assert codes(MISTAKES[first] + MISTAKES[other]) == {other, first}


def test_all_mistakes_are_reported_at_once(codes):
    assert codes("".join(MISTAKES.values())) == {*MISTAKES}


@pytest.mark.parametrize(("given", "found"), [("target", {"E217"}), ("force", {"E217", "E403"})])
def test_what_an_extension_of_no_state_gives_is_not_missing(codes, given, found):
    """Its ID may be misspelt."""
    text = f"extend:\n  requird:\n    file.symlink:\n      - {given}: /x\n{MISTAKES['E403']}"
    assert codes(text) == found


@pytest.mark.parametrize("code", ["E201", "E204", "E205", "E207", "E212", "E302"])
def test_a_reference_to_a_malformed_state_is_no_mistake(codes, code):
    [(id_, rest)] = [MISTAKES[code].split(":", 1)]
    module = rest.split()[0].partition(".")[0]
    text = f"{MISTAKES[code]}after:\n  test.nop:\n    - require:\n      - {module}: '{id_}'\n"
    text += f"before:\n  test.nop:\n    - require_in:\n      - {module}: '{id_}'\n"
    assert codes(text) == {code}


def test_a_reference_to_the_state_that_two_sls_declare_is_no_mistake(codes, tmp_path):
    """Of two states with one ID one is left, and references may mean the other."""
    (tmp_path / "b.sls").write_text("same:\n  file.absent:\n    - name: /tmp/same\n")
    for module in ("test", "file"):
        text = f"same:\n  test.nop: []\nafter:\n  test.nop:\n    - require:\n      - {module}: same\n"
        assert codes(text + MISTAKES["E401"], "b") == {"E210", "E401"}


def test_nothing_is_said_of_what_a_file_that_does_not_render_may_declare(codes, tmp_path):
    (tmp_path / "b.sls").write_text("{% if %}")
    assert codes(MISTAKES["E305"] + MISTAKES["E217"] + MISTAKES["E401"], "b") == {"E104", "E401"}
