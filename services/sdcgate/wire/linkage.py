"""Record linkage, between messages and the methods' shapes."""

from sdcgate.methods.risk.file_linkage import (
    DistanceOptions,
    LinkedFiles,
    ProbabilisticLinkage,
    ProbabilisticOptions,
)
from sdcgate.methods.risk.interval_disclosure import Interval, IntervalDisclosure
from sdcgate.methods.risk.linkage import Links, Metric, Scale
from sdcgate.methods.risk.population_linkage import PopulationLinkage
from sdcgate.wire.microdata import given
from sdcgate_proto.sdcgate.risk.v1 import linkage_pb2 as pb

METRICS = {
    pb.LINKAGE_METRIC_UNSPECIFIED: Metric.EUCLIDEAN,
    pb.LINKAGE_METRIC_EUCLIDEAN: Metric.EUCLIDEAN,
    pb.LINKAGE_METRIC_MANHATTAN: Metric.MANHATTAN,
}
SCALES = {
    pb.STANDARDISATION_UNSPECIFIED: Scale.OWN,
    pb.STANDARDISATION_OWN: Scale.OWN,
    pb.STANDARDISATION_ORIGINAL: Scale.ORIGINAL,
    pb.STANDARDISATION_RANGE: Scale.RANGE,
    pb.STANDARDISATION_NONE: Scale.NONE,
}
BASES = {
    pb.INTERVAL_BASIS_UNSPECIFIED: Interval.RANK,
    pb.INTERVAL_BASIS_RANK: Interval.RANK,
    pb.INTERVAL_BASIS_STANDARD_DEVIATION: Interval.STANDARD_DEVIATION,
}
USUAL_WIDTHS = tuple(step / 100 for step in range(1, 11))


def distance_options(message: pb.LinkageOptions, weights: tuple[float, ...]) -> DistanceOptions:
    """How distances are measured, with the weights of the numbers, then of the categories."""
    return DistanceOptions(
        METRICS[message.metric], SCALES[message.standardisation], weights, message.one_to_one
    )


def probabilistic_options(message: pb.LinkageOptions) -> ProbabilisticOptions:
    """What errors are accepted."""
    usual = ProbabilisticOptions()
    return ProbabilisticOptions(
        given(message, "false_links", usual.false_links),
        given(message, "false_non_links", usual.false_non_links),
        given(message, "matches", usual.matches),
    )


def answer_of(files: LinkedFiles) -> pb.LinkRecordsResponse:
    """An answer without the section of a method."""
    return pb.LinkRecordsResponse(
        original_records=len(files.original),
        released_records=len(files.released),
        known_records=int((files.known >= 0).sum()),
    )


def distance_to_message(found: Links, files: LinkedFiles, summary_only: bool) -> pb.DistanceLinks:
    """Links by distance as a message."""
    known = files.truth is not None
    by_record = pb.DistanceLinks() if summary_only else pb.DistanceLinks(
        linked=(found.linked + 1).tolist(),
        nearest=found.distances.tolist(),
        second=found.second.tolist(),
        ties=found.ties.tolist(),
        correct=found.correct.tolist() if known else (),
    )  # fmt: skip
    by_record.unique_links = int((found.ties == 1).sum())
    if known:
        by_record.expected_matches, by_record.rate = found.expected_matches, found.rate
    return by_record


def probabilistic_to_message(
    found: ProbabilisticLinkage, files: LinkedFiles, summary_only: bool
) -> pb.ProbabilisticLinks:
    """Fellegi and Sunter's linkage as a message."""
    model, at, links = found.model, found.at, found.links
    linked, clerical, others = found.classes
    known = files.truth is not None
    message = pb.ProbabilisticLinks(
        matches=model.matches.tolist(),
        others=model.others.tolist(),
        share=model.share,
        link_from=at.lt,
        no_link_to=at.nlt,
        false_links=at.false_links,
        false_non_links=at.false_non_links,
        linked_pairs=linked,
        clerical_pairs=clerical,
        other_pairs=others,
        expected_matches=links.expected_matches if known else None,
        linked_records=int(links.linked.sum()),
        clerical_records=int(links.clerical.sum()),
        pattern_pairs=model.pairs.tolist(),
        pattern_index=model.index.tolist(),
    )
    if not summary_only:
        message.linked.extend((links.linked_to + 1).tolist())
        message.index.extend(links.index.tolist())
        message.ties.extend(links.ties.tolist())
        message.correct.extend(links.correct.tolist() if known else ())
    return message


def interval_to_message(width: float, found: IntervalDisclosure) -> pb.IntervalDisclosure:
    """Interval disclosure of one width as a message."""
    return pb.IntervalDisclosure(
        width=width,
        of_variables=found.of_variables.tolist(),
        of_values=found.of_values,
        of_records=found.of_records,
    )


def population_to_message(found: PopulationLinkage, summary_only: bool) -> pb.PopulationCounts:
    """Linkage by the population's key counts as a message."""
    return pb.PopulationCounts(
        sample_keys=found.sample_keys,
        sample_uniques=found.sample_uniques,
        population_keys=found.population_keys,
        population_uniques=found.population_uniques,
        matched=found.matched,
        unmatched=found.unmatched,
        expected_matches=found.expected_matches,
        expected_matches_with_unmatched=found.expected_matches_with_unmatched,
        one_to_one=found.one_to_one,
        population_counts=() if summary_only else found.population_counts.tolist(),
    )
