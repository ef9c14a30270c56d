"""ProtectTable by cell keys and by rounding: what comes back, and what is said of bad requests."""

import grpc
import numpy as np
import pytest
from google.rpc import error_details_pb2, status_pb2

from protection_server import served_protection
from sdcgate.methods.tables.cell_key import fractions_of_keys, noise_of_counts
from sdcgate.methods.tables.ptable import NoiseParameters, ptable
from sdcgate_proto.sdcgate.protection.v1 import perturbation_pb2 as perturbation
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2
from square_problem import COUNTS, dimension, problem

INNER = np.random.default_rng(4).integers(0, 2**64, (3, 3), dtype=np.uint64)
ROWS = np.concatenate([INNER, INNER.sum(axis=1, keepdims=True)], axis=1)
KEYS = np.concatenate([ROWS, ROWS.sum(axis=0, keepdims=True)]).reshape(-1)
"""Keys of units add up modulo 2^64, as unsigned integers do."""
NOISE = perturbation.NoiseParameters(maximum_noise=3, variance=1.5, largest_blocked_count=1)
TABLE = ptable(NoiseParameters(3, 1.5, 1))


@pytest.fixture(scope="module")
def stub():
    with served_protection() as served:
        yield served


def asked(of=None, unsafe=(0,), **method):
    return pb.ProtectTableRequest(problem=of or problem(), unsafe=unsafe, time_limit_ms=5000, **method)


def keys_of(**changed):
    return perturbation.CellKeys(**({"keys": KEYS.tolist(), "noise": NOISE} | changed))


def rounding(kind, base=3.0, **more):
    return perturbation.Rounding(kind=f"ROUNDING_KIND_{kind}", base=base, **more)


def values(answer, place=0):
    return np.array(answer.perturbed.facts[place].values)


def test_counts_get_the_noise_of_their_keys(stub):
    answer = stub.ProtectTable(asked(cell_keys=keys_of()))
    noise = noise_of_counts(COUNTS, fractions_of_keys(KEYS), TABLE)
    assert [fact.fact for fact in answer.perturbed.facts] == ["units"]
    np.testing.assert_array_equal(values(answer), COUNTS + noise)
    assert (answer.proof, list(answer.unprotected), list(answer.withheld)) == (pb.PROOF_PROVED, [], [])
    utility = answer.perturbed.facts[0].utility
    assert utility.all_cells.changed == np.count_nonzero(noise)
    assert utility.all_cells.largest_absolute <= 3
    assert list(utility.moved_margins) == [cell for cell in (3, 7, 11, *range(12, 16)) if noise[cell]]


