"""Files of microdata over gRPC: what comes back is what the methods say; what is wrong has a place."""

import grpc
import numpy as np
import pyarrow as pa
import pytest

from risk_server import served_risk, told
from sdcgate.methods.risk.file_assessment import assess_file
from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.microdata import KeyVariable, Microdata
from sdcgate.servers import errors
from sdcgate.servers.microdata import FileAssessor
from sdcgate.servers.received_files import FileLane
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

SECRET = "Zwicky of Glarus"
LARGEST = 100_000
PEOPLE = 400


def people(seed=4):
    """Codes of sex, age and region, weights and households of some people."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n, PEOPLE) for n in (2, 9, 12)])
    return codes, rng.uniform(5, 60, PEOPLE), rng.integers(0, 150, PEOPLE)


def table():
    codes, weights, households = people()
    columns = {name: codes[:, place] for place, name in enumerate(("sex", "age", "region"))}
    return pa.table({**columns, "w": weights, "household": households})


def ipc(made, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, made.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(made)
    return sink.getvalue().to_pybytes()


def requests(content, piece=777, **options):
    """The messages of a call."""
    given = {"keys": ["sex", "age", "region"], "weight": "w", "household": "household", **options}
    yield pb.AssessMicrodataRequest(options=pb.MicrodataOptions(**given))
    for begin in range(0, len(content), piece):
        yield pb.AssessMicrodataRequest(arrow=content[begin : begin + piece])


def paths(call):
    return told(call, SECRET)


@pytest.fixture(scope="module")
def stub():
    with served_risk(LARGEST, 1) as made:
        yield made


def test_the_report_has_the_figures_of_the_methods(stub):
    answer = stub.AssessMicrodata(requests(ipc(table()), risk_threshold=0.05))
    codes, weights, households = people()
    keys = tuple(KeyVariable(name) for name in ("sex", "age", "region"))
    own = assess_file(
        Microdata(keys, codes, weights=weights, households=households), Options(risk_threshold=0.05)
    )
    assert answer.file.units == PEOPLE
    assert answer.individual.risk.expected_matches == own.individual.risk.expected_matches
    assert answer.individual.unsafe_units == own.individual.threshold.unsafe_units > 0
    assert list(answer.individual.units) == own.individual.histogram.units.tolist()
    assert answer.uniqueness.theta_u == own.uniqueness.theta_u.value
    assert [one.tau_2 for one in answer.log_linear] == [one.tau_2 for one in own.log_linear]
    assert all(one.pseudo for one in answer.log_linear)
    assert answer.households.expected_matches == own.households.risk.expected_matches
    assert answer.threshold_rule.unsafe_units == own.threshold.unsafe_units
    assert list(answer.special_uniques.variables) == list(own.special_uniques.variables)


def test_ordered_keys_are_smoothed_and_one_that_is_no_key_is_refused(stub):
    answer = stub.AssessMicrodata(requests(ipc(table()), ordinal=["age"]))
    codes, weights, _ = people()
    keys = tuple(KeyVariable(name) for name in ("sex", "age", "region"))
    own = assess_file(Microdata(keys, codes, weights=weights), Options(ordinal=("age",))).smoothing
    assert list(answer.smoothed.keys) == [1]
    assert answer.smoothed.tau_2 == own.tau_2
    assert answer.smoothed.dispersion == own.dispersion
    assert answer.log_linear[-1].ended
    refused = paths(lambda: stub.AssessMicrodata(requests(ipc(table()), ordinal=["w"])))
    assert refused == {"options.ordinal[0]": "'w' is no key variable; they are sex, age, region"}


def model(*interactions):
    return pb.LogLinearModel(interactions=[pb.KeyInteraction(keys=keys) for keys in interactions])


def test_any_hierarchical_model_is_fitted_beside_the_usual_ones(stub):
    asked = [model(["sex", "age"], ["sex", "region"]), model(["sex", "age", "region"])]
    answer = stub.AssessMicrodata(requests(ipc(table()), weight="", fraction=0.1, models=asked))
    conditional, saturated = answer.log_linear[-2:]
    assert (conditional.model, saturated.model) == ("sex*age + sex*region", "sex*age*region")
    assert [list(one.keys) for one in conditional.interactions] == [[0, 1], [0, 2]]
    # Age and region are independent given sex: n(sex, age) n(sex, region) / n(sex) is the fit.
    codes, _, _ = people()
    keys, counts = np.unique(codes, axis=0, return_counts=True)
    alone = keys[counts == 1]
    means = [
        ((codes[:, :2] == key[:2]).all(axis=1).sum() * (codes[:, [0, 2]] == key[[0, 2]]).all(axis=1).sum())
        / (codes[:, 0] == key[0]).sum()
        for key in alone
    ]
    unseen = np.array(means) * (1 - 0.1) / 0.1
    assert conditional.tau_1 == pytest.approx(np.exp(-unseen).sum(), rel=1e-6)
    assert conditional.tau_2 == pytest.approx((-np.expm1(-unseen) / unseen).sum(), rel=1e-6)
    # The saturated model has a mean of 1 for who is alone.
    assert saturated.tau_1 == pytest.approx(len(alone) * np.exp(-9.0), rel=1e-6)


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ([model(["sex", "w"])], {"options.models[0].interactions[0].keys[1]"}),
        ([model(["sex", "age"]), model(["sex", "sex"])], {"options.models[1].interactions[0].keys"}),
        ([model(["sex"])], {"options.models[0].interactions[0].keys"}),
        ([model()], {"options.models[0].interactions"}),
    ],
)
def test_a_model_of_what_is_no_key_variable_has_its_path(stub, asked, wrong):
    assert set(paths(lambda: stub.AssessMicrodata(requests(ipc(table()), models=asked)))) == wrong


def test_minimums_by_class_are_asked_of_combinations_with_one_of_each(stub):
    """Region is extremely identifying, age very, and each of them identifying, too."""
    classes = [{"key": "region", "identifying": "EXTREMELY"}, {"key": "age", "identifying": "VERY"}]
    classes = [from_value(one, pb.KeyClass) for one in classes]
    asked = from_value({"classes": ["EXTREMELY", "VERY"], "minimum": 8}, pb.ClassMinimum)
    given = {"minimum": 1, "dimensions": 1, "classes": classes, "class_minimums": [asked]}
    rule = stub.AssessMicrodata(requests(ipc(table()), **given)).threshold_rule
    codes, _, _ = people()
    _, cell, counts = np.unique(codes[:, 1:], axis=0, return_inverse=True, return_counts=True)
    rare = counts[cell.ravel()] < 8
    assert rule.combinations == 4
    assert [list(one.keys) for one in rule.worst] == [[1, 2]]
    assert rule.unsafe_units == rule.worst[0].unsafe_units == rare.sum() > 0
    assert rule.class_minimums[0] == asked
    # Where a size asks for more of the same combination, that counts.
    given |= {"minimum": 20, "dimensions": 2}
    both = stub.AssessMicrodata(requests(ipc(table()), **given)).threshold_rule
    (pair,) = [one for one in both.worst if list(one.keys) == [1, 2]]
    assert pair.unsafe_units == (counts[cell.ravel()] < 20).sum()
    assert both.combinations == 6


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"classes": [{"key": "w", "identifying": "VERY"}]}, {"options.classes[0].key"}),
        ({"classes": [{"key": "age", "identifying": "VERY"}] * 2}, {"options.classes"}),
        ({"classes": [{"key": "age"}]}, {"options.classes[0].identifying"}),
        (
            {"class_minimums": [{"classes": []}]},
            {"options.class_minimums[0].classes", "options.class_minimums[0].minimum"},
        ),
    ],
)
def test_what_is_wrong_with_classes_has_its_path(stub, given, wrong):
    options = {"keys": ["sex", "age", "region"], **given}
    asked = from_value({"options": options}, pb.AssessMicrodataRequest).options
    content = ipc(table())

    def call():
        yield pb.AssessMicrodataRequest(options=asked)
        yield pb.AssessMicrodataRequest(arrow=content)

    assert set(paths(lambda: stub.AssessMicrodata(call()))) == wrong


def test_strata_and_psus_tell_what_their_units_have_in_common(stub):
    """The stratum is the region's half, the PSU the region: both are known where the file shows them."""
    made = table()
    regions = made["region"].to_numpy()
    made = made.append_column("half", [np.where(regions < 6, "n", "s")]).append_column("area", [regions])
    options = {"keys": ["sex", "age"], "weight": "", "fraction": 0.2, "sensitive": ["region"]}
    answer = stub.AssessMicrodata(requests(ipc(made), stratum="half", psu="area", **options))
    strata = {one.variable: one for one in answer.strata.variables}
    psus = {one.variable: one for one in answer.psu_labels.variables}
    assert answer.strata.values == 2
    assert not answer.strata.HasField("classes")
    assert psus["region"].share_told == psus["region"].guessed == 1.0
    assert strata["region"].share_told == 0.0
    assert strata["region"].guessed_without < strata["region"].guessed < 1.0
    codes, _, _ = people()
    whole = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(whole)
    known = float(individual_risk(counts, np.full(len(counts), 0.2)) @ counts)
    assert answer.psus.expected_matches_known == pytest.approx(known, rel=1e-12)
    assert answer.psu_labels.expected_matches_with_weight == answer.psus.expected_matches_known
    sizes = np.bincount(codes[:, 2])
    assert (answer.psus.psus, answer.psus.smallest, answer.psus.largest) == (12, sizes.min(), sizes.max())


