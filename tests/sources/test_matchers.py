import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from asyncstate.sources.matchers import Matcher

GRAINS = {
    "os": "Debian",
    "num": 4,
    "roles": ["web", "db", {"cache": "redis"}],
    "deep": {"a": {"b": "c:d", "list": ["x", "y"]}, "n": {1: "one"}},
    "ipv4": ["127.0.0.1", "10.1.2.3"],
    "ipv6": ["::1", "fd00::2"],
}
PILLAR = {"app": {"db": {"host": "h1"}, "tier": "Gold*"}}
NODEGROUPS = {
    "web": "G@roles:web and web*",
    "ids": ["web1", "web2"],
    "regex": "web[0-9]",
    "nested": "N@web or N@none",
    "none": "nobody*",
    "either": "nobody* or web1",
    "loop": "N@loop",
    "bad": 5,
}


@pytest.fixture
def matcher():
    return Matcher({"id": "web1", "nodegroups": NODEGROUPS}, GRAINS, PILLAR)


@rows(
    ("kind", "expr", "expected"),
    [
        ("glob", "web*", True),
        ("glob", "WEB*", False),
        ("glob", "db*", False),
        ("glob", 5, False),
        ("pcre", "web[0-9]$", True),
        ("pcre", "eb", False),
        ("pcre", "we(b", False),
        ("list", "x,web1,y", True),
        ("list", "web1", True),
        ("list", "web11,y", False),
        ("list", ["web1"], True),
        ("grain", "os:Debian", True),
        ("grain", "os:deb*", True),
        ("grain", "os:Red*", False),
        ("grain", "os", False),
        ("grain", "num:4", True),
        ("grain", "roles:db", True),
        ("grain", "roles:cache:redis", True),
        ("grain", "deep:a:b:c:d", True),
        ("grain", "deep:a:b", True),
        ("grain", "deep:a:list:y", True),
        ("grain", "deep:n:1:one", True),
        ("grain", "deep:*:b:c:d", True),
        ("grain", "deep:zzz", False),
        ("grain", "gone:*", False),
        ("grain_pcre", "os:(deb|red)", True),
        ("grain_pcre", "os:bian", False),
        ("grain_pcre", "os:(", False),
        ("pillar", "app:db:host:h*", True),
        ("pillar", "app:tier:gold", False),
        ("pillar_exact", "app:tier:gold*", True),
        ("pillar_exact", "app:db:host:h*", False),
        ("pillar_pcre", "app:db:host:h\\d", True),
        ("ipcidr", "10.1.0.0/16", True),
        ("ipcidr", "10.1.2.3", True),
        ("ipcidr", "10.1.2.4", False),
        ("ipcidr", "10.1.2.3/16", False),
        ("ipcidr", "fd00::/8", True),
        ("ipcidr", "nonsense", False),
        ("nodegroup", "web", True),
        ("nodegroup", "nested", True),
        ("nodegroup", "ids", True),
        ("nodegroup", "regex", True),
        ("nodegroup", "none", False),
        ("nodegroup", "loop", False),
        ("nodegroup", "gone", False),
        ("nodegroup", "bad", False),
        ("range", "%web", False),
        ("data", "a:b", False),
    ],
)
def test_kinds(matcher, kind, expr, expected):
    assert matcher.match(kind, expr) is expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("web*", True),
        ("*", True),
        ("G@os:Debian and web*", True),
        ("G@os:Debian and db*", False),
        ("db* or G@os:Debian", True),
        ("not db*", True),
        ("web* not db*", True),
        ("not web* or web1", True),
        ("db* and db* or web1", True),
        ("db* and ( db* or web1 )", False),
        ("( web1 )", True),
        ("not ( db* or not web1 )", True),
        ("E@web\\d", True),
        ("P@os:^deb", True),
        ("I@app:db:host:h1", True),
        ("J@app:db:host:h.", True),
        ("I|@app|db|host|h1", True),
        ("L@a,web1", True),
        ("S@10.0.0.0/8", True),
        ("M@web1", True),
        ("N@web and web1", True),
        ("db* and N@either", False),
        ("not N@none", True),
        (["G@os:Debian", "and", "web*"], True),
    ],
)
def test_compound(matcher, expr, expected):
    assert matcher.compound(expr) is expected


@pytest.mark.parametrize(
    "expr",
    [
        "and web1",
        "web1 and",
        "web1 web1",
        "( web1",
        "web1 )",
        "( and web1 )",
        "not",
        "not not web1",
        "",
        "()",
        5,
        "R@x and web1",
    ],
)
def test_malformed_compound_matches_nothing_and_warns(matcher, expr, caplog):
    if expr == "()":
        assert not matcher.compound(expr), "taken for a glob: operators stand apart"
        return
    assert matcher.compound(expr) is False
    assert "ompound target" in caplog.text


def test_an_unknown_kind_is_a_key_error(matcher):
    assert "glob" in matcher.kinds
    with pytest.raises(KeyError):
        matcher.match("globb", "*")


def test_delimiter_can_be_chosen(matcher):
    assert matcher.match("grain", "deep|a|b|c:d", delimiter="|")


WORDS = st.recursive(
    st.sampled_from(["web1", "db*", "G@os:Debian"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
        inner.map("not ( {} )".format),
        inner.map("( {} )".format),
    ),
    max_leaves=8,
)


@given(WORDS)
def test_compound_agrees_with_python(expr):
    matcher = Matcher({"id": "web1"}, GRAINS, {})
    python = expr.replace("G@os:Debian", "True").replace("db*", "False").replace("web1", "True")
    assert matcher.compound(expr) is eval(python)
