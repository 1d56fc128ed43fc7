import hashlib

from memory_files import MemoryFileClient

from asyncstate.sources.fileclient import LocalFileClient, OtherTexts, noted_reads


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_what_is_read_has_a_digest_and_what_is_found_has_none(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)
    client = LocalFileClient({"base": [str(tmp_path)]})
    client.read(str(tmp_path / "a"))
    with noted_reads() as noted:
        assert client.find("c", "base") is None
        client.find("a", "base")
        client.read(client.find("b", "base"))
    assert noted == {str(tmp_path / "a"): "", str(tmp_path / "b"): sha("b")}


def test_the_first_content_counts_and_other_texts_are_noted():
    client = MemoryFileClient({"base": {"a": "on disk", "b": "same"}})
    with noted_reads() as noted:
        OtherTexts(client, {"/memory/base/a": "edited"}).read("/memory/base/a")
        client.read("/memory/base/a")
        client.read("/memory/base/b")
    assert noted == {"/memory/base/a": sha("edited"), "/memory/base/b": sha("same")}
