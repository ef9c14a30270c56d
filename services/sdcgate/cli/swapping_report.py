"""What swapping changed in a file, in words and tables."""

from sdcgate.cli.assessment.parts import Section, Table, count, percent, plural
from sdcgate_proto.sdcgate.protection.v1 import microdata_pb2 as pb


def swapping_sections(report: pb.ProtectMicrodataReport) -> tuple[Section, ...]:
    """The sections of a report on a swapped file."""
    if report.HasField("rank_swapping"):
        return (_ranks(report.rank_swapping),)
    found = report.record_swapping
    return (_moves(found), _tables(found), _kept(found))


def _moves(found: pb.RecordSwappingReport) -> Section:
    """How many were swapped, and across which levels."""
    share = percent(found.swapped_households / found.households)
    words = [
        f"{found.swapped_households:,} of {plural(found.households, 'household')} ({share}) were swapped, "
        f"with them {plural(found.swapped_records, 'record')}."
    ]
    if len(found.by_profile) > 1:
        each = ", ".join(map(count, found.by_profile))
        words.append(f"By each similarity profile, in their order: {each} households.")
    stayed = sum(one.stayed for one in found.levels)
    if stayed:
        words.append(
            f"{plural(stayed, 'household')} at risk stayed, as no like household was found elsewhere: "
            "they are not protected."
        )
    rows = tuple(
        (
            one.level,
            count(one.at_risk),
            count(one.stayed),
            count(one.narrower),
            count(one.moved_households),
            percent(one.moved_records / found.records),
        )
        for one in found.levels
    )
    headers = ("level", "at risk", "stayed", "swapped within", "households moved", "of the records")
    return Section("Who changed places", tuple(words), (Table(headers, rows),))


def _tables(found: pb.RecordSwappingReport) -> Section:
    """What became of the tables."""
    rows = tuple(
        (
            " x ".join((one.level, *one.variables)),
            count(one.cells),
            percent(one.changed / one.cells),
            f"{one.mean_absolute:.4g}",
            count(one.largest_absolute),
            f"{one.hellinger:.4f}",
        )
        for one in found.tables
    )
    headers = ("table", "cells", "changed", "mean change", "largest", "Hellinger")
    words = (
        "Records before and after; a cell has one before or after. Hellinger's distance is of shares, 0 to 1."
        if rows
        else "No table was compared: name risk variables, or tables.",
    )
    return Section("Tables by area", words, (Table(headers, rows),) if rows else ())


def _kept(found: pb.RecordSwappingReport) -> Section:
    """What is what it was."""
    by = f" by {', '.join(found.kept)}" if found.kept else ""
    words = (
        f"Every area has the same number of households and of persons{by}, which was checked. Every table "
        "without the geography and what it carries along is what it was.",
    )
    return Section("What did not change", words)


def _ranks(found: pb.RankSwappingReport) -> Section:
    """How far values went."""
    rows = tuple(
        (
            one.column,
            count(one.values),
            count(one.window),
            percent(one.changed / one.values),
            percent(one.mean_rank_difference),
            f"{one.correlation:.4f}" if one.HasField("correlation") else "",
        )
        for one in found.variables
    )
    words = [
        f"{plural(found.records, 'record')}. The distribution of each variable by itself is what it was."
    ]
    if found.HasField("mean_correlation_change"):
        words.append(
            f"Correlations of these variables changed by {found.mean_correlation_change:.4f} on average, "
            f"by {found.largest_correlation_change:.4f} at most."
        )
    headers = ("variable", "values", "window", "changed", "mean rank difference", "correlation with itself")
    return Section("Whose values changed places", tuple(words), (Table(headers, rows),))
