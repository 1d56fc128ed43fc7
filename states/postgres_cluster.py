"""The ``postgres_cluster`` states: PostgreSQL clusters of Debian, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, failed, unchanged

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping


@_postgres.fails_if_not_answered
def present(
    version: Any,
    name: str,
    port: int | str | None = None,
    encoding: str | None = None,
    locale: str | None = None,
    datadir: str | None = None,
    allow_group_access: bool | None = None,
    data_checksums: bool | None = None,
    wal_segsize: int | str | None = None,
) -> Row:
    """Make sure that a cluster exists; it is not started. Port and folder of an existing one are compared.

    Example::

        reports:
          postgres_cluster.present:
            - version: '15'
            - port: 5433
            - encoding: UTF8
    """
    wanted = {
        "port": port,
        "locale": locale,
        "encoding": encoding,
        "datadir": datadir,
        "allow_group_access": allow_group_access,
        "data_checksums": data_checksums,
        "wal_segsize": wal_segsize,
    }
    found = __salt__["postgres.cluster_list"](verbose=True).get(f"{version}/{name}")
    if found is None:
        return _postgres.change(
            name,
            lambda: __salt__["postgres.cluster_create"](version=version, name=name, **wanted),
            {f"{version}/{name}": "Present"},
            would=f"Cluster {version}/{name} is set to be created",
            done=f"The cluster {version}/{name} has been created",
            problem=f"Failed to create cluster {version}/{name}",
        )
    if (port and int(port) != found["port"]) or (datadir and datadir != found["datadir"]):
        return failed(name, f"Cluster {version}/{name} has wrong parameters which couldn't be changed on fly.")
    return unchanged(name, f"Cluster {version}/{name} is already present")


@_postgres.fails_if_not_answered
def absent(version: Any, name: str) -> Row:
    """Make sure that a cluster, and with it all its data, does not exist; it is stopped first."""
    return _postgres.absent(
        name,
        f"Cluster {version}/{name}",
        lambda: __salt__["postgres.cluster_exists"](version, name),
        lambda: __salt__["postgres.cluster_remove"](version, name, stop=True),
    )


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the PostgreSQL states in serial order, because others need a cluster; adds its settings and its data."""
    footprint = _postgres.footprint(low)
    place = f"{low.get('version', '')}/{low.get('name', '')}"
    data = str(low.get("datadir") or f"/var/lib/postgresql/{place}")
    footprint["writes"] += [f"path:{os.path.normpath(data)}/**", f"path:/etc/postgresql/{place}/**"]
    footprint["reads"] += ["locale:compiled", "path:/etc/default/locale", "path:/etc/postgresql-common/**"]
    return footprint
