"""Changes of an editor's texts."""

import asyncio

import pytest
from editor import editor
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from asyncstate.extras.editor.texts import changed_text, whole
from asyncstate.extras.editor.tree import Roots, Tree

CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
TEXTS = st.text(st.sampled_from("ab \n\r\t\u00e9\U0001f600\u2028\u0085\x0b\x0c\x1e"), max_size=20)


def position(text, offset, encoding):
    """Return where an editor says that an offset is."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    codec, size = CODECS[encoding]
    return types.Position(before.count("\n"), len(before.rpartition("\n")[2].encode(codec)) // size)


@given(st.data(), TEXTS, st.sampled_from([*CODECS]))
def test_a_text_is_that_of_the_editor_after_each_change(data, text, encoding):
    changes = []
    wanted = text
    for new in data.draw(st.lists(TEXTS, max_size=4)):
        inside = [at for at in range(len(wanted) + 1) if wanted[at - 1 : at + 1] != "\r\n"]
        start, end = sorted(data.draw(st.tuples(st.sampled_from(inside), st.sampled_from(inside))))
        place = types.Range(position(wanted, start, encoding), position(wanted, end, encoding))
        changes.append(types.TextDocumentContentChangePartial(place, new))
        wanted = wanted[:start] + new + wanted[end:]
    assert changed_text(text, changes, encoding) == wanted


def test_places_beyond_a_text_are_its_end():
    far = types.Position(9, 9)
    assert (
        changed_text("a\nb", [types.TextDocumentContentChangePartial(types.Range(far, far), "c")], "utf-16") == "a\nbc"
    )
    behind = types.Position(0, 9)
    change = types.TextDocumentContentChangePartial(types.Range(behind, behind), "c")
    assert changed_text("a\nb", [change], "utf-16") == "ac\nb"
    assert changed_text("a\nb", [types.TextDocumentContentChangeWholeDocument("new")], "utf-16") == "new"


def test_half_a_character_is_replaced():
    assert whole("a\ud83d\u00e9") == "a\ufffd\u00e9"
    assert whole("\U0001f600") == "\U0001f600"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_the_mark_of_an_encoding_are_no_part_of_a_word(end):
    tree = Tree(Roots({"base": ("/s",)}, {}), {}, {}, {}, {})
    tree.edited("/s/a.sls", f"\ufeffx:{end}  test.nop: []{end}")
    [declared] = tree.files["/s/a.sls"].found.declarations
    assert (declared.id.text, declared.id.place, declared.states[0].place.line) == ("x", (0, 0, 1), 1)


async def test_a_server_has_the_text_of_its_editor(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt/top.sls").write_text("base:\n  '*':\n    - web\n")
    (tmp_path / "salt/web.sls").write_text("")
    text = "{# \u2028 \x0c #}\r\na:\r\n  user.absent:\r\n    - name: \U0001f600\r\n"
    async with editor(tmp_path, state=tmp_path) as it, asyncio.timeout(60):
        it.open("salt/web.sls", text)
        for before, new in (("\U0001f600\r\n", "    - bogus: \U0001f600\ud83d\r\n"), ("    - bog", "X")):
            it.insert("salt/web.sls", before, new)
        found = await it.diagnostics(
            "salt/web.sls", until=lambda found: any("bogXus" in each.message for each in found)
        )
        place = next(each.range for each in found if "bogXus" in each.message)
        assert (place.start, place.end.line) == (types.Position(4, len("    - ")), 4)