@pytest.mark.parametrize("level", ["household", "stratum", "psu"])
def test_units_that_belong_to_several_of_a_level_are_told(stub, level):
    made = pa.table({"id": [1, 1, 2, 3, 3], "key": [1, 1, 2, 3, 3], "of": ["a", "b", "a", "c", "c"]})
    options = {"keys": ["key"], "weight": "", "household": "", "unit": "id", level: "of"}
    wrong = paths(lambda: stub.AssessMicrodata(requests(ipc(made), **options)))
    assert wrong == {f"options.{level}": "1 units belong to several: each must have one"}
    made = made.set_column(0, "id", pa.array([1, None, 2, 3, 3]))
    assert set(paths(lambda: stub.AssessMicrodata(requests(ipc(made), **options)))) == {"options.unit"}


def test_a_psu_is_found_through_any_of_its_units(stub):
    """A census of pairs: who is alone with his key is found for certain, others with one half."""
    made = pa.table({"key": [1, 2, 2, 3, 3, 4], "area": ["a", "a", "b", "b", "c", "d"]})
    options = {"keys": ["key"], "weight": "", "household": "", "fraction": 1.0, "psu": "area"}
    found = stub.AssessMicrodata(requests(ipc(made), **options)).psus
    assert found.located == pytest.approx(1.0 + 0.75 + 0.5 + 1.0, rel=1e-12)
    assert (found.maximum, found.expected_matches, found.expected_matches_known) == (1.0, 4.0, 6.0)


