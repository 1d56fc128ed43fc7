"""Programs of root in a place that another state gives to another user: a run, or the next one, refuses them."""

from __future__ import annotations

import pytest
from bundled_states import FILES, Bundled, state_module
from tables import rows
from trees import plan

from asyncstate.effects import refusals
from asyncstate.effects.declared import Footprint
from asyncstate.model.chunk import LowChunk


def refused(chunks):
    known = []
    for each in chunks:
        module = state_module(FILES.get(each.state, each.state))
        known.append(Footprint.of(module.mod_footprint(each.as_low())))
    return list(refusals.refused(chunks, known))


def chunk(index, function, name, **args):
    state, fun = function.split(".")
    return LowChunk(index, state, fun, f"id{index}", name, "a", "base", index, args)


GIVEN = chunk(0, "file.directory", "/srv/app", user="app")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (GIVEN, chunk(1, "git.latest", "https://x/r", target="/srv/app/code")),
        (GIVEN, chunk(1, "git.latest", "https://x/r", target="/srv/app", user="root")),
        (GIVEN, chunk(1, "git.present", "/srv/app/repo")),
        (GIVEN, chunk(1, "virtualenv.managed", "/srv/app/venv/")),
        (GIVEN, chunk(1, "pip.installed", "django", bin_env="/srv/app/venv")),
        (chunk(0, "user.present", "app"), chunk(1, "git.cloned", "https://x/r", target="/home/app/code")),
        (
            chunk(0, "user.present", "app", home="/srv/app"),
            chunk(1, "git.detached", "https://x/r", target="/srv/app/code"),
        ),
        (
            chunk(0, "git.latest", "https://x/r", target="/srv/app", user="app"),
            chunk(1, "virtualenv.managed", "/srv/app/venv"),
        ),
        (
            chunk(0, "virtualenv.managed", "/srv/v", user="app"),
            chunk(1, "pip.installed", "a", bin_env="/srv/v/bin/pip"),
        ),
        (chunk(0, "file.recurse", "/srv/app", source="salt://a", user="app"), chunk(1, "git.present", "/srv/app/r")),
        (chunk(0, "file.managed", "/srv/r.txt", user="app"), chunk(1, "pip.installed", "a", requirements="/srv/r.txt")),
        (GIVEN, chunk(1, "pip.installed", "a", requirements=["/srv/app/r.txt"])),
        (GIVEN, chunk(1, "pip.installed", "a", editable="file:///srv/app/code")),
        (GIVEN, chunk(1, "pip.installed", "a", editable="/srv/app[tests]")),
        (GIVEN, chunk(1, "pip.installed", "a", find_links="/srv/app/wheels")),
        (GIVEN, chunk(1, "pip.installed", "a", target="/srv/app/lib")),
        (GIVEN, chunk(1, "pip.installed", "a", cwd="/srv/app")),
        (GIVEN, chunk(1, "virtualenv.managed", "/srv/venv", python="/srv/app/bin/python")),
    ],
)
def test_a_program_of_root_in_a_folder_of_a_user_is_refused(earlier, later):
    (found,) = refused([earlier, later])
    assert (found.first, found.second, found.certain) == (0, 1, True)
    assert found.hint == "say user: app"
    assert found.thing == earlier.name if earlier.function == "file.directory" else "/srv/app"
    assert "to app, who can replace files there" in found.message


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (GIVEN, chunk(1, "git.latest", "https://x/r", target="/srv/app/code", user="app")),
        (GIVEN, chunk(1, "git.latest", "https://x/r", target="/srv/application")),
        (GIVEN, chunk(1, "git.config_set", "user.name", repo="/srv/app")),
        (GIVEN, chunk(1, "pip.installed", "django")),
        (chunk(0, "file.directory", "/srv/app", user="root"), chunk(1, "git.present", "/srv/app")),
        (chunk(0, "file.directory", "/srv/app"), chunk(1, "git.present", "/srv/app")),
        (chunk(0, "file.managed", "/srv/app/x", user="root", makedirs=True), chunk(1, "git.present", "/srv/app/r")),
        (chunk(0, "user.present", "app", createhome=False), chunk(1, "git.present", "/home/app")),
    ],
)
def test_what_a_run_does_not_refuse_is_no_mistake(earlier, later):
    assert refused([earlier, later]) == []


