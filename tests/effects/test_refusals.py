"""Programs of root in a place that another state gives to another user: a run, or the next one, refuses them."""

from __future__ import annotations

import pytest
from bundled_states import FILES, Bundled, state_module
from messages import said
from tables import beside, rows
from trees import plan

from asyncstate.effects import refusals
from asyncstate.effects.declared import Footprint
from asyncstate.model.chunk import LowChunk

TABLES = beside(__file__)
GIVEN = {"file.directory": {"name": "/srv/app", "user": "app"}}
PRESENT = {"git.present": {"name": "/srv/app/repo"}}


def refused(*states):
    """What is refused of states, each a function and its arguments."""
    known, chunks = [], []
    for index, ((function, args),) in enumerate(map(dict.items, states)):
        args = dict(args)
        chunks.append(chunk(index, function, args.pop("name"), **args))
    for each in chunks:
        module = state_module(FILES.get(each.state, each.state))
        known.append(Footprint.of(module.mod_footprint(each.as_low())))
    return list(refusals.refused(chunks, known))


def chunk(index, function, name, **args):
    state, fun = function.split(".")
    return LowChunk(index, state, fun, f"id{index}", name, "a", "base", index, args)


@pytest.mark.parametrize(("earlier", "later"), TABLES["refused"])
def test_a_program_of_root_in_a_folder_of_a_user_is_refused(earlier, later):
    (found,) = refused(earlier, later)
    assert (found.first, found.second, found.certain) == (0, 1, True)
    assert found.hint == "say user: app"
    assert "file.directory" not in earlier or found.thing == "/srv/app"
    assert "to app, who can" in found.message


@pytest.mark.parametrize(("earlier", "later"), TABLES["fine"])
def test_what_a_run_does_not_refuse_is_no_mistake(earlier, later):
    assert refused(earlier, later) == []


def test_no_user_is_advised_for_a_state_that_has_none():
    (found,) = refused(GIVEN, {"file.patch": {"name": "/srv/app/x", "source": "salt://p"}})
    assert found.hint == "let root own /srv/app while it runs patch there"


def test_a_folder_may_be_taken_back():
    assert refused(GIVEN, {"file.directory": {"name": "/srv/app", "user": "root"}}, PRESENT) == []


@pytest.mark.parametrize("is_root", [True, False])
def test_a_refusal_is_a_mistake_where_root_compiles(is_root):
    tree = {
        "a": "dir: {file.directory: [{name: /srv/app}, {user: app}]}\n"
        "code: {git.latest: [{name: https://x/r}, {target: /srv/app/code}]}\n"
    }
    made = plan(tree, ["a"], states=Bundled(), is_root=is_root)
    assert [issue.code for issue in made.warnings if issue.mistake] == (["E431"] if is_root else [])


@pytest.mark.parametrize(("later", "program"), TABLES["programs that no user can run"])
def test_programs_that_no_user_can_run_are_refused(later, program):
    (found,) = refused(GIVEN, later)
    assert f" runs {program} as root in /srv/app/" in found.message
    assert found.hint == f"let root own /srv/app while it runs {program} there"


def test_what_is_mounted_on_a_folder_of_a_user_is_not_refused():
    assert refused(GIVEN, {"mount.mounted": {"name": "/srv/app", "device": "/dev/x", "fstype": "ext4"}}) == []


@pytest.mark.parametrize(("earlier", "made", "certain"), TABLES["given away if it is made"])
def test_a_folder_that_may_be_there_is_given_away_only_if_it_is_made(earlier, made, certain):
    (found,) = refused(earlier, {"git.present": {"name": f"{made}/repo"}})
    assert (found.made, found.certain) == (made, certain)


@rows(
    ("writes", "number"),
    [
        (("path:/srv/app",), 1),
        (("path:/srv/app/**",), 1),
        (("accounts", "path:/srv/app"), 1),
        (("path:/srv/x", "path:/srv/app"), 0),
        (("path:/srv/app#x",), 0),
    ],
)
def test_a_state_of_another_module_gives_away_what_it_writes_first(writes, number):
    states = [chunk(0, "own.made", "a", user="app"), chunk(1, "git.present", "/srv/app/repo")]
    assert len(list(refusals.refused(states, [Footprint(writes=writes), Footprint()]))) == number


@pytest.mark.parametrize("earlier", TABLES["gives nothing away"])
def test_a_program_of_a_user_gives_nothing_away(earlier):
    assert refused(earlier, PRESENT) == []


@pytest.mark.parametrize("later", TABLES["taken back"])
def test_what_is_removed_or_taken_back_belongs_to_root(later):
    assert refused(GIVEN, later, PRESENT) == []


@pytest.mark.parametrize("again", TABLES["not taken back"])
def test_a_folder_stays_with_its_user_until_it_is_taken_back(again):
    assert len(refused(GIVEN, again, PRESENT)) == 1


@pytest.mark.parametrize(("first", "giver", "certain"), TABLES["the next run"])
def test_an_owner_that_a_later_state_gives_counts_in_the_next_run(first, giver, certain):
    (found,) = refused(first, giver)
    assert (found.first, found.second, found.certain) == (1, 0, certain)
    assert found.message.endswith(f"to app, {said('next-run-refuses')}")
    ((_, given),) = giver.items()
    assert found.thing == given["name"]
    assert found.hint.endswith(f"let root own {given['name']}")
    assert found.hint.startswith("say user: app and let ") is ("file.patch" not in first)


@pytest.mark.parametrize(("earlier", "found"), TABLES["not again"])
def test_what_the_run_refuses_for_certain_it_does_not_refuse_again(earlier, found):
    assert [[each.first, each.certain] for each in refused(earlier, PRESENT, GIVEN)] == found


@pytest.mark.parametrize("states", TABLES["fine in the next run"])
def test_what_the_next_run_does_not_refuse_is_no_mistake(states):
    assert refused(*states) == []


@rows(
    ("writes", "place", "certain"),
    [
        (("path:/srv/app",), 2, False),
        (("path:/srv/app/**",), 2, False),
        (("path:/srv/**",), 2, False),
        (("path:/x", "path:/srv/app"), 0, False),
        (("path:/srv/app",), 1, True),
        (("path:/srv/app/x",), 2, True),
        (("path:/srv",), 2, True),
        (("path:/sr/**",), 2, True),
        (("source:/srv/app",), 2, True),
        ((), 2, True),
    ],
)
def test_a_command_that_writes_the_folder_may_give_it_back(writes, place, certain):
    functions = [("git.present", "/srv/app/repo", {}), ("file.directory", "/srv/app", {"user": "app"})]
    functions.insert(place, ("cmd.run", "chown root: /srv/app", {}))
    states = [chunk(index, function, name, **args) for index, (function, name, args) in enumerate(functions)]
    known = {"cmd": Footprint(writes=writes), "file": Footprint(writes=("path:/srv/app",)), "git": Footprint()}
    (found,) = refusals.refused(states, [known[each.state] for each in states])
    assert found.certain is certain


def test_a_folder_that_is_taken_back_with_its_parent_is_not_refused():
    back = {"file.directory": {"name": "/srv", "user": "root", "recurse": ["user"]}}
    assert refused(GIVEN, back, PRESENT) == []
