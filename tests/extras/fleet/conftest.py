import asyncio

import pytest
from fleet_server import FleetServer

from asyncstate.extras.fleet.nats.server import reload


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """A server that all tests share: each takes hosts and runs of its own."""
    server = FleetServer(tmp_path_factory.mktemp("fleet"))
    assert server.start().startswith("ready tls://127.0.0.1:")
    yield server
    assert server.stop() == 0


@pytest.fixture
def own_fleet(tmp_path):
    """A server that a test may stop and start."""
    server = FleetServer(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def hosts(fleet):
    """Two hosts that all tests share: their credentials. Their names have dots, as those of real hosts."""
    made = [fleet.folder.enrol(f"{name}.example.com") for name in ("a", "b")]
    asyncio.run(reload(fleet.folder))
    return made
