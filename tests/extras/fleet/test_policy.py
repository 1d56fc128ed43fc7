"""The policy of a host is an option of its configuration, in which a slip grants no permission."""

import pytest
from jsonschema import Draft202012Validator

from asyncstate.config import Settings, load_settings
from asyncstate.errors import ConfigError
from asyncstate.extras.fleet.policy import Policy, policy_of
from asyncstate.extras.manual.schemas import schema


def test_what_is_not_given_allows_everything():
    assert policy_of({}, Settings()) == Policy()


def test_what_is_given():
    given = {"allow_sls": ["web.*"], "allow_functions": [], "deny_test_false": True, "deny_pillar": True}
    assert policy_of(given, Settings(origins={"fleet_policy": "file /etc/asyncstate/config.yaml"})) == Policy(
        allow_sls=("web.*",),
        allow_functions=(),
        deny_test_false=True,
        deny_pillar=True,
        where="fleet_policy in /etc/asyncstate/config.yaml",
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"allow_function": ["file.*"]},
            "fleet_policy: there is no setting 'allow_function'. Did you mean 'allow_functions'?",
        ),
        ({"where": "x"}, "fleet_policy: there is no setting 'where'. There are: allow_sls, allow_functions, "),
        ({1: 2}, "fleet_policy: there is no setting 1."),
        ({"allow_sls": "web"}, "fleet_policy: allow_sls: expected a list"),
        ({"allow_sls": [1]}, "fleet_policy: allow_sls: expected text, got a whole number"),
        ({"deny_test_false": "yes"}, "fleet_policy: deny_test_false: expected true or false"),
    ],
)
def test_a_slip_is_told(given, words):
    with pytest.raises(ConfigError, match="^" + words.replace("'?", "'\\?")):
        policy_of(given, Settings())


def test_a_slip_in_a_file_is_told_with_the_file(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("fleet_policy: {allow_function: [file.*]}\n")
    with pytest.raises(ConfigError, match=f"{path}: fleet_policy: there is no setting 'allow_function'"):
        load_settings([path], environ={}).validate()
    with pytest.raises(ConfigError, match="there is no setting"):
        Settings(extra={"fleet_policy": {"allow": []}}).validate()


def test_the_schema_of_a_configuration_has_the_policy():
    found = Draft202012Validator(schema("config", strict=True))
    assert [*found.iter_errors({"fleet_policy": {"allow_sls": ["web.*"], "deny_pillar": True}})] == []
    assert [*found.iter_errors({"fleet_policy": {"deny_everything": True}})]
