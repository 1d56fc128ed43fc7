"""Salt's paths on this host."""

from __future__ import annotations

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

ROOT_DIR = "/"
CONFIG_DIR = "/etc/salt"
CACHE_DIR = "/var/cache/salt"
SOCK_DIR = "/var/run/salt"
SRV_ROOT_DIR = "/srv"
BASE_FILE_ROOTS_DIR = "/srv/salt"
BASE_PILLAR_ROOTS_DIR = "/srv/pillar"
LOGS_DIR = "/var/log/salt"
PIDFILE_DIR = "/var/run"
SHARE_DIR = "/usr/share/salt"

__getattr__: ModuleGetattr = nothing_else(__name__)
