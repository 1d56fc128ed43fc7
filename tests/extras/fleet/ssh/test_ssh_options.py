"""``ssh_options`` of a roster: read as `ssh -o` does, or refused with a message, also if they weaken key checks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet.ssh.ssh_options import SshOptions, read_options


def test_they_are_read_as_ssh_reads_them(tmp_path):
    key = tmp_path / "key"
    key.touch()
    options, mistakes = read_options(
        [
            "-o ProxyJump=me@[::1]:2,ssh://b",
            "proxycommand nc %h %p",
            f"IdentityFile={key}",
            "IdentitiesOnly = yes",
            'HostKeyAlias="web"',
            "ForwardAgent=no",
            "BatchMode=yes",
            "ControlMaster auto",
        ]
    )
    assert mistakes == []
    assert options == SshOptions(
        jumps=(("me", "::1", 2), ("", "b", 22)), proxy_command="nc %h %p", identity_files=(str(key),),
        identities_only=True, host_key_alias="web",
    )  # fmt: skip


@pytest.mark.parametrize("given", ["ProxyJump=none", "ProxyCommand=none"])
def test_none_is_none(given):
    assert read_options([given]) == (SshOptions(), [])


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("StrictHostKeyChecking=no", "keys of hosts are always checked"),
        ("stricthostkeychecking accept-new", "keys of hosts are always checked"),
        ("UserKnownHostsFile=/dev/null", "use --ssh-known-hosts FILE"),
        ("GlobalKnownHostsFile=/dev/null", "use --ssh-known-hosts FILE"),
        ("RequestTTY=force", "a terminal would change the protocol on the runner's streams"),
        ("ProxyJmp=a", "did you mean ProxyJump?"),
    ],
)
def test_what_is_refused_has_the_next_step(given, hint):
    assert read_options([given])[1][0][1] == hint


@given(given=st.lists(st.text()))
def test_any_text_is_read_or_refused(given):
    options, mistakes = read_options(given)
    assert isinstance(options, SshOptions)
    assert len(mistakes) <= sum(len(each) + 1 for each in given)
