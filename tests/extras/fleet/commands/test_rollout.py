"""The roll-out of the options and the configuration."""

import click
import pytest

from asyncstate.config import Settings
from asyncstate.extras.fleet.commands.rollout import rollout_of
from asyncstate.extras.fleet.protocol import Rollout

UNSAID = {"batch": None, "canary": "", "max_failures": None, "lanes": ()}
CONFIGURED = {"fleet_batch": 5, "fleet_max_failures": "10%", "fleet_lanes": {"a": 2, "b": 3}}


@pytest.mark.parametrize(
    ("options", "configured", "rollout"),
    [
        ({}, {}, Rollout()),
        ({}, CONFIGURED, Rollout(batch="5", max_failures="10%", lanes={"a": 2, "b": 3})),
        (
            {"batch": "10%", "canary": "web1", "max_failures": "0", "lanes": ("b=1", "x=y=4")},
            CONFIGURED,
            Rollout(batch="10%", canary="web1", max_failures="0", lanes={"a": 2, "b": 1, "x=y": 4}),
        ),
        ({"batch": "", "max_failures": ""}, CONFIGURED, Rollout(lanes={"a": 2, "b": 3})),
    ],
)
def test_an_option_wins_over_the_configuration(options, configured, rollout):
    assert rollout_of({**UNSAID, **options}, Settings(extra=configured)) == rollout


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("batch", "200%", "--batch: expected a number from 1 on or a percentage of hosts, 2 or 10%, got '200%'"),
        ("batch", "0", "--batch: expected a number from 1 on or a percentage of hosts, 2 or 10%, got '0'"),
        ("max_failures", "few", "--max-failures: expected a number from 0 on or a percentage of hosts, 2 or 10%, got"),
    ],
)
def test_what_is_no_number_of_hosts_is_refused_before_anybody_is_asked(option, text, words):
    with pytest.raises(click.UsageError, match=words):
        rollout_of({**UNSAID, option: text}, Settings())


@pytest.mark.parametrize("text", ["x", "x=", "=2", "x=0", "x=-1", "x=two"])
def test_a_lane_without_a_number_of_places_is_refused(text):
    with pytest.raises(click.BadParameter, match="is no lane with its number of places, migrations=2"):
        rollout_of({**UNSAID, "lanes": (text,)}, Settings())
