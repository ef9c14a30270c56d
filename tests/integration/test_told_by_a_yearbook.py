"""A publication elsewhere tells what was withheld: nothing is left to protect there, and all else goes on."""

import numpy as np
import pytest

from house import build, people_descriptor, verdict
from sdcgate.facility.pace import Pace
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

STEWARD = Caller("steward key", Role.STEWARD, "stefan")
CODES = {"place": "abcd", "job": "vwxyz", "sex": "fm", "ill": "012"}
SHARES = {
    "place": (0.4, 0.3, 0.2, 0.1),
    "job": (0.4, 0.3, 0.2, 0.07, 0.03),
    "sex": (0.5, 0.5),
    "ill": (0.8, 0.15, 0.05),
}


@pytest.fixture
def house(tmp_path):
    """Nine hundred people, few of whom have the jobs y and z."""
    rng = np.random.default_rng(7)
    columns = [rng.choice(list(codes), 900, p=SHARES[name]) for name, codes in CODES.items()]
    incomes = rng.lognormal(8, 1, 900).astype(int)
    lines = [
        ",".join((*CODES, "income")),
        *(",".join(map(str, row)) for row in zip(*columns, incomes, strict=True)),
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    made = build(tmp_path, data_root=tmp_path)
    made.engine.register(people_descriptor(CODES, [{"name": "income", "lower_bound": 0}]))
    return made


def enter(house, *variables: str) -> pb.EnterKnowledgeResponse:
    rows = [{"variable": name} for name in variables]
    asked = {"dataset": "people", "published": "Yearbook 2024, table 7", "rows": rows}
    return house.facility.enter_knowledge(STEWARD, from_value(asked, pb.EnterKnowledgeRequest), Pace(60.0))


@pytest.mark.parametrize("figures", [("UNITS",), ("UNITS", "SUM:income")], ids=str)
def test_tables_that_have_nothing_to_do_with_it_leave_as_before(house, figures):
    assert (
        verdict(house.ask(dataset="people", rows=["place"], columns=["job"], figures=figures))
        == "RELEASED_PROTECTED"
    )
    enter(house, "place", "job")
    asked = [{"rows": ["sex"]}, {"rows": ["ill"]}, {"rows": ["sex"], "columns": ["place"]}]
    verdicts = [verdict(house.ask(dataset="people", figures=figures, **table)) for table in asked]
    assert verdicts == ["RELEASED"] * 3


def test_what_is_withheld_besides_stays_out_of_reach(house):
    """The yearbook tells jobs by place; of illness by job the few stay withheld, whoever asks what."""
    assert verdict(house.ask(dataset="people", rows=["place"], columns=["job"])) == "RELEASED_PROTECTED"
    enter(house, "place", "job")
    assert verdict(house.ask(dataset="people", rows=["ill"], columns=["job"])) == "RELEASED_PROTECTED"
    others = {"rows": ["ill"], "columns": ["job"], "margins": False}
    answers = [house.ask(dataset="people", sex=[code], **others) for code in "fm"]
    assert [verdict(one) for one in answers].count("RELEASED") == 0