def test_dis_suda_of_too_many_variables_is_named(stub):
    made = pa.table({f"k{place}": np.arange(40) % (place + 2) for place in range(28)})
    options = {"keys": made.column_names, "weight": "", "household": "", "fraction": 0.1, "suda_size": 2}
    answer = stub.AssessMicrodata(requests(ipc(made), **options))
    assert not answer.special_uniques.HasField("largest_dis_suda")
    assert answer.special_uniques.HasField("dis")
    assert "up to 27 key variables" in {one.what: one.reason for one in answer.not_computed}["DIS-SUDA"]
    options["keys"] = made.column_names[:27]
    answer = stub.AssessMicrodata(requests(ipc(made), **options))
    assert answer.special_uniques.HasField("largest_dis_suda")


def lattice(rows=30):
    across, along = np.meshgrid(np.arange(rows), np.arange(rows))
    return pa.table({"x": across.ravel(), "y": along.ravel(), "sort": ["a"] * rows**2})


NEAR = {
    "keys": ["sort"],
    "weight": "",
    "household": "",
    "numbers": [{"column": "x", "width": 1}, {"column": "y", "width": 1}],
}


def test_records_whose_numbers_stand_alone_are_counted(stub):
    """Within 1 a corner of a lattice has 3 neighbours, an edge 5, all others 8."""
    answer = stub.AssessMicrodata(requests(ipc(lattice()), **NEAR, neighbours=8)).numbers
    assert (answer.neighbours, answer.isolated, answer.outside) == (8, 116, 0)
    few = stub.AssessMicrodata(requests(ipc(lattice()), **NEAR)).numbers
    assert (few.neighbours, few.isolated, few.largest) == (3, 0, 59)
    assert not stub.AssessMicrodata(requests(ipc(table()))).HasField("numbers")


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"numbers": [{"column": "x"}]}, {"options.numbers[0]"}),
        ({"numbers": [{"column": "x", "width": 1, "relative": 0.1}]}, {"options.numbers[0]"}),
        (
            {"numbers": [{"column": "x", "width": -1}], "neighbours": 0},
            {"options.numbers[0].width", "options.neighbours"},
        ),
        ({"numbers": [{"column": "x", "relative": 0.1}]}, {"options.numbers[0].relative"}),
        ({"numbers": [{"column": "z", "width": 1}]}, {"options.numbers[0].column"}),
        ({"numbers": [{"column": "sort", "width": 1}]}, {"options.numbers[0].column"}),
        ({"numbers": [{"column": "x", "width": 1}] * 2}, {"options.numbers"}),
        ({"unit": "x"}, {"options.unit"}),
    ],
)
def test_what_is_wrong_with_numbers_has_its_path(stub, given, wrong):
    assert set(paths(lambda: stub.AssessMicrodata(requests(ipc(lattice()), **{**NEAR, **given})))) == wrong