def test_no_user_is_advised_for_a_state_that_has_none():
    (found,) = refused([GIVEN, chunk(1, "file.patch", "/srv/app/x", source="salt://p")])
    assert found.hint == "let root own /srv/app while it runs patch there"


def test_a_folder_may_be_taken_back():
    back = chunk(1, "file.directory", "/srv/app", user="root")
    assert refused([GIVEN, back, chunk(2, "git.present", "/srv/app/repo")]) == []


@pytest.mark.parametrize("is_root", [True, False])
def test_a_refusal_is_a_mistake_where_root_compiles(is_root):
    tree = {
        "a": "dir: {file.directory: [{name: /srv/app}, {user: app}]}\n"
        "code: {git.latest: [{name: https://x/r}, {target: /srv/app/code}]}\n"
    }
    made = plan(tree, ["a"], states=Bundled(), is_root=is_root)
    assert [issue.code for issue in made.warnings if issue.mistake] == (["E431"] if is_root else [])


@pytest.mark.parametrize(
    ("later", "program"),
    [
        (chunk(1, "mount.swap", "/srv/app/swap"), "swapon"),
        (chunk(1, "mount.mounted", "/srv/app/m", device="/dev/x", fstype="ext4"), "mount"),
        (chunk(1, "alternatives.install", "ed", link="/srv/app/ed", path="/opt/ed"), "update-alternatives"),
        (chunk(1, "docker_image.present", "a", build="/srv/app/image"), "docker build"),
    ],
)
def test_programs_that_no_user_can_run_are_refused(later, program):
    (found,) = refused([GIVEN, later])
    assert f" runs {program} as root in /srv/app/" in found.message
    assert found.hint == f"let root own /srv/app while it runs {program} there"


def test_what_is_mounted_on_a_folder_of_a_user_is_not_refused():
    assert refused([GIVEN, chunk(1, "mount.mounted", "/srv/app", device="/dev/x", fstype="ext4")]) == []


@pytest.mark.parametrize(
    ("earlier", "made", "certain"),
    [
        (chunk(0, "file.managed", "/srv/app/x", user="app", makedirs=True), "/srv/app", False),
        (chunk(0, "archive.extracted", "/srv/app", source="salt://a.tar", user="app"), "/srv/app", False),
        (chunk(0, "file.directory", "/srv/app/x/y", user="app", makedirs=True), "/srv/app/x", False),
        (chunk(0, "user.present", "app"), "/home/app", True),
    ],
)
def test_a_folder_that_may_be_there_is_given_away_only_if_it_is_made(earlier, made, certain):
    (found,) = refused([earlier, chunk(1, "git.present", f"{made}/repo")])
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


@pytest.mark.parametrize(
    "earlier",
    [
        chunk(0, "file.symlink", "/srv/app", target="/x", user="app"),
        chunk(0, "cmd.run", "touch /srv/app", runas="app"),
        chunk(0, "pip.installed", "a", bin_env="/srv/app", user="app"),
        chunk(0, "cron.present", "/srv/app", user="app"),
    ],
)
def test_a_program_of_a_user_gives_nothing_away(earlier):
    assert refused([earlier, chunk(1, "git.present", "/srv/app/repo")]) == []


@pytest.mark.parametrize(
    "later",
    [
        chunk(1, "file.absent", "/srv"),
        chunk(1, "file.directory", "/srv/app", user=0),
        chunk(1, "file.directory", "/srv/app", user="0"),
    ],
)
def test_what_is_removed_or_taken_back_belongs_to_root(later):
    assert refused([GIVEN, later, chunk(2, "git.present", "/srv/app/repo")]) == []


