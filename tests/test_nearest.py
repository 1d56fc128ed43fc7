from hypothesis import given
from hypothesis import strategies as st

from asyncstate.nearest import near_miss, nearest, nearest_id, slips

WORDS = st.text(alphabet="abcde_", max_size=9)


@given(WORDS, WORDS)
def test_slips_are_a_distance(one, other):
    assert slips(one, other, 99) == slips(other, one, 99)
    assert (slips(one, other, 99) == 0) == (one == other)
    assert slips(one, other, 3) == min(3, slips(one, other, 99))


@given(st.text(alphabet="abcde", min_size=4, max_size=9), st.data())
def test_one_slip_of_any_kind_is_a_near_miss(word, data):
    at = data.draw(st.integers(0, len(word) - 2))
    for slip in (
        word[:at] + word[at + 1 :],
        word[:at] + "z" + word[at:],
        word[: at + 1] + "z" + word[at + 2 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    ):
        assert near_miss(slip, [word]) == ("" if slip == word else word)


@given(st.lists(st.text("0123456789abcdef", min_size=16, max_size=16), min_size=1), st.text(max_size=7))
def test_what_is_too_short_for_a_mistyped_id_has_none_near(ids, given):
    assert nearest_id(given, ids) == ""


def test_a_mistyped_id_or_beginning_of_one_is_near():
    ids = ["2643036907d3e9d1", "9f00aa5512345678"]
    assert nearest_id("2643036907d3e9d7", ids) == nearest_id("2634036907", ids) == ids[0]
    assert nearest_id("something", ids) == nearest_id("99999999", ids) == ""


def test_what_was_meant():
    known = ["contents", "context", "cwd", "name", "version", "shell", "source", "sources", "mode"]
    meant = {"contnts": "contents", "cdw": "cwd", "nmae": "name", "verson": "version", "shel": "shell"}
    assert {word: near_miss(word, known) for word in meant} == meant
    assert (
        near_miss("node", known)
        == near_miss("watch", ["match"])
        == near_miss("source", known)
        == near_miss("port", known)
        == near_miss("md", known)
        == ""
    )
    assert near_miss("content", known) == "contents"
    assert nearest("content_s", known) == "contents"
    assert nearest("src_hash", ["source_hash", "mode"]) == "source_hash"
    assert nearest("zzz", known) == ""
