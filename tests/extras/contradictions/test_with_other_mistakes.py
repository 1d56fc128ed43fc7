"""States that undo each other's work are reported with all other mistakes of a tree."""

from __future__ import annotations

import pytest
from mistakes import MISTAKES, codes_in

UNDONE = """\
one:
  file.managed:
    - name: /tmp/c
    - contents: a = 1
other:
  file.replace:
    - name: /tmp/c
    - pattern: a = .*
    - repl: a = 2
"""


@pytest.fixture
def codes(tmp_path):
    """Return the codes of the mistakes of a text."""
    with codes_in(tmp_path) as look:
        yield look


def test_no_mistake_hides_them(codes):
    assert codes(UNDONE) == {"E430"}
    for other, text in MISTAKES.items():
        assert codes(UNDONE + text) == {"E430", other}
    assert codes(UNDONE + "".join(MISTAKES.values())) == {"E430", *MISTAKES}


def test_what_every_cycle_hides_is_reported(codes):
    text = "{% for each in 'ab' %}\n"
    text += "one {{ each }}: {test.nop: [{require: [{sls: a}]}]}\n"
    text += "all {{ each }}: {test.nop: [{require: [{test: 'one*'}]}, {prereq: [{test: before {{ each }}}]}]}\n"
    text += "before {{ each }}: {test.nop: [{require: [{test: all {{ each }}}]}]}\n{% endfor %}\n"
    assert codes(text + UNDONE) == {"E307", "E430"}