def test_a_width_that_no_number_can_be_measured_by_is_told(stub):
    near = {**NEAR, "numbers": [{"column": "x", "width": 1e-308}]}
    answer = stub.AssessMicrodata(requests(ipc(lattice()), **near))
    assert not answer.HasField("numbers")
    assert ("numbers", "widths are too small for the numbers") in [
        (one.what, one.reason) for one in answer.not_computed
    ]


def test_more_pairs_of_numbers_than_a_caller_waits_for_are_not_compared(stub, monkeypatch):
    monkeypatch.setattr("sdcgate.wire.microdata.MOST_PAIRS", 900.0**2 - 1)
    answer = stub.AssessMicrodata(requests(ipc(lattice()), **NEAR))
    assert not answer.HasField("numbers")
    assert "more key variables" in {one.what: one.reason for one in answer.not_computed}["numbers"]


def test_the_pieces_of_a_file_may_be_of_any_size(stub):
    whole = stub.AssessMicrodata(requests(ipc(table()), piece=LARGEST))
    assert stub.AssessMicrodata(requests(ipc(table()), piece=13)) == whole


def test_what_cannot_be_computed_is_named_with_what_to_send(stub):
    answer = stub.AssessMicrodata(requests(ipc(table()), weight="", household=""))
    assert not answer.HasField("individual")
    missing = {one.what: one.reason for one in answer.not_computed}
    assert "give a weight" in missing["individual risk"]
    assert "name its column" in missing["household risk"]


