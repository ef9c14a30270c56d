"""PSUs linked to areas, and numbers with errors, as messages."""

from collections.abc import Sequence

import numpy as np

from sdcgate.methods.risk.file_linkage import LinkedFiles
from sdcgate.methods.risk.file_psus import PsuFile, PsuFileLinkage
from sdcgate.methods.risk.population_linkage import MeasurementErrorRisk
from sdcgate_proto.sdcgate.risk.v1 import linkage_pb2 as pb


def areas_to_answer(
    found: PsuFileLinkage, file: PsuFile, psus: Sequence[str], summary_only: bool
) -> pb.LinkRecordsResponse:
    """The links of PSUs as an answer."""
    links, risk = found.links, found.risk
    message = pb.AreaLinks(
        psus=psus,
        expected_matches=links.expected_matches,
        linked=(links.best + 1).tolist(),
        probability=links.best_probability.tolist(),
        ties=links.ties.tolist(),
    )
    if file.truth is not None:
        message.right_matches = float(links.right(file.truth).sum())
        message.true_probability.extend(links.of_areas(file.truth).tolist())
    if found.together is not None:
        message.linked_together.extend((found.together + 1).tolist())
        if file.truth is not None:
            message.right_together = found.right_together(file.truth)
    if risk is not None:
        message.risk.without = float(risk.without.sum())
        message.risk.with_areas = float(risk.with_area.sum())
        message.risk.with_known_areas = float(np.maximum(risk.without, risk.within).sum())
        if not summary_only:
            message.risk.by_record.extend(risk.with_area.tolist())
    known = 0 if file.truth is None else int((file.truth[file.psus] >= 0).sum())
    return pb.LinkRecordsResponse(
        original_records=len(file.areas),
        released_records=len(file.values),
        known_records=known,
        areas=message,
    )


def errors_to_message(
    found: MeasurementErrorRisk, errors: Sequence[float], files: LinkedFiles, summary_only: bool
) -> pb.MeasurementErrorLinks:
    """Risk by numbers with errors, a value a released record; `found` is of those whose original is known."""
    known = np.flatnonzero(files.known >= 0)
    message = pb.MeasurementErrorLinks(
        errors=errors,
        expected_matches=found.expected_matches,
        rate=found.expected_matches / len(known),
        sum_correct=float(found.correct.sum()),
    )
    if not summary_only:
        records = len(files.released)
        correct, probability, linked = np.zeros(records), np.zeros(records), np.zeros(records, dtype=np.int64)
        correct[known], probability[known] = found.correct, found.best_probability
        linked[known] = known[found.best] + 1
        message.correct.extend(correct.tolist())
        message.linked.extend(linked.tolist())
        message.probability.extend(probability.tolist())
    return message
