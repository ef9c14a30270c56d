"""A variable of very many codes: refused early where all are asked, answered where a filter leaves some."""

import time

import numpy as np
import pytest

from house import build, cells, people_descriptor, person, reasons, table_request, verdict
from sdcgate.engine.queries import CellQuery
from sdcgate.facility.pace import Pace
from sdcgate.facility.refusals import MOST_CODES_SHOWN
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

TOWNS = 99_000
PEOPLE = 6_000
MESSAGE = "The table would have 99001 codes of town; at most 20000 of one variable are computed."


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("towns")
    number = np.arange(PEOPLE)
    # Twenty people in each of three hundred towns, wherever these stand in the list.
    town, income = number % 300 * 330, 1000 + number % 97
    lines = (f"{t},{s},{i}\n" for t, s, i in zip(town, number % 2, income, strict=True))
    (folder / "people.csv").write_text("town,sex,income\n" + "".join(lines))
    made = build(folder, policy="five-safes")
    measure = {"name": "income", "lower_bound": 0, "decimals": 0}
    codes = {"town": map(str, range(TOWNS)), "sex": "01"}
    made.engine.register(people_descriptor(codes, measures=[measure]))
    yield made
    made.facility.close()


def statistic(kind: str, **more) -> pb.QueryStatisticRequest:
    return pb.QueryStatisticRequest(
        dataset="people", kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}"), **more
    )


@pytest.mark.parametrize(
    "asked",
    [
        statistic("MODE", mode_of=pb.DimensionRequest(variable="town")),
        statistic("MEAN", measure="income", groups=[pb.DimensionRequest(variable="town")]),
        table_request("people", rows=["town"]),
        table_request("people", rows=["town"], sex=["1"]),
    ],
    ids=["mode", "means", "table", "part of a table"],
)
def test_more_codes_than_are_computed_are_refused_at_once_and_without_any_record(house, monkeypatch, asked):
    def computes(dataset, query: CellQuery) -> None:
        pytest.fail("records were read")

    monkeypatch.setattr(house.engine, "compute", computes)
    ask = {
        pb.QueryStatisticRequest: house.facility.query_statistic,
        pb.QueryTableRequest: house.facility.query_table,
    }[type(asked)]
    began = time.process_time()
    answered = ask(person("researcher", "ada"), asked, Pace(60.0))
    assert time.process_time() - began < 2.0
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MAXIMUM_CELLS"])
    assert answered.decision.reasons[0].message == MESSAGE
    assert str(MOST_CODES_SHOWN) in MESSAGE


def test_of_a_long_list_those_codes_are_answered_that_a_filter_leaves(house):
    answered = house.ask(dataset="people", rows=["town"], figures=["UNITS"], town=["0", "330", "98670"])
    assert verdict(answered) == "RELEASED"
    assert cells(answered) == {("0",): (20,), ("330",): (20,), ("98670",): (20,), ("_T",): (60,)}
    # Masks of all codes would be as many bits squared: 600 MB for as long as the facility lives.
    assert "masks" not in vars(house.engine.dataset("people").level("town"))
