"""Wrong values of the options of fleets are refused when a configuration is read."""

import msgspec
import pytest
import yaml
from jsonschema import Draft202012Validator

from asyncstate.config import load_settings
from asyncstate.errors import ConfigError
from asyncstate.extras.fleet.rollout.admission import count_of
from asyncstate.extras.fleet.settings import FleetSettings
from asyncstate.extras.manual.schemas import schema

COUNT = "or a percentage of hosts, 2 or 10%, got"
WRONG = [
    ("fleet_batch", "abc", f"expected a number from 1 on {COUNT} 'abc'"),
    ("fleet_batch", "0%", f"expected a number from 1 on {COUNT} '0%'"),
    ("fleet_batch", 0, f"expected a number from 1 on {COUNT} 0"),
    ("fleet_batch", "101%", f"expected a number from 1 on {COUNT} '101%'"),
    ("fleet_max_failures", "lots", f"expected a number from 0 on {COUNT} 'lots'"),
    ("fleet_max_failures", -1, f"expected a number from 0 on {COUNT} -1"),
    ("fleet_lanes", {"migrations": 0}, "migrations: expected a whole number >= 1, got 0"),
    ("fleet_policy", {"deny_pilar": True}, "there is no setting 'deny_pilar'. Did you mean 'deny_pillar'?"),
]
RIGHT = {
    "fleet_batch": [1, "2", "10%", "0.5%", "100%", "100.0%", 99],
    "fleet_max_failures": [0, "0", "0%", "10%", 3],
    "fleet_lanes": [{"migrations": 2}],
    "fleet_policy": [{"deny_pillar": True}],
}


def test_the_tables_have_all_options():
    options = {field.name for field in msgspec.structs.fields(FleetSettings)}
    assert {option for option, *_ in WRONG} == options == set(RIGHT)


@pytest.mark.parametrize(("option", "value", "message"), WRONG)
def test_a_wrong_value_is_refused_wherever_it_stands(option, value, message, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({option: value}))
    variable = f"ASYNCSTATE_{option.upper()}"
    for place, files, environ in ((file, [file], {}), (variable, [], {variable: yaml.safe_dump(value)})):
        with pytest.raises(ConfigError) as caught:
            load_settings(files, environ=environ).validate()
        assert str(caught.value) == f"{place}: {option}: {message}"
    assert [*Draft202012Validator(schema("config")).iter_errors({option: value})]


@pytest.mark.parametrize("option", RIGHT)
def test_a_right_value_is_accepted_and_is_one_where_it_is_used(option, tmp_path):
    file = tmp_path / "config.yaml"
    for value in RIGHT[option]:
        file.write_text(yaml.safe_dump({option: value}))
        settings = load_settings([file], environ={})
        settings.validate()
        assert getattr(settings.of(FleetSettings), option) == value
        assert not [*Draft202012Validator(schema("config")).iter_errors({option: value})]
        if not isinstance(value, dict):
            assert count_of(option, str(value), 10, least=option == "fleet_batch") >= (option == "fleet_batch")
