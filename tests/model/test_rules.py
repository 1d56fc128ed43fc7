import pytest

from asyncstate.model.rules import RULES, Silenced

SLS = """\
# asyncstate: ignore-file[self]
first:
  file.managed:
    - name: /x
    - contnts: x
# asyncstate: ignore[tree, unknown-effects]
# a word more
second:
  cmd.run:  # asyncstate: ignore[definition-order]
    # asyncstate: ignore
    - cdw: /
    - name: x
  {# asyncstate: ignore[footprint-order] #}
  file.absent:
    - name: y
third:
  {% if true %}
  file.managed:
    - mode: 1
  {% endif %}
"""
FIRST, SECOND, NAME, ABSENT, THIRD = 2, 8, 12, 14, 19


@pytest.mark.parametrize(
    ("line", "silenced"),
    [
        (FIRST, {"self"}),
        (FIRST + 3, {"self"}),
        (SECOND, {"self", "tree", "unknown-effects"}),
        (SECOND + 1, {"self", "tree", "unknown-effects", "definition-order"}),
        (SECOND + 3, set(RULES)),
        (NAME, {"self", "tree", "unknown-effects", "definition-order"}),
        (ABSENT, {"self", "tree", "unknown-effects", "footprint-order"}),
        (ABSENT + 1, {"self", "tree", "unknown-effects", "footprint-order"}),
        (THIRD, {"self"}),
        (0, {"self"}),
        (999, {"self"}),
    ],
)
def test_a_comment_holds_for_what_it_stands_at_and_all_below(line, silenced):
    comments = Silenced(lambda path: SLS)
    assert {rule for rule in RULES if comments.holds(rule, "/s.sls", line)} == silenced
    assert comments.holds("", "/s.sls", line) == ("tree" in silenced)


def test_a_file_is_read_once_and_need_not_be_there():
    read = []

    def gone(path):
        read.append(path)
        raise FileNotFoundError(path)

    comments = Silenced(gone)
    assert not any(comments.holds("tree", file, 1) for file in ("/a", "/a", ""))
    assert read == ["/a"]
