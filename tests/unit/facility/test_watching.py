from contextlib import contextmanager

import pytest

from house import verdict, with_randhie
from sdcgate.facility.watching import Stage, watched_by, watcher


class Notebook:
    """Notes all that it is told."""

    def __init__(self):
        self.stages, self.told = [], []

    @contextmanager
    def stage(self, stage):
        self.stages.append(stage)
        yield

    def judged(self, dataset, risk):
        self.told.append(("judged", dataset, risk.base_units))

    def audited(self, dataset, proved, rounds):
        self.told.append(("audited", dataset, proved, rounds > 0))

    def decided(self, dataset, verdict, reasons):
        self.told.append(("decided", dataset, verdict, sorted(reasons)))

    def repeated(self, dataset, verdict):
        self.told.append(("repeated", dataset, verdict))

    def reviewed(self, dataset, verdict):
        self.told.append(("reviewed", dataset, verdict))

    def overtaken(self):
        self.told.append(("overtaken",))


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return with_randhie(tmp_path_factory.mktemp("house"))


def test_a_protected_table_is_told_stage_by_stage_with_its_verdict(house):
    notes = Notebook()
    with watched_by(notes):
        answered = house.ask(rows=["plan"], columns=["site"], layers=["female"])
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert set(notes.stages) == set(Stage) - {Stage.FIT}
    assert notes.told == [
        ("judged", "randhie", 5912),
        ("audited", "randhie", True, True),
        ("decided", "randhie", "RELEASED_PROTECTED", ["MINIMUM_UNITS"]),
    ]


def test_the_same_question_is_told_as_repeated_and_touches_nothing(house):
    house.ask(rows=["site"])
    notes = Notebook()
    with watched_by(notes):
        house.ask(rows=["site"])
    assert (notes.stages, notes.told) == ([], [("repeated", "randhie", "RELEASED")])


def test_a_refusal_without_data_has_no_risk(house):
    notes = Notebook()
    with watched_by(notes):
        house.ask(rows=["site"], columns=["year"], layers=["age:broad", "female"])
    assert notes.told == [("decided", "randhie", "REFUSED", ["MAXIMUM_DIMENSIONS"])]
    assert notes.stages == [Stage.RECORD]


def test_where_nobody_watches_nothing_is_told(house):
    before = watcher()
    with watched_by(Notebook()):
        assert watcher() is not before
    assert watcher() is before
    assert verdict(house.ask(rows=["female"])) == "RELEASED"
