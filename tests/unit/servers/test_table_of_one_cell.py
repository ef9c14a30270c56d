"""A table without dimensions is one cell, for the protection service as for all others."""

import pytest

from protection_server import served_protection
from sdcgate_proto.sdcgate.protection.v1 import perturbation_pb2 as perturbation
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2


@pytest.fixture(scope="module")
def stub():
    with served_protection() as served:
        yield served


def alone(units=7, **changed):
    facts = table_pb2.CellFacts(
        units=[units], measures=[table_pb2.MeasureFacts(measure="income", sums=[900.0], lower_bound=0)]
    )
    said = {"count_width": 3, "sum_width": 0.1, "records_per_unit": 1, "units_additive": True} | changed
    return pb.ProtectionProblem(facts=facts, **said)


def protect(problem, unsafe=(0,), **method):
    return pb.ProtectTableRequest(problem=problem, unsafe=unsafe, time_limit_ms=5000, **method)


def test_its_cell_is_withheld_and_proved_so(stub):
    found = stub.ProtectTable(protect(alone(), intervals=True))
    assert (found.proof, list(found.withheld)) == (pb.PROOF_PROVED, [0])
    told = {one.fact: one for one in found.intervals}
    assert told["units"].lower == 1
    assert not told["units"].HasField("upper")


def test_what_was_withheld_can_be_audited(stub):
    found = stub.AuditTable(pb.AuditTableRequest(problem=alone(), withheld=[0], time_limit_ms=5000))
    assert found.proof == pb.PROOF_PROVED


def test_where_its_bounds_tell_it_there_is_no_pattern(stub):
    bounds = pb.CellBounds(facts=pb.FactOfCells(fact="CELL_FACT_UNITS", cells=[0]), lower=[6], upper=[7])
    found = stub.ProtectTable(protect(alone(cell_bounds=[bounds])))
    assert found.proof == pb.PROOF_REFUTED
    assert "units of [all] can be told to within 1" in found.unmet[0].sentence


def test_it_is_rounded_and_gets_noise(stub):
    rounding = perturbation.Rounding(kind="ROUNDING_KIND_NEAREST", base=5)
    rounded = stub.ProtectTable(protect(alone(), rounding=rounding)).perturbed.facts
    assert (rounded[0].fact, list(rounded[0].values)) == ("units", [5])
    noise = perturbation.NoiseParameters(maximum_noise=3, variance=1.5)
    keys = perturbation.CellKeys(keys=[2**63], noise=noise)
    (units, *_) = stub.ProtectTable(protect(alone(), cell_keys=keys)).perturbed.facts
    assert abs(units.values[0] - 7) <= 3
