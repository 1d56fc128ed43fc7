from asyncstate.compile.high.declarations import exclusion, fits_nothing


def test_what_a_command_line_excludes():
    assert exclusion("web") == "web"
    assert exclusion("sls:web") == {"sls": "web"}
    assert exclusion("id:a:b") == {"id": "a:b"}
    assert exclusion("other:x") == "other:x"
    assert exclusion({"id": "x"}) == {"id": "x"}
    assert fits_nothing("id:x", typed=True) == fits_nothing({"id": "x"}) != fits_nothing("id:x")
