"""Decisions as they leave and as the ledger keeps them: exact bytes, digests, the checker's record."""

import json
from datetime import datetime
from typing import Any

from sdcgate.facility.asked import Asked
from sdcgate.facility.judging import Computation
from sdcgate.facility.outcomes import Outcome
from sdcgate.ledger.certificates import Certificate
from sdcgate.wire.dimensions import axes_to_messages
from sdcgate.wire.json import to_value
from sdcgate.wire.rules import finding_to_message
from sdcgate.wire.table_json import SHAPES
from sdcgate.wire.tables import facts_to_message
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2


def new_decision(query: str, asked: Asked, verdict: int, decided: datetime) -> pb.Decision:
    """A decision without reasons, table or certificate."""
    decision = pb.Decision(
        query=query,
        dataset=asked.dataset.name,
        version=asked.dataset.version,
        policy=pb.PolicyReference(name=asked.policy.name, hash=asked.policy.hash),
        verdict=verdict,  # type: ignore[arg-type]
    )
    decision.decided.FromDatetime(decided)
    return decision


def answer_bytes(decision: pb.Decision) -> bytes:
    """Exactly what leaves, in one spelling: the decision as REST sends it, without its certificate.

    JSON with sorted names, no spaces, UTF-8: whoever holds the answer can recompute the signed digest.
    """
    bare = pb.Decision()
    bare.CopyFrom(decision)
    bare.ClearField("certificate")
    value: Any = to_value(bare, SHAPES)
    value.pop("certificate", None)
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def with_certificate(decision: pb.Decision, certificate: Certificate) -> pb.Decision:
    """The decision with the signed record that the ledger made of it."""
    decision.certificate.CopyFrom(
        pb.Certificate(
            sequence=certificate.sequence,
            head=certificate.head,
            answer_digest=certificate.answer_digest,
            key_id=certificate.key_id,
            signature=certificate.signature,
        )
    )
    return decision


def checker_view(
    researcher: str, computed: Computation | None, outcome: Outcome | None, note: str
) -> pb.CheckerView:
    """What an output checker sees: true facts and findings with figures."""
    view = pb.CheckerView(researcher=researcher, note=note)
    if computed is not None:
        view.dimensions.extend(axes_to_messages(computed.table.axes, with_cells=True))
        view.facts.CopyFrom(facts_to_message(computed.table.facts))
    if outcome is not None:
        view.findings.extend(finding_to_message(finding) for finding in outcome.findings)
        if outcome.judgement is not None and outcome.judgement.risk is not None:
            risk = outcome.judgement.risk
            view.risk.CopyFrom(
                policy_pb2.TableRisk(
                    base_units=risk.base_units,
                    key_cells=risk.key_cells,
                    sample_uniques=risk.sample_uniques,
                    expected_matches_uniques=risk.expected_matches_uniques,
                    expected_matches=risk.expected_matches,
                    reidentification_rate=risk.reidentification_rate,
                    maximum=risk.maximum,
                )
            )
    return view
