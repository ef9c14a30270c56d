"""Which version of a dataset answers a question.

The newest does, until something of an earlier one has left, or was held for what its data are. Then a version
in which fewer units than the policy's minimum differ is not asked at all: whatever its tables showed would be
shown of those few, and that an answer is not held any more tells of them, too. All questions are answered
from the version that the earlier answers came from.
"""

import threading

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.known_sources import KnowledgeOfSources
from sdcgate.facility.other_versions import OtherVersions
from sdcgate.facility.plan import Plan, make_plan
from sdcgate.facility.policies import Policies
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


class Versions:
    """Makes the plans of questions, each on the version that answers it."""

    def __init__(self, engine: Engine, policies: Policies, knowledge: KnowledgeOfSources) -> None:
        self._engine = engine
        self._policies = policies
        self._knowledge = knowledge
        self.others = OtherVersions(engine, knowledge)
        self._changed: dict[tuple[str, int, int], int | None] = {}
        self._lock = threading.Lock()

    def plan(self, request: pb.QueryTableRequest, version: int | None = None) -> Plan:
        """The plan of a question on one version, the newest unless said otherwise.

        The newest version's descriptor says which policy applies, to earlier ones too.

        Raises:
            NotFound, InvalidRequest: there is no such dataset, or the request does not fit it.
        """
        newest = datasets.find(self._engine, request.dataset)
        policy = self._policies.of(newest)
        dataset = newest if version is None else datasets.find(self._engine, request.dataset, version)
        return make_plan(dataset, policy, request)

    def standing_plan(self, request: pb.QueryTableRequest) -> Plan:
        """The plan of a question on the version that answers it; raises as `plan`."""
        plan = self.plan(request)
        standing = self._standing(plan.dataset, plan.policy)
        if standing is None:
            return plan
        return make_plan(standing, plan.policy, request)

    def _standing(self, newest: Dataset, policy: EffectivePolicy) -> Dataset | None:
        """The version that answers for the newest; None where it answers for itself.

        It is the last that differs by enough units from each before it that has left: one in which those who
        had gone are back differs from the one before by many, and from the first by few. This looks at
        versions as wholes: were it decided for each table, the tables whose answers come from one version or
        the other would tell which units changed.
        """
        left, minimum = self._knowledge.versions(newest.source), policy.rules.minimum_units
        if minimum is None or not left or any(name != newest.name for name, _ in left):
            return None
        before, stands = list[Dataset](), newest
        for version in sorted({newest.version}.union(version for _, version in left)):
            later = datasets.find(self._engine, newest.name, version)
            changed = [self._changed_units(earlier, later) for earlier in before]
            if not any(units is not None and units < minimum.units for units in changed):
                stands = later
            before.append(later)
        return None if stands.version == newest.version else stands

    def _changed_units(self, earlier: Dataset, newest: Dataset) -> int | None:
        """Counted once: versions do not change."""
        key = (newest.name, earlier.version, newest.version)
        with self._lock:
            if key not in self._changed:
                self._changed[key] = self._engine.changed_units(earlier, newest)
            return self._changed[key]
