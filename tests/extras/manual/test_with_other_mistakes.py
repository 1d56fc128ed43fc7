"""Wrong values are reported with all other mistakes of a tree."""

from __future__ import annotations

import pytest
from mistakes import MISTAKES, VALUES, codes_in


@pytest.fixture
def codes(tmp_path):
    """Return the codes of the mistakes of a text."""
    with codes_in(tmp_path) as look:
        yield look


@pytest.mark.parametrize("first", VALUES)
def test_no_mistake_hides_another_one(codes, first):
    assert codes(VALUES[first]) == {first}
    for other, text in (MISTAKES | VALUES).items():
        assert codes(VALUES[first] + text if other != first else text) == {first, other}
    assert codes("".join((MISTAKES | VALUES).values())) == {*MISTAKES, *VALUES}


def test_nothing_is_said_of_what_a_file_that_does_not_render_may_declare(codes, tmp_path):
    (tmp_path / "b.sls").write_text("{% if %}")
    assert codes(MISTAKES["E305"] + MISTAKES["E217"] + VALUES["E410"], "b") == {"E104", "E410"}


def test_mistakes_of_every_state_with_one_id_are_reported(codes, tmp_path):
    (tmp_path / "b.sls").write_text("same:\n  file.absent:\n    - name: relative\n")
    (tmp_path / "c.sls").write_text("same:\n  cmd.run:\n    - timeout: long\n    - require: {}\n")
    text = "include: [c]\nsame:\n  file.managed:\n    - name: /x\n    - mode: rwx\n"
    assert codes(text, "b") == {"E210", "E410", "E411", "E418", "E301"}