def test_every_wrong_option_has_its_path(stub):
    wrong = {"keys": ["sex", "agee"], "weight": "weights", "fraction": 0.1}
    found = paths(lambda: stub.AssessMicrodata(requests(ipc(table()), **wrong)))
    assert set(found) == {"options.keys[1]", "options.weight", "options.fraction"}
    assert "age" in found["options.keys[1]"]
    found = paths(lambda: stub.AssessMicrodata(requests(b"", keys=[], fraction=2.0)))
    assert set(found) == {"options.keys", "options.fraction"}


def test_no_value_of_a_record_is_told(stub):
    made = table().set_column(3, "w", pa.array([SECRET] * PEOPLE))
    assert "record 1" in paths(lambda: stub.AssessMicrodata(requests(ipc(made))))["options.weight"]


@pytest.mark.parametrize("content", [b"", b"no arrow", ipc(table())[:-300], ipc(table())[:2000]])
def test_bytes_that_are_no_whole_stream_are_a_bad_request(stub, content):
    assert set(paths(lambda: stub.AssessMicrodata(requests(content)))) == {"arrow"}


def test_a_stream_with_offsets_into_other_memory_is_a_bad_request(stub):
    made = pa.table({"sex": ["a", "b", "c"] * 40})
    content = bytearray(ipc(made))
    begin = content.index(np.arange(6, dtype=np.int32).tobytes())
    content[begin + 4 : begin + 8] = np.int32(2**30).tobytes()
    assert set(paths(lambda: stub.AssessMicrodata(requests(bytes(content), keys=["sex"])))) == {"arrow"}


def test_what_grows_beyond_its_bytes_is_not_taken(stub):
    made = pa.table({"sex": np.zeros(3_000_000, dtype=np.int64)})
    content = ipc(made, compression="zstd")
    assert len(content) < LARGEST
    assert set(paths(lambda: stub.AssessMicrodata(requests(content, keys=["sex"])))) == {"arrow"}


def test_a_file_that_is_too_large_is_told_so(stub):
    with pytest.raises(grpc.RpcError) as caught:
        stub.AssessMicrodata(requests(bytes(LARGEST + 1)))
    assert isinstance(errors.from_rpc_error(caught.value), errors.TooLarge)


def test_options_come_first_and_once(stub):
    late = [pb.AssessMicrodataRequest(arrow=b"x")]
    assert set(paths(lambda: stub.AssessMicrodata(iter(late)))) == {"options"}
    assert set(paths(lambda: stub.AssessMicrodata(iter(())))) == {"options"}
    twice = [*requests(b"x")] * 2
    assert set(paths(lambda: stub.AssessMicrodata(iter(twice)))) == {"options"}


def test_a_further_file_is_told_to_come_again():
    assessor = FileAssessor(FileLane(LARGEST, 1))

    def while_another_is_read():
        with pytest.raises(errors.ResourceExhausted):
            assessor.assess(requests(b""))
        yield from requests(ipc(table()))

    assert assessor.assess(while_another_is_read()).file.units == PEOPLE
    assert assessor.assess(requests(ipc(table()))).file.units == PEOPLE


def test_risks_of_keys_are_those_of_the_method(stub):
    f, sums = [1, 2, 18], [9.5, 40.0, 312.5]
    answer = stub.EstimateIndividualRisk(
        pb.EstimateIndividualRiskRequest(
            frequencies=f, weight_sums=sums, approximations=[pb.APPROXIMATION_RECIPROCAL], attempt=0.5
        )
    )
    own = individual_risk(np.array(f), np.array(f) / np.array(sums))
    assert list(answer.risks) == (own / 2).tolist()
    assert answer.file.expected_matches == pytest.approx(np.array(f) @ own / 2, rel=1e-14)
    assert list(answer.approximations[0].risks) == pytest.approx([0.5 / total for total in sums], rel=1e-14)


