import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.layout.text import lines, width


@pytest.mark.parametrize(
    ("text", "ems"),
    [("", 0), ("iiii", 1.12), ("WWWW", 3.96), ("日本", 2), ("é", 0.62), ("e\u0301", 0.62), ("Ж", 1.1), ("🚀", 1.3)],
)
def test_wide_and_narrow_characters(text, ems):
    assert width(text) == pytest.approx(ems)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=80), st.floats(2, 30))
def test_lines_have_the_whole_text_and_fit(text, longest):
    found = lines(text, longest)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(width(line) <= longest for line in found)


def test_lines_break_between_words_then_after_punctuation_then_anywhere():
    assert lines("file.managed: web (/etc/nginx/nginx.conf)", 10.5) == [
        "file.managed: web",
        "(/etc/nginx/nginx.",
        "conf)",
    ]
    assert lines("w" * 10, 5) == ["wwwwww", "wwww"]
