"""Messages of a host that could not start its runner, and the remedies."""

import pytest

from asyncstate.extras.fleet.ssh import launch

COMMAND = launch.command(sudo=True, sudo_user="", password=True, set_path="")


@pytest.mark.parametrize(
    ("said", "sudo", "password", "hint"),
    [
        ([launch.NO_PYTHON], False, False, "it has no python3 in its PATH"),
        (["sudo: a password is required"], True, False, "give it as passwd in the roster"),
        (
            [f"Sorry, user deploy is not allowed to execute '{COMMAND}' as root on web1."],
            True,
            True,
            "sudoers does not let deploy run /bin/sh as root",
        ),
        (["Sorry, user deploy may not run sudo on web1."], True, True, "sudoers does not let deploy run /bin/sh"),
        (["deploy is not in the sudoers file."], True, True, "sudoers does not let deploy run /bin/sh"),
        (["sudo: unable to resolve host web1"], True, True, "sudo does not start the runner"),
        (["Welcome!"], False, False, "its shell does not start Python"),
    ],
)
def test_what_to_do_about_a_host_that_does_not_start(said, sudo, password, hint):
    assert hint in launch.hint_of(said, sudo=sudo, password=password)


def test_a_line_that_repeats_the_command_is_shown_by_its_ends():
    shown = launch.shortened(f"Sorry: {COMMAND} refused")
    assert (shown[:7], shown[-8:], len(shown)) == ("Sorry: ", " refused", 303)
    assert launch.shortened("x" * 300) == "x" * 300
