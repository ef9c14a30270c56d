"""The theoretical R-U map over gRPC: points in the unit of a variable, and what is wrong with a request."""

import numpy as np
import pytest

from risk_server import served_risk, told
from sdcgate_proto.sdcgate.risk.v1 import confidentiality_map_pb2 as pb


@pytest.fixture(scope="module")
def stub():
    with served_risk() as made:
        yield made


def asked(noise=(), recodings=(), **variable):
    cut_offs = [pb.CutOffs(cut_offs=one) for one in recodings]
    return pb.MapConfidentialityRequest(noise=noise, recodings=cut_offs, **variable)


def test_at_the_same_utility_recoding_is_riskier_by_one(stub):
    """R^c = R^a + 1 (Shlomo 2003, II): the noise that a recoding is as useful as, asked for in its turn."""
    recoded = stub.MapConfidentiality(asked(recodings=[[0.0], [-1.0, 0.3, 2.0]])).recodings
    noise = stub.MapConfidentiality(asked(noise=[one.equal_noise for one in recoded])).noise
    for one, other in zip(recoded, noise, strict=True):
        assert other.utility == pytest.approx(one.utility, rel=1e-12)
        assert one.risk == pytest.approx(other.risk + 1.0, rel=1e-12)
    assert recoded[0].utility == pytest.approx(2 / np.pi, rel=1e-14)


def test_cut_offs_and_noise_are_in_the_variables_unit(stub):
    plain = stub.MapConfidentiality(asked([0.5], [[-1.0, 1.0]]))
    incomes = stub.MapConfidentiality(
        asked([450.0], [[2100.0, 3900.0]], mean=3000.0, standard_deviation=900.0)
    )
    assert incomes.noise[0].risk == pytest.approx(plain.noise[0].risk) == pytest.approx(4.0)
    assert incomes.recodings[0].risk == pytest.approx(plain.recodings[0].risk)
    assert incomes.recodings[0].equal_noise == pytest.approx(900 * plain.recodings[0].equal_noise)
    assert list(incomes.recodings[0].cut_offs) == [2100.0, 3900.0]


def test_without_points_usual_ones_are_drawn(stub):
    usual = stub.MapConfidentiality(asked())
    assert (len(usual.noise), len(usual.recodings)) == (20, 9)
    assert [len(one.cut_offs) + 1 for one in usual.recodings] == list(range(2, 11))
    risks = [one.risk for one in usual.recodings]
    assert risks == sorted(risks)


def test_a_recoding_that_leaves_nothing_has_no_noise_as_useful(stub):
    (point,) = stub.MapConfidentiality(asked(recodings=[[60.0]])).recodings
    assert (point.utility, point.risk) == (0.0, 1.0)
    assert not point.HasField("equal_noise")


@pytest.mark.parametrize(
    ("request_", "wrong"),
    [
        (asked([0.0, 1.0, -1.0]), {"noise[0]", "noise[2]"}),
        (asked([float("nan")], [[]]), {"noise[0]", "recodings[0].cut_offs"}),
        (asked(recodings=[[0, 1], [1, 1], [2, 1]]), {"recodings[1].cut_offs", "recodings[2].cut_offs"}),
        (asked(recodings=[[1e300, 1.5e300]], standard_deviation=1e-300), {"recodings[0].cut_offs"}),
        (asked([1e-200], standard_deviation=1e200), {"noise[0]"}),
        (asked([1.0, 1e168]), {"noise[1]"}),
        (asked(recodings=[[1e300]], standard_deviation=1e-300), {"recodings[0].cut_offs"}),
        (asked(standard_deviation=0.0, mean=float("inf")), {"standard_deviation", "mean"}),
    ],
)  # fmt: skip
def test_what_is_wrong_has_its_path(stub, request_, wrong):
    assert set(told(lambda: stub.MapConfidentiality(request_))) == wrong
