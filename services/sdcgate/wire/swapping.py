"""Swapping of files, between messages and the methods' shapes."""

import math

from sdcgate.methods.microdata.rank_swapping_loss import RankSwappingLoss, VariableChange
from sdcgate.methods.microdata.swapping_loss import SwappingLoss
from sdcgate_proto.sdcgate.protection.v1 import microdata_pb2 as pb


def drawn_by(options: pb.ProtectMicrodataOptions) -> bytes:
    """The options that draws rest on, in one form: not which tables the report compares."""
    kept = pb.ProtectMicrodataOptions()
    kept.CopyFrom(options)
    if kept.HasField("record_swapping"):
        kept.record_swapping.ClearField("tables")
    return kept.SerializeToString(deterministic=True)


def swapping_to_message(
    found: SwappingLoss,
    hierarchy: tuple[str, ...],
    tables: tuple[tuple[str, ...], ...],
    kept: tuple[str, ...],
) -> pb.ProtectMicrodataReport:
    """The report on record swapping, with the names of levels, tables and variables."""
    return pb.ProtectMicrodataReport(
        record_swapping=pb.RecordSwappingReport(
            households=found.households,
            records=found.records,
            swapped_households=found.swapped_households,
            swapped_records=found.swapped_records,
            by_profile=found.by_profile,
            levels=[
                pb.LevelMoves(
                    level=name,
                    at_risk=one.at_risk,
                    stayed=one.stayed,
                    narrower=one.narrower,
                    moved_households=one.moved_households,
                    moved_records=one.moved_records,
                )
                for name, one in zip(hierarchy, found.levels, strict=True)
            ],
            tables=[
                pb.TableChange(
                    level=hierarchy[one.level],
                    variables=tables[one.table],
                    cells=one.cells,
                    changed=one.changed,
                    mean_absolute=one.mean_absolute,
                    largest_absolute=one.largest_absolute,
                    hellinger=one.hellinger,
                )
                for one in found.tables
            ],
            kept=kept,
        )
    )


def rank_swapping_to_message(found: RankSwappingLoss, names: tuple[str, ...]) -> pb.ProtectMicrodataReport:
    """The report on rank swapping, with the names of the variables."""
    return pb.ProtectMicrodataReport(
        rank_swapping=pb.RankSwappingReport(
            records=found.records,
            variables=[_changed(name, one) for name, one in zip(names, found.variables, strict=True)],
            mean_correlation_change=_known(found.mean_correlation_change),
            largest_correlation_change=_known(found.largest_correlation_change),
        )
    )


def _changed(name: str, one: VariableChange) -> pb.RankedChange:
    return pb.RankedChange(
        column=name,
        values=one.values,
        window=one.window,
        changed=one.changed,
        mean_rank_difference=one.mean_rank_difference,
        correlation=_known(one.correlation),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
