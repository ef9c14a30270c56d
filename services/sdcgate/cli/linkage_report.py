"""What could be linked in words, and a line a record."""

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sdcgate.cli.assessment.parts import Bars, Section, Table, count, percent, plural
from sdcgate_proto.sdcgate.risk.v1 import linkage_pb2 as pb

MOST_PATTERNS = 12
"""Patterns of agreement that are shown."""


def linkage_sections(options: pb.LinkageOptions, answer: pb.LinkRecordsResponse) -> tuple[Section, ...]:
    """The sections of a report on two files."""
    names = [one.column for one in options.variables]
    sections = [files_section(names, answer)]
    if answer.HasField("distance"):
        sections.append(distance_section(answer.distance, answer))
    if answer.HasField("probabilistic"):
        sections.append(probabilistic_section(names, answer.probabilistic, answer))
    if answer.intervals:
        sections.append(interval_section(names, answer))
    if answer.HasField("population"):
        sections.append(population_section(answer.population))
    if answer.HasField("measurement_error"):
        sections.append(errors_section(names, answer.measurement_error, answer))
    if answer.HasField("areas"):
        sections.append(areas_section(answer.areas))
    return tuple(sections)


def files_section(names: list[str], answer: pb.LinkRecordsResponse) -> Section:
    """Which files, by which variables."""
    known = answer.known_records
    if answer.HasField("areas"):
        text = (
            f"{plural(answer.released_records, 'released record')} in {plural(len(answer.areas.psus), 'PSU')}"
        )
        by = f"against {plural(answer.original_records, 'area')}, by {', '.join(names)}."
        return Section("The files", (f"{text} {by}",))
    words = [
        f"{plural(answer.released_records, 'released record')} against "
        f"{plural(answer.original_records, 'original record')}, by {', '.join(names)}.",
    ]
    if known:
        words.append(f"Of {known:,} of them it is known who they are: so right links can be counted.")
    elif not answer.HasField("population"):
        words.append("Nobody says who is who: right links cannot be counted.")
    return Section("The files", tuple(words))


def distance_section(found: pb.DistanceLinks, answer: pb.LinkRecordsResponse) -> Section:
    """Nearest originals."""
    nearest, second = np.array(found.nearest), np.array(found.second)
    linked = np.isfinite(nearest)
    words = []
    if found.HasField("expected_matches"):
        words.append(
            f"Who links every released record to the nearest original is right in "
            f"{count(found.expected_matches)} of {answer.released_records:,} cases: {percent(found.rate)}."
        )
    words.append(f"{plural(found.unique_links, 'record has', 'records have')} one nearest original alone.")
    if linked.sum() < len(nearest):
        words.append(f"{len(nearest) - int(linked.sum()):,} have none in their block.")
    rows = [
        (name, *(f"{value:.4g}" for value in np.quantile(distances[linked], (0.1, 0.5, 0.9))))
        for name, distances in (("nearest", nearest), ("second nearest", second))
        if linked.any()
    ]
    table = Table(("distance to the", "10% below", "median", "90% below"), tuple(rows))
    return Section("Links by distance", tuple(words), (table,) if rows else ())


def probabilistic_section(
    names: list[str], found: pb.ProbabilisticLinks, answer: pb.LinkRecordsResponse
) -> Section:
    """The model, the thresholds, the classes of pairs."""
    words = [
        f"A pair is linked from an index of {_bound(found.link_from)}, and not linked up to "
        f"{_bound(found.no_link_to)}; between them a clerk looks (Fellegi and Sunter).",
        f"Of the {answer.released_records:,} released records {found.linked_records:,} have a best link "
        f"that is linked, {found.clerical_records:,} one for a clerk.",
    ]
    if found.HasField("expected_matches"):
        words.append(f"{count(found.expected_matches)} of those that are linked are expected to be right.")
    model = Table(
        ("variable", "agrees in a match (m)", "in another pair (u)", "log2(m/u)"),
        tuple(
            (name, f"{m:.4f}", f"{u:.4f}", f"{np.log2(m / u):.2f}")
            for name, m, u in zip(names, found.matches, found.others, strict=True)
        ),
    )
    classes = Table(
        ("pairs that are", "number"),
        (
            ("linked", count(found.linked_pairs)),
            ("for a clerk", count(found.clerical_pairs)),
            ("not linked", count(found.other_pairs)),
        ),
    )
    return Section("Probabilistic linkage", tuple(words), (model, classes, _patterns(names, found)))


def _patterns(names: list[str], found: pb.ProbabilisticLinks) -> Table:
    """The patterns of agreement with the highest index that occur."""
    pairs, index = np.array(found.pattern_pairs), np.array(found.pattern_index)
    occurring = np.flatnonzero(pairs > 0)
    order = occurring[np.argsort(-index[occurring], kind="stable")][:MOST_PATTERNS]
    rows = tuple(
        (
            ", ".join(name for place, name in enumerate(names) if pattern >> place & 1) or "nothing",
            f"{index[pattern]:.2f}",
            count(pairs[pattern]),
        )
        for pattern in order.tolist()
    )
    return Table(("agrees on", "index", "pairs"), rows, "Patterns with the highest index.")


