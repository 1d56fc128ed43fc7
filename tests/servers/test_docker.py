"""The docker states on a real daemon: the tests that are not only for the fake one."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

from tests.states.test_docker import (  # noqa: F401 - they are collected here once more
    COMMAND,
    plugins,
    test_a_container_is_made_and_started_once,
    test_a_container_is_removed_once,
    test_a_container_that_cannot_be_started,
    test_a_container_that_makes_no_sense,
    test_a_container_that_must_change_is_replaced_once,
    test_a_network,
    test_a_new_image_replaces_the_container,
    test_a_stopped_container_is_started_again,
    test_an_image_in_use_stays,
    test_an_image_is_removed_once,
    test_an_image_that_is_there,
    test_containers_are_connected_to_a_network,
    test_force_and_watch_replace_it_in_any_case,
    test_networks_of_a_container,
)

pytestmark = [pytest.mark.server, pytest.mark.timeout(180)]


class Daemon:
    """A daemon with a data folder of its own; ``reset`` leaves it with the images busy:1 and busy:2 alone."""

    def __init__(self, folder):
        self.folder = folder
        self.url = f"unix://{folder}/docker.sock"
        command = [
            "dockerd", "--storage-driver=vfs", "--iptables=false", "--ip-forward=false", "--bip=10.213.7.1/24",
            f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid", f"--host={self.url}",
        ]  # fmt: skip
        with open(folder / "log", "wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.client = None

    def wait(self):
        """Return whether it answers; it does not where the kernel denies it something."""
        import docker

        while self._process.poll() is None:
            if os.path.exists(f"{self.folder}/docker.sock"):
                self.client = docker.APIClient(base_url=self.url, version="auto")
                return True
            time.sleep(0.1)
        return False

    def reset(self):
        for container in self.client.containers(all=True):
            self.client.remove_container(container["Id"], force=True)
        for network in self.client.networks():
            if network["Name"] not in {"bridge", "host", "none"}:
                self.client.remove_network(network["Id"])
        present = {tag for image in self.client.images() for tag in image["RepoTags"] or ()}
        for tag in ("1", "2"):
            if f"busy:{tag}" not in present:
                self._import(tag)

    def _import(self, tag):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            folder = tarfile.TarInfo("bin")
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
            tar.add("/bin/busybox", "bin/busybox")
        changes = [f"CMD {json.dumps(COMMAND)}", "ENV PATH=/bin", f"LABEL tag={tag}"]
        self.client.import_image_from_data(archive.getvalue(), repository="busy", tag=tag, changes=changes)

    def close(self):
        if self.client is not None:
            self.reset()
            self.client.close()
        self._process.terminate()
        self._process.wait()
        for mount in (self.folder / "exec" / "netns").glob("*"):
            subprocess.run(["umount", "--lazy", mount], check=False)


@pytest.fixture(scope="session")
def real_daemon():
    if os.geteuid() != 0 or shutil.which("dockerd") is None or not os.access("/bin/busybox", os.X_OK):
        pytest.skip("needs root, dockerd and a static busybox")
    folder = Path(tempfile.mkdtemp(prefix="asyncstate-docker-"))
    started = Daemon(folder)
    try:
        if not started.wait():
            pytest.skip(f"dockerd does not start here: {(folder / 'log').read_text()[-500:]}")
        yield started
    finally:
        started.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def daemon(real_daemon):
    real_daemon.reset()
    return real_daemon
