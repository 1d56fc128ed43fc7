"""The ``postgres_cluster`` states: PostgreSQL clusters as Debian keeps them, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __salt__

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._postgres import Row


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
    """Make sure that a cluster exists; it is not started. Of one that does, port and folder are compared.

    Example::

        reports:
          postgres_cluster.present:
            - version: '15'
            - port: 5433
            - encoding: UTF8
    """
    comment = f"Cluster {version}/{name} is already present"
    row: Row = {"name": name, "changes": {}, "result": True, "comment": comment}
    wanted = {
        "port": port,
        "locale": locale,
        "encoding": encoding,
        "datadir": datadir,
        "allow_group_access": allow_group_access,
        "data_checksums": data_checksums,
        "wal_segsize": wal_segsize,
    }

    def check() -> Row:
        found = __salt__["postgres.cluster_list"](verbose=True).get(f"{version}/{name}")
        if found is None:
            return _postgres.change(
                row,
                f"Cluster {version}/{name} is set to be created",
                lambda: __salt__["postgres.cluster_create"](version=version, name=name, **wanted),
                f"The cluster {version}/{name} has been created",
                {f"{version}/{name}": "Present"},
                f"Failed to create cluster {version}/{name}",
            )
        if (port and int(port) != found["port"]) or (datadir and datadir != found["datadir"]):
            comment = f"Cluster {version}/{name} has wrong parameters which couldn't be changed on fly."
            return {**row, "result": False, "comment": comment}
        return row

    return _postgres.checked(row, check)


def absent(version: Any, name: str) -> Row:
    """Make sure that a cluster, and with it all its data, does not exist; it is stopped first."""
    row: Row = {"name": name, "changes": {}, "result": True, "comment": ""}

    def check() -> Row:
        if not __salt__["postgres.cluster_exists"](version, name):
            comment = f"Cluster {version}/{name} is not present, so it cannot be removed"
            return {**row, "comment": comment}
        return _postgres.change(
            row,
            f"Cluster {version}/{name} is set to be removed",
            lambda: __salt__["postgres.cluster_remove"](version, name, stop=True),
            f"Cluster {version}/{name} has been removed",
            {name: "Absent"},
            f"Cluster {version}/{name} failed to be removed",
        )

    return _postgres.checked(row, check)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order: a cluster is what the others need."""
    footprint = _postgres.footprint(low)
    if low.get("datadir"):
        footprint["writes"].append(f"path:{low['datadir']}/**")
    return footprint