@pytest.mark.parametrize(
    "again",
    [
        chunk(1, "file.directory", "/srv/app", mode="0755"),
        chunk(1, "file.directory", "/srv/app", user=""),
        chunk(1, "file.directory", "/srv", user="root"),
        chunk(1, "file.directory", "/srv", user="root", recurse=["group"]),
        chunk(1, "file.directory", "/srv/ap", user="root", recurse=["user"]),
        chunk(1, "file.recurse", "/srv", source="salt://a", user="root", recurse=["user"]),
        chunk(1, "file.absent", "/srv/ap"),
    ],
)
def test_a_folder_stays_with_its_user_until_it_is_taken_back(again):
    assert len(refused([GIVEN, again, chunk(2, "git.present", "/srv/app/repo")])) == 1


CLONED = chunk(0, "git.latest", "https://x/r", target="/srv/app/code")
LATER = chunk(1, "file.directory", "/srv/app", user="app")


@pytest.mark.parametrize(
    ("first", "giver", "certain"),
    [
        (CLONED, LATER, True),
        (chunk(0, "git.present", "/srv/app"), LATER, True),
        (CLONED, chunk(1, "file.directory", "/srv", user="app", recurse=["user"]), True),
        (chunk(0, "git.latest", "https://x/r", target="/srv/app", user="root"), LATER, True),
        (chunk(0, "virtualenv.managed", "/srv/app/venv"), LATER, True),
        (chunk(0, "file.patch", "/srv/app/x", source="salt://p"), LATER, True),
        (chunk(0, "git.latest", "https://x/r", target="/srv/app/code", unless="true"), LATER, False),
        (CLONED, chunk(1, "file.directory", "/srv/app", user="app", onlyif="true"), False),
        (CLONED, chunk(1, "file.directory", "/srv/app", user="app", onchanges=[{"git": "id0"}]), False),
    ],
)
def test_an_owner_that_a_later_state_gives_counts_in_the_next_run(first, giver, certain):
    (found,) = refused([first, giver])
    assert (found.first, found.second, found.certain) == (1, 0, certain)
    assert "to app, who can replace files there: the next run refuses it" in found.message
    assert found.thing == giver.name
    assert found.hint.endswith(f"let root own {giver.name}")
    assert found.hint.startswith("say user: app and let ") is (first.function != "file.patch")


@pytest.mark.parametrize(
    ("earlier", "found"),
    [
        (chunk(0, "file.directory", "/srv", user="app"), [(0, True)]),
        (chunk(0, "file.managed", "/srv/app/x", user="app", makedirs=True), [(0, False), (2, True)]),
    ],
)
def test_what_the_run_refuses_for_certain_it_does_not_refuse_again(earlier, found):
    states = [earlier, chunk(1, "git.present", "/srv/app/repo"), chunk(2, "file.directory", "/srv/app", user="app")]
    assert [(each.first, each.certain) for each in refused(states)] == found


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk(0, "git.latest", "https://x/r", target="/srv/app/code", user="app"), LATER],
        [CLONED, LATER, chunk(2, "file.directory", "/srv/app", user="root")],
        [CLONED, LATER, chunk(2, "file.directory", "/srv", user="root", recurse=["user"])],
        [CLONED, LATER, chunk(2, "file.absent", "/srv")],
        [
            chunk(0, "file.directory", "/srv/app", user="root"),
            chunk(1, "git.latest", "https://x/r", target="/srv/app/code"),
            chunk(2, "file.directory", "/srv/app", user="app"),
        ],
        [CLONED, chunk(1, "file.directory", "/srv/app/code/tmp", user="app")],
        [CLONED, chunk(1, "user.present", "app", home="/srv/app")],
        [CLONED, chunk(1, "file.managed", "/srv/app/conf", user="app", makedirs=True)],
        [chunk(0, "docker_image.present", "a", build="/srv/app/image"), LATER],
        [chunk(0, "cmd.run", "make", cwd="/srv/app"), LATER],
        [chunk(0, "virtualenv.managed", "/srv/app/venv"), chunk(1, "git.latest", "x", target="/srv/app", user="app")],
    ],
)
def test_what_the_next_run_does_not_refuse_is_no_mistake(chunks):
    assert refused(chunks) == []


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
    back = chunk(1, "file.directory", "/srv", user="root", recurse=["user"])
    assert refused([GIVEN, back, chunk(2, "git.present", "/srv/app/repo")]) == []
