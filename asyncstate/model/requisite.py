"""The kinds of requisite, and a chunk's references to what it depends on."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class RequisiteKind(StrEnum):
    """Requisites in order of precedence: a member's position is its weight in the serial order (Salt 3008)."""

    ONFAIL = "onfail"
    ONFAIL_ANY = "onfail_any"
    ONFAIL_ALL = "onfail_all"
    REQUIRE = "require"
    REQUIRE_ANY = "require_any"
    ONCHANGES = "onchanges"
    ONCHANGES_ANY = "onchanges_any"
    WATCH = "watch"
    WATCH_ANY = "watch_any"
    PREREQ = "prereq"
    PREREQUIRED = "prerequired"
    LISTEN = "listen"

    weight: int
    """Position in the order of precedence; larger weights hide smaller ones when a dependent pulls forward."""
    family: RequisiteKind
    """The kind without ``_any`` or ``_all``."""


for _weight, _kind in enumerate(RequisiteKind):
    _kind.weight = _weight
    _kind.family = RequisiteKind(_kind.value.removesuffix("_any").removesuffix("_all"))

DIRECT = (
    RequisiteKind.REQUIRE,
    RequisiteKind.REQUIRE_ANY,
    RequisiteKind.WATCH,
    RequisiteKind.WATCH_ANY,
    RequisiteKind.PREREQ,
    RequisiteKind.ONFAIL,
    RequisiteKind.ONFAIL_ANY,
    RequisiteKind.ONFAIL_ALL,
    RequisiteKind.ONCHANGES,
    RequisiteKind.ONCHANGES_ANY,
)
"""The requisites that become edges, in the order Salt resolves them."""

IN_SUFFIXED = ("require_in", "watch_in", "onchanges_in", "onfail_in", "prereq_in", "listen_in", "use_in")
"""All ``_in`` forms; any other key that ends in ``_in`` is an argument of the state function."""

MISTAKEN_IN = frozenset("require_any_in watch_any_in onchanges_any_in onfail_any_in onfail_all_in".split())
"""Keys that look like ``_in`` forms, but do not exist in Salt."""

REFERENCES = (*(kind.value for kind in RequisiteKind), *IN_SUFFIXED, "use")
"""The keys of low data whose values name states."""

REQUISITE_KEYWORDS = frozenset({*(kind.value for kind in RequisiteKind), "onfail_stop"})

CONDITIONS_BEFORE = ("onlyif", "unless", "creates")
"""The conditions evaluated before a state function is called, which may skip it."""

CONDITIONS = (*CONDITIONS_BEFORE, "check_cmd")
"""All conditions evaluated around a call of a state function."""

RUNTIME_KEYWORDS = frozenset(CONDITIONS) | frozenset(
    """fun state cmd_opts_exclude failhard retry order parallel prereq prereq_in
    reload_modules reload_grains reload_pillar runas runas_password no_log fire_event saltenv umask use use_in
    __env__ __sls__ __id__ __sls_included_from__ __orchestration_jid__ __pub_user __pub_arg __pub_jid __pub_fun
    __pub_tgt __pub_ret __pub_pid __pub_tgt_type __prereq__ __prerequiring__ __umask__ __transaction__
    exclusive footprint lane fleet_order fleet_lane""".split()
)

FLEET_ORDER = "fleet_order"
"""The argument that places a state in the order of a run across hosts; a local run ignores it."""
FLEET_LANE = "fleet_lane"
"""The argument that names lanes whose places all hosts of a run share; a local run ignores it."""
FLEET_KEYWORDS = frozenset({FLEET_ORDER, FLEET_LANE})

KEYWORDS_OF_TIME = FLEET_KEYWORDS | {*REFERENCES, "onfail_stop", "order", "parallel", "footprint", "lane", "failhard"}
"""The arguments that decide when a state runs, and beside which others, not what it does."""

INTERNAL_KEYWORDS = REQUISITE_KEYWORDS | RUNTIME_KEYWORDS | frozenset(IN_SUFFIXED)
"""Keys of low data that the engine consumes. A function receives one only if it has a parameter with that name."""


HOST = "host"
"""The key of a reference that names states of other hosts: ``{host: db1, service: postgresql}``."""


class RemoteRequisite(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A requisite of a chunk that names states of other hosts, as the SLS file has it.

    ``kind`` is a `RequisiteKind`, ``hosts`` a target expression, ``key`` a state module, ``id`` or ``sls``, and
    ``value`` an ID, a name, an SLS or a glob. With ``reverse`` (``require_in``) the states named have the requisite,
    and the chunk is its target. ``file`` and ``line`` are its place.
    """

    chunk: int
    kind: str
    hosts: str
    key: str
    value: str
    reverse: bool = False
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        """Return it in the notation of an SLS file."""
        word = f"{self.kind}_in" if self.reverse else self.kind
        return f"{word}: {{host: {self.hosts}, {self.key}: {self.value}}}"


class Requisite(msgspec.Struct, frozen=True, gc=False):
    """One resolved requisite of a chunk: its kind, and the plan node that is its target."""

    kind: RequisiteKind
    node: int
