from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2


def test_violated_constraints_come_with_paths():
    request = facility_pb2.QueryTableRequest(
        dataset="d",
        rows=[facility_pb2.DimensionRequest(variable="a"), facility_pb2.DimensionRequest()],
        figures=[facility_pb2.FigureRequest()],
        filter=[facility_pb2.FilterRequest(variable="x")],
    )
    found = {problem.path: problem.message for problem in violations(request)}
    assert set(found) == {"rows[1].variable", "figures[0].statistic", "filter[0].codes"}
    assert all(found.values())


def test_a_good_envelope_has_none():
    assert violations(facility_pb2.QueryTableRequest(dataset="d")) == []