def test_cells_may_come_in_any_order_and_values_come_back_in_it(stub):
    order = np.random.default_rng(1).permutation(16)
    shuffled = problem(
        {"units": COUNTS[order].tolist()},
        dimensions=[dimension("a", (order // 4).tolist()), dimension("b", (order % 4).tolist())],
    )
    answer = stub.ProtectTable(asked(shuffled, cell_keys=keys_of(keys=KEYS[order].tolist())))
    straight = stub.ProtectTable(asked(cell_keys=keys_of()))
    np.testing.assert_array_equal(values(answer), values(straight)[order])


def test_weights_and_sums_get_noise_too_and_are_said_to_be_unchecked(stub):
    sums = 100.0 * COUNTS
    facts = {
        "units": COUNTS.tolist(),
        "weight_sums": (2.0 * COUNTS).tolist(),
        "measures": [
            table_pb2.MeasureFacts(
                measure="income", sums=sums.tolist(), largest=(10.0 * COUNTS).tolist(), ranks=1, lower_bound=0
            )
        ],
    }
    noise = perturbation.SumNoise(shares=[0.1], unsafe_share=0.2)
    answer = stub.ProtectTable(asked(problem(facts), cell_keys=keys_of(sums=noise)))
    assert [fact.fact for fact in answer.perturbed.facts] == ["units", "weight_sums", "sums of income"]
    np.testing.assert_allclose(values(answer, 1), 2 * values(answer, 0))
    change = np.abs(values(answer, 2) - sums)
    assert change[0] >= 0.2 * 10 * COUNTS[0]
    assert np.all(change <= (0.3 + 0.2) * 10 * COUNTS)
    assert list(answer.unchecked) == ["weight_sums", "sums of income"]
    assert (answer.proof, list(answer.unprotected)) == (pb.PROOF_UNPROVED, [0])


def test_a_table_made_elsewhere_is_used_as_it_is(stub):
    given = perturbation.PTable(
        counts=TABLE.counts.tolist(),
        noise=TABLE.noise.tolist(),
        probabilities=TABLE.probabilities.tolist(),
        upper_bounds=TABLE.upper.tolist(),
    )
    answer = stub.ProtectTable(asked(cell_keys=perturbation.CellKeys(keys=KEYS.tolist(), ptable=given)))
    np.testing.assert_array_equal(values(answer), values(stub.ProtectTable(asked(cell_keys=keys_of()))))


def test_controlled_rounding_adds_up_and_says_how_near_it_is(stub):
    answer = stub.ProtectTable(asked(rounding=rounding("CONTROLLED")))
    rounded = answer.perturbed.rounded
    assert (rounded.found, rounded.steps) == (perturbation.FOUND_OPTIMAL, 1)
    assert rounded.distance == rounded.least_distance == np.abs(values(answer) - COUNTS).sum()
    assert answer.perturbed.facts[0].utility.broken_relations == 0
    assert answer.proof == pb.PROOF_PROVED


def test_what_has_left_binds_controlled_rounding(stub):
    free = values(stub.ProtectTable(asked(rounding=rounding("CONTROLLED"))))
    other = 0.0 if free[0] else 3.0
    asks = rounding("CONTROLLED", released=[0], released_values=[other])
    assert values(stub.ProtectTable(asked(rounding=asks)))[0] == other
    asks = rounding("CONTROLLED", released=[0], released_values=[300])
    answer = stub.ProtectTable(asked(rounding=asks))
    assert answer.perturbed.rounded.found == perturbation.FOUND_INFEASIBLE
    assert not answer.perturbed.facts
    assert (answer.proof, list(answer.unprotected)) == (pb.PROOF_UNPROVED, [0])


def test_random_rounding_differs_from_call_to_call_unless_keys_are_given(stub):
    drawn = {tuple(values(stub.ProtectTable(asked(rounding=rounding("RANDOM", 10))))) for _ in range(5)}
    assert len(drawn) > 1
    keyed = rounding("RANDOM", 10, keys=KEYS.tolist())
    drawn = {tuple(values(stub.ProtectTable(asked(rounding=keyed)))) for _ in range(3)}
    assert len(drawn) == 1


def test_intervals_come_in_place_of_values(stub):
    answer = stub.ProtectTable(asked(rounding=rounding("INTERVALS", 5)))
    fact = answer.perturbed.facts[0]
    assert (list(fact.values), list(fact.lower[:3]), list(fact.upper[:3])) == ([], [0, 5, 5], [4, 9, 9])
    assert not fact.HasField("utility")


def test_small_counts_vanish(stub):
    answer = stub.ProtectTable(asked(rounding=rounding("SMALL_COUNTS", 5)))
    assert set(values(answer)[[0]]) <= {0.0, 5.0}
    assert answer.perturbed.facts[0].utility.broken_relations == 0


def test_rounded_sums_are_not_proved(stub):
    facts = {"measures": [table_pb2.MeasureFacts(measure="x", sums=(10.0 * COUNTS).tolist())]}
    answer = stub.ProtectTable(asked(problem(facts), rounding=rounding("CONTROLLED", 25, measure="x")))
    assert answer.perturbed.facts[0].fact == "sums of x"
    assert answer.proof == pb.PROOF_UNPROVED
    assert "sums of x" in answer.unchecked


def test_units_that_do_not_add_up_get_noise_without_a_proof(stub):
    facts = {"units": COUNTS.tolist(), "records": (2 * COUNTS).tolist()}
    panel = problem(facts, units_additive=False, records_per_unit=2)
    answer = stub.ProtectTable(asked(panel, cell_keys=keys_of()))
    assert [fact.fact for fact in answer.perturbed.facts] == ["units"]
    assert answer.proof == pb.PROOF_UNPROVED


def test_a_count_that_is_known_already_hides_no_other(stub):
    # Everything of the first row but the unsafe cell is known, and so is what it adds up to.
    of = problem(known=[1, 2, 3])
    answer = stub.ProtectTable(asked(of, cell_keys=keys_of()))
    assert (answer.proof, list(answer.unprotected)) == (pb.PROOF_REFUTED, [0])


def paths(call, request):
    with pytest.raises(grpc.RpcError) as raised:
        call(request)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    trailing = dict(raised.value.trailing_metadata())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    found = []
    for detail in status.details:
        bad = error_details_pb2.BadRequest()
        if detail.Unpack(bad):
            found += [violation.field for violation in bad.field_violations]
    return sorted(found)


NOT_SOUND = perturbation.PTable(counts=[0, 1, 1], noise=[0, -1, 1], probabilities=[1, 0.5, 0.4])
BAD = {
    "no table": ({"cell_keys": {"keys": KEYS.tolist()}}, ["cell_keys.table"]),
    "too few keys and an impossible variance": (
        {
            "cell_keys": {
                "keys": [1],
                "noise": {"maximum_noise": 3, "variance": 0.5, "largest_blocked_count": 2},
            }
        },
        ["cell_keys.keys", "cell_keys.noise.variance"],
    ),
    "an unsound table": (
        {"cell_keys": {"keys": KEYS.tolist(), "ptable": NOT_SOUND}},
        ["cell_keys.ptable.noise", "cell_keys.ptable.probabilities"],
    ),
    "too much noise of sums": (
        {"cell_keys": {"keys": KEYS.tolist(), "noise": NOISE, "sums": {"shares": [0.4]}}},
        ["cell_keys.sums"],
    ),
    "no kind of rounding": ({"rounding": {"base": 3}}, ["rounding.kind"]),
    "half a person": ({"rounding": {"kind": 1, "base": 2.5}}, ["rounding.base"]),
    "a base beyond all counts": ({"rounding": {"kind": 4, "base": 1e300}}, ["rounding.base"]),
    "no measure of that name": ({"rounding": {"kind": 1, "base": 2.5, "measure": "x"}}, ["rounding.measure"]),
    "keys that nobody needs": (
        {"rounding": {"kind": 3, "base": 3, "keys": KEYS.tolist()}},
        ["rounding.keys"],
    ),
    "released values that are none": (
        {"rounding": {"kind": 3, "base": 3, "released": [0, 99], "released_values": [1]}},
        ["rounding.released", "rounding.released_values", "rounding.released_values"],
    ),
    "released values that cannot bind": (
        {"rounding": {"kind": 1, "base": 3, "released": [0], "released_values": [float("nan")]}},
        ["rounding.released", "rounding.released_values"],
    ),
}


@pytest.mark.parametrize(("method", "expected"), BAD.values(), ids=BAD)
def test_a_method_that_makes_no_sense_is_told_field_by_field(stub, method, expected):
    assert paths(stub.ProtectTable, asked(**method)) == expected


def test_only_complete_tables_are_changed(stub):
    of = problem(absent=[15], costs=[1.0] * 16)
    assert paths(stub.ProtectTable, asked(of, rounding=rounding("NEAREST"))) == [
        "problem.absent",
        "problem.costs",
    ]


def test_noise_of_sums_needs_the_largest_contributions(stub):
    facts = {
        "units": COUNTS.tolist(),
        "measures": [table_pb2.MeasureFacts(measure="x", sums=(10.0 * COUNTS).tolist(), lower_bound=0)],
    }
    asks = keys_of(sums=perturbation.SumNoise(shares=[0.1]))
    expected = ["problem.facts.measures[0].largest"]
    assert paths(stub.ProtectTable, asked(problem(facts), cell_keys=asks)) == expected


def test_counts_are_needed_for_noise_and_for_rounding_counts(stub):
    of = problem({"measures": [table_pb2.MeasureFacts(measure="x", sums=(10.0 * COUNTS).tolist())]})
    for method in ({"cell_keys": keys_of()}, {"rounding": rounding("NEAREST")}):
        assert paths(stub.ProtectTable, asked(of, **method)) == ["problem.facts"]
