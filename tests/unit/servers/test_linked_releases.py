"""Two releases of one source over gRPC: a second file beside the first, or the first one with other keys."""

import numpy as np
import pyarrow as pa
import pytest

from arrow_pieces import ipc, requests
from risk_server import served_risk, told
from sdcgate.methods.risk.level_agreement import Release, Shared
from sdcgate.methods.risk.several_files import several_files
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

PEOPLE = 300


@pytest.fixture(scope="module")
def stub():
    with served_risk(100_000, 2) as made:
        yield made


def source(seed=5):
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, n, PEOPLE) for name, n in (("age", 8), ("area", 6), ("job", 12))}
    ids = np.array([f"p{number}" for number in range(PEOPLE)])
    return pa.table({"id": ids, **codes, "w": np.full(PEOPLE, 40.0)})


def assess(stub, made, second=None, **options):
    given = {"keys": ["age", "job"], "weight": "w", "unit": "id", **options}
    files = {} if second is None else {"other": ipc(second)}
    return stub.AssessMicrodata(
        requests(pb.AssessMicrodataRequest, pb.MicrodataOptions(**given), arrow=ipc(made), **files)
    )


def own(first, second):
    """What `several_files` says of two releases that share the age."""
    codes = [
        np.column_stack([one["age"].to_numpy(), one[name].to_numpy()])
        for one, name in ((first, "job"), (second, "area"))
    ]
    number = {name: place for place, name in enumerate(first["id"].to_pylist())}
    ids = [np.array([number[name] for name in one["id"].to_pylist()]) for one in (first, second)]
    releases = [Release(one, np.full(len(one), 40.0), who) for one, who in zip(codes, ids, strict=True)]
    ages = np.arange(8)
    return several_files(releases[0], releases[1], (Shared(0, 0, ages, ages),))


def test_a_second_file_is_linked_and_the_risk_of_both_keys_together_is_told(stub):
    made = source()
    second = made.take(np.random.default_rng(2).permutation(PEOPLE)[:200])
    answer = assess(stub, made, second, other={"name": "health file", "keys": ["age", "area"]})
    found, linked = own(made, second), answer.linked_releases
    assert (linked.other, linked.units, linked.other_units) == ("health file", PEOPLE, 200)
    assert [(one.name, one.coherent) for one in linked.shared] == [("age", True)]
    assert linked.common_units == 200
    assert linked.expected_matches_union == pytest.approx(found.risk.union.expected_matches, rel=1e-12)
    assert linked.expected_matches_union > linked.expected_matches > 0
    assert linked.expected_matches_through_links == pytest.approx(found.risk.through_links, rel=1e-12)
    assert answer.individual.risk.units == PEOPLE


def test_other_keys_of_the_same_file_need_no_second_one(stub):
    made = source()
    same = assess(stub, made, other={"keys": ["age", "area"]}).linked_releases
    sent_twice = assess(stub, made, made, other={"keys": ["age", "area"]}).linked_releases
    assert same == sent_twice
    assert (same.other, same.common_units) == ("the other release", PEOPLE)


def test_a_second_file_alone_has_the_same_keys(stub):
    linked = assess(stub, source(), source()).linked_releases
    assert [one.name for one in linked.shared] == ["age", "job"]
    assert linked.expected_matches_union == linked.expected_matches


def test_without_a_second_release_nothing_is_told_of_one(stub):
    assert not assess(stub, source()).HasField("linked_releases")


def test_without_ids_links_are_counted_and_no_risk_is_told(stub):
    linked = assess(stub, source(), source(), unit="").linked_releases
    assert linked.expected_links > 0
    assert not linked.HasField("expected_matches_union")


@pytest.mark.parametrize(
    ("given", "second", "wrong"),
    [
        ({"other": {"name": "nothing"}}, None, {"options.other"}),
        ({"other": {"keys": ["area"]}}, None, {"options.other.keys"}),
        ({"other": {"keys": ["age", "x"]}}, source(), {"options.other.keys[1]"}),
        ({"other": {"keys": ["age"]}}, source().select(["age"]), {"options.weight", "options.unit"}),
        ({}, source().drop_columns(["job"]), {"options.keys[1]"}),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_second_release_has_its_path(stub, given, second, wrong):
    assert set(told(lambda: assess(stub, source(), second, **given))) == wrong


def test_a_column_that_only_the_second_file_lacks_is_said_to_be_its(stub):
    problems = told(lambda: assess(stub, source(), source().drop_columns(["w"])))
    assert problems["options.weight"].startswith("the other release: the file has no column 'w'")


def test_what_is_no_file_is_named_by_its_part(stub):
    options = pb.MicrodataOptions(keys=["age"])
    broken = requests(pb.AssessMicrodataRequest, options, arrow=ipc(source()), other=b"no stream")
    assert set(told(lambda: stub.AssessMicrodata(broken))) == {"other"}


def test_levels_that_lie_crosswise_in_too_many_pairs_are_named_and_all_else_is_told(stub, monkeypatch):
    monkeypatch.setattr("sdcgate.methods.risk.level_agreement.LARGEST_PAIRS", 10)
    bands = [f"{age // 3 * 3}-{age // 3 * 3 + 2}" for age in source()["age"].to_pylist()]
    others = [f"{age // 2 * 2}-{age // 2 * 2 + 1}" for age in source()["age"].to_pylist()]
    first = source().set_column(1, "age", [bands])
    answer = assess(stub, first, source().set_column(1, "age", [others]))
    assert (
        "share coherent levels"
        in {one.what: one.reason for one in answer.not_computed}["several files of one source"]
    )
    assert not answer.HasField("linked_releases")
    assert answer.individual.risk.units == PEOPLE
