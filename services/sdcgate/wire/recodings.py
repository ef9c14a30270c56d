"""The comparison of recodings, between messages and the methods' shapes."""

from sdcgate.methods.risk.recoding import Measured, WorstTable
from sdcgate.methods.risk.recoding_comparison import (
    AccessBound,
    ComparedRecoding,
    ComparisonOptions,
    RecodingComparison,
)
from sdcgate.wire.microdata import given
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2
from sdcgate_proto.sdcgate.risk.v1 import recodings_pb2 as pb


def comparison_options(message: pb.RecodingOptions) -> ComparisonOptions:
    """What was chosen, of a message whose constraints hold."""
    usual = ComparisonOptions()
    return ComparisonOptions(
        maximum_share=given(message, "maximum_share", usual.maximum_share),
        maximum_recodings=given(message, "maximum_recodings", None),
        access=tuple(
            AccessBound(one.access_level, one.maximum_share, given(one, "maximum_risk", 1.0))
            for one in message.access_levels
        ),
        table_dimensions=given(message, "table_dimensions", None),
    )


def comparison_to_message(found: RecodingComparison, units: int) -> pb.CompareRecodingsResponse:
    """The comparison as a message."""
    rows = {row.measured.recoding: _recoding(row) for row in found.rows}
    return pb.CompareRecodingsResponse(
        units=units,
        variables=[pb.RecodedVariable(column=names[0], levels=names) for names in found.levels],
        possible=found.possible,
        evaluated=found.evaluated,
        finished=found.finished,
        maximum_share=found.bound,
        best=None if found.best is None else rows[found.best.recoding],
        recodings=rows.values(),
    )


def _recoding(row: ComparedRecoding) -> pb.Recoding:
    measured: Measured = row.measured
    left = measured.between_share
    return pb.Recoding(
        levels=measured.recoding,
        key_cells=measured.key_cells,
        sample_uniques=measured.sample_uniques,
        population_uniques=measured.population_uniques,
        expected_matches=measured.expected_matches,
        share=measured.share,
        maximum=measured.maximum,
        entropy_loss=1.0 - measured.entropy_share,
        variance_loss=None if left is None else 1.0 - left,
        frontier=row.frontier,
        access_level=row.access,
        worst_table=None if row.worst_table is None else _table(row.worst_table),
    )


def _table(table: WorstTable) -> microdata_pb2.WorstTable:
    return microdata_pb2.WorstTable(
        keys=table.variables,
        expected_matches=table.expected_matches,
        sample_uniques=table.sample_uniques,
        key_cells=table.key_cells,
    )
