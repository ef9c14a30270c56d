"""What a checker is shown of other versions of a source, where a query could not be compared with them."""

from collections.abc import Set

from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.boxes import as_if_published
from sdcgate.facility.errors import InvalidRequest, NotFound
from sdcgate.facility.judging import Computation, Judge
from sdcgate.facility.known_sources import KnowledgeOfSources
from sdcgate.facility.plan import Plan, make_plan
from sdcgate.facility.policies import Policies
from sdcgate.facility.reasons import is_not_compared
from sdcgate.facility.weights import with_weights
from sdcgate.ledger.ledger import StoredQuery
from sdcgate.methods.tables.boxes import Box
from sdcgate.wire.tables import facts_to_message
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


class OtherVersionView:
    """Computes the same table of each other version that has left, and finds what left of it."""

    def __init__(
        self, engine: Engine, judge: Judge, policies: Policies, knowledge: KnowledgeOfSources
    ) -> None:
        self._engine = engine
        self._judge = judge
        self._policies = policies
        self._knowledge = knowledge

    def of(self, stored: StoredQuery, record: release_pb2.DecisionRecord) -> list[pb.OtherVersion]:
        """What a query that is held for another version is to be compared with; nothing of any other."""
        if not is_not_compared(record.decision):
            return []
        own = (stored.dataset, stored.version)
        source = datasets.find(self._engine, *own).source
        others = sorted(self._knowledge.versions(source) - {own})
        shown = {version: self._shown(*version, record) for version in others}
        for left in self._knowledge.left(source):
            if left.version in shown:
                message, cells = shown[left.version]
                boxes = (box for part in left.tables for box, _ in part.published())
                if cells is None or not left.tables or any(box in cells for box in boxes):
                    message.queries.append(left.query)
        return [message for message, _ in shown.values()]

    def _shown(
        self, name: str, version: int, record: release_pb2.DecisionRecord
    ) -> tuple[pb.OtherVersion, Set[Box] | None]:
        """A version with the same table, and the cells of it; None where it has no such table.

        Of a version without it whatever left is told, of others what shows any of the cells.
        """
        shown = pb.OtherVersion(dataset=name, version=version)
        table = self._table(name, version, record)
        if table is None:
            return shown, None
        plan, computed = table
        shown.facts.CopyFrom(facts_to_message(computed.table.facts))
        facts = with_weights(plan, computed.table.facts)
        parts = as_if_published(plan, computed.table.axes, facts)
        return shown, frozenset(box for part in parts for box in part.boxes)

    def _table(
        self, name: str, version: int, record: release_pb2.DecisionRecord
    ) -> tuple[Plan, Computation] | None:
        """The same table of another version, where it was a table and means something there."""
        if not record.HasField("request"):
            return None
        request = pb.QueryTableRequest()
        request.CopyFrom(record.request)
        request.dataset = name
        dataset = datasets.find(self._engine, name, version)
        try:
            plan = make_plan(dataset, self._policies.of(dataset), request)
        except (InvalidRequest, NotFound):
            return None
        computed = self._judge.compute(plan)
        same = len(computed.table.facts) == len(record.checker.facts.units)
        return (plan, computed) if same else None
