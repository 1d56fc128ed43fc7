"""What the rows of calls/postgres.yaml do not say: passwords of random salts. tests/servers has a real server."""

from __future__ import annotations

import pytest
from asyncstate.modules.postgres import _passwords
from plugin_harness import PluginHarness


@pytest.mark.parametrize("password", ["xyzzy", "sécret", "a\u00a0b", "\u0007bell", "א1", "אבג", "\u0378"])
@pytest.mark.parametrize("method", [True, "md5", "scram-sha-256"])
def test_a_password_matches_what_was_made_of_it(tmp_path, password, method):
    plugins = PluginHarness(tmp_path)
    plugins.load("modules", "postgres")
    stored = _passwords.encrypted("ada", password, method)
    assert password not in stored
    assert plugins.call("postgres.password_matches", "ada", password, stored, method) is True
    assert plugins.call("postgres.password_matches", "ada", f"{password}.", stored, method) is False
