"""Example of the OpenAPI document: a table that left with noise in all figures."""

from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, table_pb2


def with_noise(released: pb.Decision) -> pb.Decision:
    """The example of a released table as a policy with cell keys answers it; totals do not add up exactly."""
    noisy = pb.Decision()
    noisy.CopyFrom(released)
    noisy.policy.name = "cell-key"
    del noisy.alternatives[:], noisy.reasons[:], noisy.table.figures[:], noisy.table.statuses[:]
    noisy.reasons.add(
        code=policy_pb2.REASON_CODE_PERTURBED,
        message="Counts have small random changes, the same for the same persons in every table; totals have "
        "changes of their own, so that they need not be the sums of their parts.",
    )
    noisy.table.figures.add(
        statistic=table_pb2.STATISTIC_UNITS, values=[0, 109, 115, 78, 61, 136, 86, 171, 250]
    )
    noisy.table.statuses.extend([table_pb2.CELL_STATUS_PERTURBED] * 9)
    return noisy
