"""The way of a query with the ledger on a real PostgreSQL, and with two facilities at once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from house import COPY, House, LocalRisk, build, cells, reasons, table_request, verdict, with_randhie
from postgresql_server import empty_database, running_server
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.facility.answers import answer_bytes
from sdcgate.facility.facility import Answered
from sdcgate.facility.pace import Pace
from sdcgate.ledger.certificates import verify_certificate
from sdcgate.ledger.ledger import HeadMoved

ROUNDS = 30
SECRET = b"s" * 32


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as made:
        yield made


@pytest.fixture
def url(server: str) -> str:
    return empty_database(server)


@pytest.fixture(scope="module")
def randhie(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = with_randhie(tmp_path_factory.mktemp("randhie")).engine
    yield made
    made.close()


@pytest.fixture
def open_house(url: str, randhie: Engine, tmp_path: Path) -> Iterator[Callable[..., House]]:
    """Houses on the same database, keys and second place."""
    opened: list[House] = []

    def make(engine: Engine = randhie, **services: object) -> House:
        opened.append(build(tmp_path, engine=engine, ledger_url=url, **services))
        return opened[-1]

    yield make
    for house in opened:
        house.ledger.close()


def test_released_protected_refused_and_repeated_with_certificates(open_house):
    house = open_house()
    assert not house.ledger.serves_one_process
    released = house.ask(rows=["site"], columns=["female"], figures=["UNITS", "MEAN:meddol"])
    assert verdict(released) == "RELEASED"
    assert cells(released)["_T", "_T"][0] == 5912
    protected = house.ask(rows=["plan"], columns=["site"], figures=["UNITS", "RECORDS"])
    assert (verdict(protected), reasons(protected)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    assert (None, None) in cells(protected).values()
    dimensions = house.ask(rows=["site", "year"], columns=["female"], layers=["child"])
    assert (verdict(dimensions), reasons(dimensions)) == ("REFUSED", ["MAXIMUM_DIMENSIONS"])
    asked = {"rows": ["plan"], "columns": ["site"], "figures": ["UNITS", "RECORDS"]}
    differencing = house.ask(**asked, year=["1", "2", "3", "5"])
    assert (verdict(differencing), reasons(differencing)) == ("REFUSED", ["DIFFERENCING"])
    repeated = house.ask(**asked)
    assert repeated.repeated
    assert repeated.decision == protected.decision
    public = house.ledger.key_ring.public_pem()
    for answered in (released, protected, dimensions, differencing):
        stored = house.ledger.query(answered.decision.query)
        assert stored is not None
        assert verify_certificate(stored.certificate, answer_bytes(answered.decision), public)
    assert [stored.sequence for stored in house.ledger.queries("ada", (), 10)] == [5, 4, 3, 2]
    report = house.ledger.verify()
    # The first decision is preceded by its policy.
    assert (report.ok, report.events) == (True, 5)


def test_another_facility_gives_the_same_answer_and_knows_what_has_left(open_house):
    first, second = open_house(), open_house()
    years = first.engine.dataset("randhie").level("education", "years").codes[:-1]
    asked = {"rows": ["female"], "site": ["3"], "year": ["2"]}
    released = first.ask(**asked, education=years)
    assert verdict(released) == "RELEASED"
    repeated = second.ask(**asked, education=years)
    assert repeated.repeated
    assert repeated.decision == released.decision
    # One person of site 3 and year 2 has no education.
    refused = second.ask(**asked)
    assert (verdict(refused), reasons(refused)) == ("REFUSED", ["DIFFERENCING"])
    assert first.ask(**asked).decision == refused.decision


class Together(LocalRisk):
    """Lets nobody past his first question of a round before both have come so far: at the same head."""

    def __init__(self) -> None:
        self.barrier = Barrier(2)
        self.waiting = False

    def assess_table(self, *asked):
        if self.waiting:
            self.waiting = False
            self.barrier.wait(20)
        return super().assess_table(*asked)


def pair_descriptor(name: str) -> dict[str, object]:
    return {
        "name": name,
        "source": name,
        **COPY,
        "data": {"path": "pairs.csv"},
        "unit": {"column": "person"},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.01},
        "variables": [
            {
                "name": "region",
                "identifying": "YES",
                "levels": [{"codes": [{"code": "1"}, {"code": "2"}]}],
            },
            {
                "name": "status",
                "identifying": "NO",
                "levels": [{"codes": [{"code": "here"}, {"code": "away"}]}],
            },
        ],
    }


@pytest.fixture
def two_engines(tmp_path: Path) -> Iterator[tuple[Engine, Engine]]:
    """Two engines on one snapshot store, with a source for each round: 200 persons, of whom 3 are away."""
    rows = [f"p{n},{1 + n % 2},{'away' if n < 3 else 'here'}" for n in range(200)]
    (tmp_path / "pairs.csv").write_text("\n".join(["person,region,status", *rows]))
    engines = tuple(Engine(tmp_path, tmp_path / "store", SECRET) for _ in range(2))
    for number in range(ROUNDS):
        engines[number % 2].register(parse_descriptor(pair_descriptor(f"pair{number}")))
    first, second = engines
    yield first, second
    first.close()
    second.close()


def test_two_facilities_never_release_both_halves_of_a_differencing_pair(open_house, two_engines):
    waits = Together(), Together()
    waits[1].barrier = waits[0].barrier
    houses = [open_house(engine=engine, risk=risk) for engine, risk in zip(two_engines, waits, strict=True)]
    moved: list[int] = []
    for house in houses:
        note_moves(house, moved)
    everybody = {"rows": ["region"]}
    without_three = {"rows": ["region"], "status": ["here"]}
    with ThreadPoolExecutor(2) as threads:
        for number in range(ROUNDS):
            halves = [everybody, without_three][:: 1 if number % 4 < 2 else -1]
            for risk in waits:
                risk.waiting = True
            asked = [
                threads.submit(ask, house, f"pair{number}", half)
                for house, half in zip(houses, halves, strict=True)
            ]
            answers = [one.result(60) for one in asked]
            verdicts = [verdict(answered) for answered in answers]
            assert sorted(verdicts) == ["REFUSED", "RELEASED"]
            winner = verdicts.index("RELEASED")
            assert reasons(answers[1 - winner]) == ["DIFFERENCING"]
            assert len(houses[0].ledger.releases(f"pair{number}")) == 1
    # Both had judged at the same head, so each time one of them found it moved.
    assert len(moved) >= ROUNDS
    report = houses[1].ledger.verify()
    # The first decision is preceded by its policy.
    assert (report.ok, report.events) == (True, 2 * ROUNDS + 1)


def test_the_same_query_to_two_facilities_at_once_is_one_event(open_house, two_engines):
    waits = Together(), Together()
    waits[1].barrier = waits[0].barrier
    houses = [open_house(engine=engine, risk=risk) for engine, risk in zip(two_engines, waits, strict=True)]
    with ThreadPoolExecutor(2) as threads:
        for number in range(5):
            for risk in waits:
                risk.waiting = True
            asked = [
                threads.submit(ask, house, f"pair{number}", {"rows": ["region"], "columns": ["status"]})
                for house in houses
            ]
            answers = [one.result(60) for one in asked]
            assert sorted(answered.repeated for answered in answers) == [False, True]
            assert answers[0].decision == answers[1].decision
    assert houses[0].ledger.verify().events == 5 + 1


def ask(house: House, dataset: str, request: dict[str, list[str]]) -> Answered:
    return house.facility.query_table(house.researcher, table_request(dataset, **request), Pace(60.0))


def note_moves(house: House, moved: list[int]) -> None:
    """Note each time that a house finds the head moved when it wants to record a decision."""
    append = house.ledger.append_decision

    def noting(event, sequence, *allowances):
        try:
            return append(event, sequence, *allowances)
        except HeadMoved as error:
            moved.append(error.current)
            raise

    house.ledger.append_decision = noting
