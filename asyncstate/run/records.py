"""A host's plans as data: what is kept of them, and what names a plan with all that it was compiled from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from asyncstate.plans.inputs import inputs_of
from asyncstate.plans.key import Key
from asyncstate.plans.record import Selection
from asyncstate.plans.recording import PlanRecorder, Treatment
from asyncstate.run.chunk.local import LocalDispatch
from asyncstate.run.options import RunOptions, Traits

if TYPE_CHECKING:
    from asyncstate.config import Settings
    from asyncstate.load.host import PluginHost
    from asyncstate.model.plan import Plan
    from asyncstate.plans.record import Inputs
    from asyncstate.redact.shown import ShownPlan
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
        shown: ShownPlan,
        selection: Selection | None = None,
        *,
        failhard: bool | None,
        make_key: bool = True,
    ) -> PlanRecorder:
        """Return who records a plan, of which ``shown`` hides the secrets.

        ``selection`` is what of the tree was compiled. Without ``make_key`` and where there is no key, one is used that
        nothing else has. Imports the state modules of the plan. Raises PlanError if the key cannot be read or made.
        """
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
        """Return what names a plan together with all that it was compiled from. Raises PlanError."""
        key = Key.of(self._settings.state_dir)
        return key.of_value("plan and inputs", plan.digest, asdict(self._inputs_of(plan, key)))

    def _inputs_of(self, plan: Plan, key: Key) -> Inputs:
        client, host = self._file_client, self._host
        return inputs_of(
            key,
            files=plan.files,
            roots={env: client.roots(env) for env in client.envs()},
            pillar=host.pillar,
            grains=host.grains,
            plugin_folders=host.plugin_paths(bundled=False),
            opts=host.opts,
        )
