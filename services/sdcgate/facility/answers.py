"""Decisions as they leave and as the ledger keeps them: exact bytes, digests, the checker's record."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.asked import Asked
from sdcgate.facility.judging import Computation
from sdcgate.facility.knowledge import NoisyRelease, ReleasedTable
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.population_limits import PopulationLimit
from sdcgate.facility.released_equations import ReleasedEquations
from sdcgate.ledger.certificates import Certificate
from sdcgate.wire.dimensions import axes_to_messages
from sdcgate.wire.json import to_value
from sdcgate.wire.rules import finding_to_message
from sdcgate.wire.table_json import SHAPES
from sdcgate.wire.tables import facts_to_message
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2
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


def release_bytes(
    dataset: Dataset,
    released: Iterable[ReleasedTable],
    noisy: NoisyRelease | None = None,
    windows: Iterable[ReleasedWindow] = (),
    limit: PopulationLimit | None = None,
    equations: Iterable[ReleasedEquations] = (),
    exception: bool = False,
    fits: Iterable[ReleasedTable] = (),
) -> bytes:
    """What the ledger keeps of a release, to compare later answers with."""
    release = release_pb2.Release(dataset=dataset.name, version=dataset.version, exception=exception)
    for kept, tables in ((release.tables, released), (release.fits, fits)):
        for part in tables:
            kept.add(
                quantity=part.quantity,
                boxes=part.table.to_bytes(),
                facts=facts_to_message(part.facts),
                known=part.told.cells,
                unsafe=part.told.unsafe,
            )
    for table in noisy.tables if noisy is not None else ():
        release.noisy.add(
            quantity=table.quantity,
            boxes=table.table.to_bytes(),
            figures=table.true.tolist(),
            noisy=table.noisy.tolist(),
            unsafe=np.flatnonzero(table.unsafe).tolist(),
            reach=table.reach.tolist(),
            width=table.width.tolist(),
        )
    release.noise = noisy.noise if noisy is not None else ""
    release.windows.extend(window.message() for window in windows)
    if limit is not None:
        release.limits.append(limit.message())
    release.equations.extend(one.message() for one in equations)
    return release.SerializeToString(deterministic=True)