def test_weights_that_add_up_to_less_than_the_file_are_warned_of(stub):
    answer = stub.EstimateIndividualRisk(
        pb.EstimateIndividualRiskRequest(frequencies=[1, 4], weight_sums=[9.5, 2.0])
    )
    assert list(answer.risks)[1] == 0.25
    assert "4 of 5 units have a key whose weights add up to less" in answer.warnings[0]
    made = table().set_column(3, "w", pa.array([0.5] * PEOPLE))
    told = stub.AssessMicrodata(requests(ipc(made))).warnings
    assert f"{PEOPLE} of {PEOPLE} units have a weight below 1, and {PEOPLE} of" in told[0]
    assert not stub.AssessMicrodata(requests(ipc(table()))).warnings


def test_a_target_rate_is_answered_with_its_threshold(stub):
    found = stub.AssessMicrodata(requests(ipc(table()), target_rate=0.01)).individual
    again = stub.AssessMicrodata(requests(ipc(table()), risk_threshold=found.target.threshold)).individual
    assert again.rate == pytest.approx(0.01, rel=1e-12)
    assert again.unsafe_units == found.target.unsafe_units > 0
    assert not again.HasField("target")
    kept = stub.AssessMicrodata(requests(ipc(table()), target_rate=0.9)).individual.target
    assert (kept.HasField("threshold"), kept.unsafe_units) == (False, 0)
    wrong = paths(lambda: stub.AssessMicrodata(requests(ipc(table()), target_rate=1.0)))
    assert set(wrong) == {"options.target_rate"}


def test_a_minimum_for_each_size_is_asked_for(stub):
    found = stub.AssessMicrodata(requests(ipc(table()), minimums=[100, 10])).threshold_rule
    own = assess_file(
        Microdata(tuple(KeyVariable(name) for name in ("sex", "age", "region")), people()[0]),
        Options(minimums=(100, 10)),
    ).threshold
    assert (list(found.minimums), found.minimum, found.dimensions) == ([100, 10], 100, 2)
    assert found.unsafe_units == own.unsafe_units > 0
    wrong = paths(lambda: stub.AssessMicrodata(requests(ipc(table()), minimums=[3, 0])))
    assert set(wrong) == {"options.minimums[1]"}


def test_records_by_codes_get_the_risk_of_their_key(stub):
    columns = [pb.KeyCodes(codes=[0, 0, 1, -1]), pb.KeyCodes(codes=[0, 0, 0, 0])]
    asked = pb.EstimateIndividualRiskRequest(columns=columns, weights=[10, 20, 5, 8])
    answer = stub.EstimateIndividualRisk(asked)
    assert list(answer.frequencies) == [2, 2, 1, 1]
    assert list(answer.weight_sums) == [30, 30, 5, 8]
    assert answer.file.sample_uniques == 2
    asked.missing = pb.MISSING_VALUES_WILDCARD
    answer = stub.EstimateIndividualRisk(asked)
    assert list(answer.frequencies) == [3, 3, 2, 4]
    assert list(answer.weight_sums) == [38, 38, 13, 43]


def test_every_wrong_key_has_its_path(stub):
    def asked(**fields):
        return paths(lambda: stub.EstimateIndividualRisk(pb.EstimateIndividualRiskRequest(**fields)))

    assert set(asked()) == {""}
    assert set(asked(frequencies=[1, 0], weight_sums=[np.nan])) == {
        "frequencies[1]",
        "weight_sums",
        "weight_sums[0]",
    }
    assert set(asked(frequencies=[1], weight_sums=[2.0], quality=1.5)) == {"quality"}
    wrong = [pb.KeyCodes(codes=[0, 1]), pb.KeyCodes(codes=[0, -2]), pb.KeyCodes(codes=[0])]
    assert set(asked(columns=wrong, weights=[1.0, np.inf])) == {
        "columns[1].codes[1]",
        "columns[2].codes",
        "weights[1]",
    }
    assert set(asked(columns=wrong[:1], frequencies=[1])) == {"frequencies"}
