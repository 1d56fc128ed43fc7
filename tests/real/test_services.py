"""Services, really started and stopped by System V init scripts."""

import pytest
from tables import beside

TABLES = beside(__file__)

SCRIPT = TABLES["script"]
DAEMON = """#!/usr/bin/python3
import os, time
open("/var/log/sun.log", "a").write("started with " + open("/etc/sun.conf").read())
time.sleep(1000)
"""


@pytest.fixture
def sun(repository):
    """A package with a daemon, an init script and a configuration file."""
    return repository.add(
        "sun",
        files={"/usr/bin/sun": DAEMON, "/etc/init.d/sun": SCRIPT, "/etc/sun.conf": "dim\n"},
        conffiles=["/etc/sun.conf"],
    )


TREE = TABLES["tree"]


def log_until(debian, last):
    """The log of the daemon up to this word, which a daemon in the background writes some time after its start."""
    debian.until("grep", "-q", f"{last}$", "/var/log/sun.log")
    return [line.split()[-1] for line in debian.read("/var/log/sun.log").splitlines()]


def test_package_file_service_in_that_order(debian, prove, sun):
    prove(TREE.replace("WORD", "bright").replace("REACTION", "reload: false"))
    debian.until("service", "sun", "status")
    assert log_until(debian, "bright")[-1] == "bright"
    assert debian.succeeds("sh", "-c", "ls /etc/rc2.d/S*sun")


def test_a_watched_file_restarts_or_reloads(debian, prove, sun):
    tree = TREE.replace("REACTION", "reload: false")
    prove(tree.replace("WORD", "one"))
    prove(tree.replace("WORD", "two"))
    assert log_until(debian, "two") == ["one", "two"]
    reloading = TREE.replace("REACTION", "reload: true")
    prove(reloading.replace("WORD", "three"))
    assert log_until(debian, "reloaded") == ["one", "two", "reloaded"]


def test_dead_disabled_and_gone(debian, prove, sun):
    prove(TREE.replace("WORD", "one").replace("REACTION", "reload: false"))
    prove("sun: {service.dead: [{enable: false}]}")
    assert not debian.succeeds("service", "sun", "status")
    assert not debian.succeeds("sh", "-c", "ls /etc/rc2.d/S*sun")
    prove("sun: service.enabled")
    prove("sun: service.disabled")
    prove("sun: pkg.purged")
    rows = debian.apply("sun: service.dead")
    assert not rows.failed, rows.failed


def test_one_that_does_not_start_is_one_failed_row_and_mended_later(debian, prove, sun):
    tree = TREE.replace("REACTION", "reload: false") + "after: {test.nop: [{require: [{service: sun}]}]}"
    first = debian.apply(tree.replace("WORD", "broken"))
    assert {tag.partition("_|-")[0] for tag in first.failed} == {"service", "test"}
    assert debian.read("/etc/sun.conf").strip() == "broken"
    mended = debian.apply(tree.replace("WORD", "fine"))
    assert not mended.failed, mended.failed
    assert log_until(debian, "fine") == ["fine"]


def test_one_that_is_not_there(debian):
    rows = debian.apply("moon: service.running\nstars: service.dead")
    assert list(rows.failed) == ["service_|-moon_|-moon_|-running"]
