"""The recorder of a host's plans, and the keyed digests that name a plan with its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from asyncstate.data.urls import SALT_SCHEME, parse_salt_url
from asyncstate.plans.inputs import content_of, contents_of, contents_of_plugins, digests_of, inputs_of, name_in_tree
from asyncstate.plans.key import Key
from asyncstate.plans.record import Selection
from asyncstate.run.chunk.local import LocalDispatch
from asyncstate.run.options import RunOptions, Traits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.config import Settings
    from asyncstate.load.host import PluginHost
    from asyncstate.model.plan import Plan
    from asyncstate.plans.record import Inputs
    from asyncstate.plans.recording import PlanRecorder
    from asyncstate.redact.redacted_plan import RedactedPlan
    from asyncstate.sources.fileclient import FileClient


class PlanRecords:
    """Records the plans that a host compiles. Every digest is keyed with a key in ``state_dir``."""

    def __init__(self, settings: Settings, host: PluginHost, file_client: FileClient) -> None:
        self._settings = settings
        self._host = host
        self._file_client = file_client

    def recorder(
        self,
        plan: Plan,
        shown: RedactedPlan,
        selection: Selection | None = None,
        *,
        failhard: bool | None,
        make_key: bool = True,
    ) -> PlanRecorder:
        """Return the recorder of a plan; ``shown`` hides the plan's secrets.

        ``selection`` names the part of the tree that was compiled. If there is no key and ``make_key`` is false, a
        temporary one is used. Imports the state modules of the plan. Raises PlanError if the key cannot be read or
        made.
        """
        # Not needed for a plan that the journal has.
        from asyncstate.plans.recording import PlanRecorder, Treatment  # noqa: PLC0415

        settings, host = self._settings, self._host
        key = Key.of(settings.state_dir, make=make_key)
        options = RunOptions(run_id="", failhard=settings.failhard if failhard is None else failhard)
        traits = Traits.of(plan, options, LocalDispatch(plan, host).module_traits())
        return PlanRecorder(
            plan,
            shown,
            key,
            inputs=self._inputs_of(plan, key),
            selection=selection or Selection(),
            treatment=Treatment(
                traits.failhard,
                traits.exclusive,
                {chunk: tuple(lanes) for chunk, lanes in traits.lanes.items()},
                settings.lanes,
            ),
            host=str(host.opts.get("id") or ""),
        )

    def key_of(self, plan: Plan) -> str:
        """Return the name of a plan together with all its inputs. Raises PlanError."""
        key = Key.of(self._settings.state_dir)
        return key.of_value("plan and inputs", plan.digest, asdict(self._inputs_of(plan, key)))

    def contents(self, plan: Plan, named: Iterable[str] = ()) -> dict[str, str]:
        """Return the sha256 of the files of the tree that a plan is compiled from or that its states fetch, by path.

        ``named`` are more files, by their names in a record; files outside the roots are not looked at.
        """
        found = contents_of(plan.files, self._roots())
        for name in named:
            if name.startswith(SALT_SCHEME):
                path, env = parse_salt_url(name)
                more = self._file_client.find(path, env or "base")
                if more is not None and more not in found:
                    found[more] = content_of(more)
        return found

    def plugins(self) -> dict[str, str]:
        """Return the sha256 of the tree's plugin files, by path."""
        return contents_of_plugins(self._host.plugin_paths(bundled=False))

    def digests(self, contents: Mapping[str, str]) -> dict[str, str]:
        """Return the digests of files, by their names in the tree. Raises PlanError."""
        return digests_of(Key.of(self._settings.state_dir), contents, self._roots())

    def is_in_tree(self, path: str) -> bool:
        """Whether a path lies below a root of the tree."""
        return name_in_tree(path, self._roots()).startswith(SALT_SCHEME)

    def _roots(self) -> dict[str, list[str]]:
        client = self._file_client
        return {env: client.roots(env) for env in client.envs()}

    def _inputs_of(self, plan: Plan, key: Key) -> Inputs:
        host = self._host
        return inputs_of(
            key,
            files=self.contents(plan),
            plugins=self.plugins(),
            roots=self._roots(),
            pillar=host.pillar,
            grains=host.grains,
            opts=host.opts,
        )
