import pytest

from asyncstate.errors import FleetError
from asyncstate.extras.fleet.controller.selection import Selection

KNOWN = Selection({"db1": {"role": "db"}, "web1": {"role": "web"}, "web2": {"role": "web"}}, {"front": "web*"})


@pytest.mark.parametrize(
    ("target", "hosts"),
    [
        ("*", ["db1", "web1", "web2"]),
        ("G@role:web and not web2", ["web1"]),
        ("N@front", ["web1", "web2"]),
        ("L@db1,new1", ["db1", "new1"]),
    ],
)
def test_a_host_that_is_named_is_meant_even_if_it_was_never_there(target, hosts):
    assert KNOWN.targets(target) == hosts


@pytest.mark.parametrize(
    ("target", "words"), [("web3", "did you mean 'web1'"), ("G@role:x", "known are db1, web1, web2")]
)
def test_a_target_without_a_host_says_who_is_there(target, words):
    with pytest.raises(FleetError, match=words):
        KNOWN.targets(target)


def test_hosts_outside_a_run_are_found_only_if_none_of_the_run_fits():
    assert KNOWN.among("web*", ["web1", "db1"]) == ["web1"]
    assert KNOWN.among("web*", ["db1"]) == ["web1", "web2"]
    with pytest.raises(FleetError, match="is not one"):
        KNOWN.among("db1 and", ["db1"])


def test_canaries_are_hosts_of_the_run():
    assert KNOWN.canaries("", ["web1"]) == ()
    assert KNOWN.canaries("N@front", ["db1", "web2"]) == ("web2",)
    with pytest.raises(FleetError, match="no host of the run fits canary 'db1': the run is on web1, web2"):
        KNOWN.canaries("db1", ["web1", "web2"])


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "is not one"),
        ("db1 andd web1", "is not one"),
        ("db1 and (", "is not one"),
        ("G@role:db and not", "is not one"),
        ("X@web1", "has a kind of target that there is not, 'X@': there are E@, G@, I@"),
        ("N@frnt", "names a nodegroup that there is not, 'frnt': did you mean 'front'"),
        ("web1 or E@[", "has no regular expression in 'E@\\['"),
        ("I@role:db", "asks for the pillar of hosts"),
        ("N@paid", "asks for the pillar of hosts"),
        ("not N@edge", r"means 'not web\* or lb\*'.* write \( N@edge \)"),
    ],
)
def test_an_expression_that_fits_nobody_or_others_than_it_seems_to_is_a_mistake(expression, words):
    known = Selection({"web1": {}}, {"front": "web*", "paid": "web* and J@plan:paid", "edge": "web* or lb*"})
    with pytest.raises(FleetError, match=words):
        known.targets(expression)
    if expression:
        with pytest.raises(FleetError, match=words):
            known.canaries(expression, ["web1"])