def interval_section(names: list[str], answer: pb.LinkRecordsResponse) -> Section:
    """Shares of values inside, by width."""
    words = ("Share of the original values that lie within an interval around the released one.",)
    rows = tuple(
        (f"{one.width:g}", percent(one.of_values), percent(one.of_records), *map(percent, one.of_variables))
        for one in answer.intervals
    )
    table = Table(("width", "values", "whole records", *names), rows)
    bars = Bars(
        "Values inside, by width",
        tuple(f"{one.width:g}" for one in answer.intervals),
        tuple(one.of_values for one in answer.intervals),
        tuple(percent(one.of_values) for one in answer.intervals),
        "width",
    )
    return Section("Interval disclosure", words, (table, bars))


def population_section(found: pb.PopulationCounts) -> Section:
    """The rows of Israel CBS's Table 2."""
    alone = found.population_uniques / found.population_keys
    rows = (
        ("keys in the sample", count(found.sample_keys)),
        ("uniques in the sample", count(found.sample_uniques)),
        ("keys in the population", count(found.population_keys)),
        ("uniques in the population", count(found.population_uniques)),
        ("percentage of uniques in the population", percent(alone)),
        ("sample uniques matched", count(found.matched)),
        ("sample uniques unmatched", count(found.unmatched)),
        ("average number of correct matches", count(found.expected_matches)),
        ("the same if the unmatched were like the matched", count(found.expected_matches_with_unmatched)),
        ("matches one to one", count(found.one_to_one)),
    )
    words = ("Every sample unique is looked up in the population.",)
    return Section("Linkage to the population", words, (Table(("measure", "figure"), rows),))


def errors_section(
    names: list[str], found: pb.MeasurementErrorLinks, answer: pb.LinkRecordsResponse
) -> Section:
    """Numbers with errors."""
    words = (
        f"Who has the original numbers of a person and takes the most likely record is right for "
        f"{count(found.expected_matches)} of {answer.known_records:,}: {percent(found.rate)}.",
        f"The right records have {count(found.sum_correct)} in sum of their probabilities.",
    )
    rows = tuple((name, f"{error:.4g}") for name, error in zip(names, found.errors, strict=True))
    return Section(
        "Numbers with errors", words, (Table(("variable", "standard deviation of the error"), rows),)
    )


def areas_section(found: pb.AreaLinks) -> Section:
    """PSUs and areas, and what they add to the risk of people."""
    psus = len(found.psus)
    sure = sum(one >= 0.95 for one in found.probability)
    words = [
        f"Of {plural(psus, 'PSU')} {count(found.expected_matches)} are expected to be linked rightly to an "
        f"area; {sure:,} with a probability of 95% or more.",
    ]
    if found.HasField("right_matches"):
        words.append(f"Really right are {count(found.right_matches)}.")
    if found.linked_together:
        linked = sum(one > 0 for one in found.linked_together)
        right = f", {count(found.right_together)} rightly" if found.HasField("right_together") else ""
        words.append(f"Where no two may be in one area, {linked:,} of them are linked at once{right}.")
    if not found.HasField("risk"):
        return Section("PSUs and areas", tuple(words))
    risk = found.risk
    rows = (
        ("areas are not known", count(risk.without)),
        ("with what the figures tell of areas", count(risk.with_areas)),
        ("all areas are known", count(risk.with_known_areas)),
    )
    table = Table(("expected correct matches of records where", "number"), rows)
    return Section("PSUs and areas", tuple(words), (table,))


def write_matches(answer: pb.LinkRecordsResponse, file: Path) -> None:
    """Write a line a released record. Raises ValueError where the method says nothing of records."""
    columns: dict[str, Iterable[float]]
    if answer.HasField("distance"):
        links = answer.distance
        columns = {
            "original": links.linked,
            "distance": links.nearest,
            "second_distance": links.second,
            "ties": links.ties,
            "correct": links.correct,
        }
    elif answer.HasField("probabilistic"):
        best = answer.probabilistic
        columns = {"original": best.linked, "index": best.index, "ties": best.ties, "correct": best.correct}
    elif answer.HasField("population"):
        columns = {"people": answer.population.population_counts}
    elif answer.HasField("measurement_error"):
        of = answer.measurement_error
        columns = {"linked": of.linked, "probability": of.probability, "correct": of.correct}
    elif answer.areas.risk.by_record:
        columns = {"risk": answer.areas.risk.by_record}
    else:
        raise ValueError("--by-record: this method says nothing of single records")
    present = {name: list(values) for name, values in columns.items() if values}
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["released", *present])
        for number, row in enumerate(zip(*present.values(), strict=True), start=1):
            writer.writerow([number, *row])


def _bound(index: float) -> str:
    return f"{index:.2f}" if np.isfinite(index) else "none"
