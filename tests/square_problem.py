"""A table of three by three cells with totals, as the protection service is asked about it."""

import numpy as np

from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

COUNTS = np.array([2, 9, 8, 19, 8, 12, 9, 29, 7, 20, 11, 38, 17, 41, 28, 86])


def dimension(name, cells=()):
    return table_pb2.Dimension(variable=name, codes=["1", "2", "3", "_T"], cells=cells)


def problem(facts=None, **changed):
    said = {"dimensions": [dimension("a"), dimension("b")], "count_width": 2, "records_per_unit": 1}
    given = {"units": COUNTS.tolist()} if facts is None else facts
    return pb.ProtectionProblem(
        **(said | {"units_additive": True} | changed), facts=table_pb2.CellFacts(**given)
    )
