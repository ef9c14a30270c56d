"""What everybody knows from elsewhere: entered by a steward, it is part of every audit from then on."""

import pytest

from house import build, people_descriptor, reasons, verdict, with_randhie
from sdcgate.facility.errors import Forbidden, InvalidRequest
from sdcgate.facility.pace import Pace
from sdcgate.facility.published import request_of
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2
from sdcgate_proto.sdcgate.types.v1 import table_pb2

STEWARD = Caller("steward key", Role.STEWARD, "stefan")
YEARBOOK = "Statistical yearbook 1985, table 3.2"
WOMEN = {"filter": [{"variable": "female", "codes": ["1"]}]}


def enter(house, caller=STEWARD, published=YEARBOOK, **table) -> pb.EnterKnowledgeResponse:
    request = from_value({"dataset": "randhie", "published": published, **table}, pb.EnterKnowledgeRequest)
    return house.facility.enter_knowledge(caller, request, Pace(60.0))


def by(*variables: str) -> list[dict[str, str]]:
    return [{"variable": name} for name in variables]


def test_a_table_is_refused_whose_difference_from_what_was_published_is_few_people(tmp_path):
    house = with_randhie(tmp_path)
    asked = {"rows": ["site"], "columns": ["plan"], "year": ["1", "2", "3", "5"], "margins": False}
    assert verdict(house.ask(**asked)) == "RELEASED_PROTECTED"
    other = with_randhie(tmp_path / "other")
    entered = enter(other, rows=by("site", "plan"))
    assert entered.cells > 100
    answer = other.ask(**asked)
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["DIFFERENCING"])


def test_what_was_published_elsewhere_is_recorded_once_with_its_source_and_shows_no_figures(tmp_path):
    house = with_randhie(tmp_path)
    entered = enter(house, rows=by("site"))
    assert entered.cells == 8
    assert not entered.repeated_answer
    again = enter(house, rows=by("site"))
    assert (again.query, again.repeated_answer) == (entered.query, True)
    stored = house.ledger.query(entered.query)
    record = release_pb2.DecisionRecord.FromString(stored.confidential)
    assert record.published == YEARBOOK
    assert request_of(record).rows[0].variable == "site"
    assert YEARBOOK in record.decision.reasons[0].message
    assert {field.name for field, _ in entered.ListFields()} == {"query", "cells", "certificate"}
    assert house.ledger.verify().ok


def test_what_is_unsafe_stays_withheld_though_it_was_published_elsewhere(tmp_path):
    house = with_randhie(tmp_path)
    enter(house, rows=by("plan"), columns=by("site"))
    answer = house.ask(rows=["plan"], columns=["site"])
    assert verdict(answer) == "RELEASED_PROTECTED"
    alone = with_randhie(tmp_path / "other").ask(rows=["plan"], columns=["site"])
    # Nothing has to be withheld to protect what everybody knows.
    assert 0 < withheld(answer) < withheld(alone)


SURVEY = {"name": "people", "weight": {"column": "weight", "decimals": 1}}
PLACES = {"a": (40, 40), "b": (50, 3), "c": (45, 38)}
"""Women and men of each place."""


def survey(folder):
    """A sample whose weights were calibrated to the people of each place: few men answered in one."""
    folder.mkdir(exist_ok=True)
    lines = ["place,sex,weight"]
    for place, (women, men) in PLACES.items():
        weight = 10_000 / (women + men)
        lines += [
            f"{place},{sex},{weight:.1f}" for sex, many in (("f", women), ("m", men)) for _ in range(many)
        ]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(folder, data_root=folder)
    codes = {"place": tuple(PLACES), "sex": ("f", "m")}
    sampled = {"design": {"coverage": "SAMPLE", "population_size": 30_000}}
    house.engine.register(people_descriptor(codes, **SURVEY, **sampled))
    return house


def test_calibration_margins_are_entered_as_the_weighted_counts_that_they_are(tmp_path):
    women = {"rows": ["place"], "figures": ["WEIGHTED_UNITS"], "margins": False, "sex": ["f"]}
    house = survey(tmp_path)
    assert verdict(house.ask(dataset="people", **women)) == "RELEASED"
    informed = survey(tmp_path / "informed")
    request = {"dataset": "people", "published": "Weighting report 2024, margins by place"}
    margins = {"rows": by("place"), "figures": [{"statistic": "WEIGHTED_UNITS"}]}
    asked = from_value({**request, **margins}, pb.EnterKnowledgeRequest)
    assert informed.facility.enter_knowledge(STEWARD, asked, Pace(60.0)).cells == 5
    answer = informed.ask(dataset="people", **women)
    # The people of b less its women are three men.
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["DIFFERENCING"])


def withheld(answer) -> int:
    return list(answer.decision.table.statuses).count(table_pb2.CELL_STATUS_WITHHELD)


def test_only_a_steward_enters_knowledge_and_only_of_what_there_is(tmp_path):
    house = with_randhie(tmp_path)
    with pytest.raises(Forbidden):
        enter(house, caller=house.researcher, rows=by("site"))
    with pytest.raises(InvalidRequest) as caught:
        enter(house, rows=by("sit"), columns=by("plann"))
    assert {problem.path for problem in caught.value.problems} == {"rows[0].variable", "columns[0].variable"}
    everything = ("site", "plan", "age", "education", "household_size", "year", "income_group")
    with pytest.raises(InvalidRequest):
        enter(house, rows=by(*everything))


def test_a_filtered_table_of_a_measure_can_be_entered(tmp_path):
    house = with_randhie(tmp_path)
    entered = enter(house, rows=by("site"), figures=[{"statistic": "SUM", "measure": "mdvis"}], **WOMEN)
    assert entered.cells == 8
    assert verdict(house.ask(rows=["site"], figures=["SUM:mdvis"])) == "RELEASED"
