import pytest
from messages import said

from asyncstate.data.commands.syntax import (
    BODY,
    NESTED,
    OPERATOR,
    REDIRECTION,
    WILD,
    WORD,
    Unreadable,
    read_script,
)


def words(text):
    return [token.text for token in read_script(text) if token.kind == WORD]


def kinds(text):
    return [token.kind for token in read_script(text)]


def test_plain_words():
    assert words("a b/c --d=e") == ["a", "b/c", "--d=e"]


def test_operators_and_redirections():
    assert kinds("a&&b|c;d>e") == [WORD, OPERATOR, WORD, OPERATOR, WORD, OPERATOR, WORD, REDIRECTION, WORD]


def test_the_number_of_a_descriptor_is_no_word():
    assert words("a 2>b") == ["a", "b"]


def test_scripts_within_come_first():
    assert kinds("a $(b) `c`") == [WORD, NESTED, WORD, NESTED, WORD]


def test_a_here_document_comes_after_its_line():
    assert read_script("a <<X; b\nline\nX\nc")[-2:] == [(BODY, "line"), (WORD, "c")]


def test_what_a_pattern_is():
    assert words("a* [ b[1] '*' \\*")[:3] == [f"a{WILD}", "[", f"b{WILD}1]"]
    assert not any(WILD in word for word in words("'*' \\* \"[a]\""))


@pytest.mark.parametrize(
    ("text", "why", "mark"),
    [
        ("a 'b", "open-quote", "'"),
        ('a "b', "open-quote", '"'),
        ("a $(b", "open-bracket", "("),
        ("a ${b", "open-bracket", "{"),
        ("a <<", "no-end-word", ""),
    ],
)
def test_text_that_does_not_end(text, why, mark):
    with pytest.raises(Unreadable) as caught:
        read_script(text)
    assert str(caught.value) == said(why, mark=mark)


def test_characters_that_stand_for_syntax_are_never_taken_from_the_text():
    assert words("a\ufdd0;") == ["a\ufffd"]
