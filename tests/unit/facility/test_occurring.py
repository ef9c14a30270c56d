"""What the joint audit begins with is what people have in truth, of the data that were asked, and no more."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels

from house import build, people_descriptor, table_request, verdict, with_randhie
from sdcgate.facility import occurring
from sdcgate.facility.occurring import Occurring
from sdcgate.facility.pace import Pace
from sdcgate.methods.tables import joint_search

FILE = Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = with_randhie(tmp_path_factory.mktemp("house"))
    yield made
    made.facility.close()


def counted(held):
    return {
        tuple(codes): amount
        for codes, amount in zip(held.combinations.codes.tolist(), held.amounts, strict=True)
    }


def test_records_are_counted_by_the_codes_that_occur(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"place": rng.choice(["a", "c"], 300), "sex": rng.choice(["0", "1"], 300)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path)
    dataset = made.engine.register(people_descriptor({"place": "abc", "sex": "01"})).dataset
    held = Occurring(made.engine).held(dataset, False, frozenset({"sex", "place"}))
    assert held.combinations.variables == ("place", "sex")
    # Nobody has place b: of the codes that occur c is the second.
    expected = Counter(zip(frame["place"].map({"a": 0, "c": 1}), frame["sex"].astype(int), strict=True))
    assert counted(held) == dict(expected)
    made.facility.close()


def test_of_a_panel_units_are_counted_where_records_are_more(house):
    dataset = house.engine.dataset("randhie")
    seen = Occurring(house.engine)
    records, units = (seen.held(dataset, of_units, frozenset({"site"})) for of_units in (False, True))
    assert records.amounts.sum() == dataset.n_records == 20190
    assert units.amounts.sum() == dataset.n_units == 5912
    assert counted(records).keys() == counted(units).keys()


def test_units_that_have_a_record_in_a_layer_are_counted_once_there(house):
    frame = pd.read_csv(FILE)
    dataset, names = house.engine.dataset("randhie"), frozenset({"site", "year"})
    layers = [(), (("year", 0b1),), (("year", 0b110),)]
    records, *units = Occurring(house.engine).layered(dataset, names, layers)
    assert records.amounts.sum() == dataset.n_records
    years = [range(1, 6), [1], [2, 3]]
    place = records.combinations.variables.index("site")
    for held, chosen in zip(units, years, strict=True):
        there = frame[frame["year"].isin(chosen)].groupby("site")["zper"].nunique()
        found = np.bincount(held.combinations.codes[:, place], held.amounts)
        assert found.tolist() == there.tolist()
    assert (
        Occurring(house.engine).layered(dataset, frozenset({"a variable of another version"}), layers) is None
    )


def test_the_joint_audit_of_records_and_units_begins_with_them(tmp_path, monkeypatch):
    made = with_randhie(tmp_path)
    begin, agreed = joint_search.Search.begin, []

    def spied(search):
        system = search._system
        if system.held is not None and 2 * len(system.slack) > len(system.counts):
            agreed.append(joint_search.agrees(system, system.held, search._floor))
        begin(search)
        # Of sums that have room they keep to one end.
        assert search._begun

    monkeypatch.setattr(joint_search.Search, "begin", spied)
    for columns in (("site",), ("year",), ("plan",)):
        made.ask(rows=("education",), columns=columns, figures=("UNITS", "RECORDS"))
    assert agreed
    assert all(agreed)
    made.facility.close()


def test_what_costs_more_than_it_saves_is_not_counted(house, monkeypatch):
    dataset = house.engine.dataset("randhie")
    seen = Occurring(house.engine)
    assert seen.held(dataset, False, frozenset({"a variable of another version"})) is None
    with monkeypatch.context() as few:
        few.setattr(occurring, "MOST_COMBINATIONS", 6)
        assert seen.held(dataset, False, frozenset({"site", "year"})) is None
    assert seen.held(dataset, False, frozenset({"site"})) is not None
    counts = counted(seen.held(dataset, False, frozenset({"site", "plan"})))
    monkeypatch.setattr(occurring, "MOST_RECORDS", dataset.n_records - 1)
    assert seen.held(dataset, False, frozenset({"site"})) is None
    # What is needed is counted where it lies.
    assert counted(seen.held(dataset, False, frozenset({"site", "plan"}), needed=True)) == counts
    assert seen.held(dataset, True, frozenset({"site"}), needed=True) is None
    assert seen.held(dataset, False, frozenset({"a variable of another version"}), needed=True) is None


def test_the_joint_audit_of_a_table_begins_with_it(tmp_path, monkeypatch):
    """And it agrees with all that has left: otherwise the audit would begin with nothing."""
    made = with_randhie(tmp_path)
    moved, begun = joint_search.moved, []

    def spied(system, held, *others):
        found = moved(system, held, *others)
        # Amounts near it, in which nothing is empty, are moved after it.
        if held is system.held:
            begun.append((system.known.of(held) - system.counts, found))
        return found

    monkeypatch.setattr(joint_search, "moved", spied)
    for columns in (("site",), ("year",)):
        request = table_request(rows=("education",), columns=columns, figures=("RECORDS",))
        assert (
            verdict(made.facility.query_table(made.researcher, request, Pace(60.0))) == "RELEASED_PROTECTED"
        )
    assert begun
    for off, found in begun:
        assert np.abs(off).max() == 0.0
        assert (found.highest > found.lowest).any()
    made.facility.close()


def test_measures_are_summed_by_the_codes_that_occur(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "place": rng.choice(["a", "c"], 300),
            "sex": rng.choice(["0", "1"], 300),
            "income": np.where(rng.random(300) < 0.1, np.nan, rng.integers(0, 5000, 300) / 10),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path)
    asked = people_descriptor({"place": "abc", "sex": "01"}, [{"name": "income", "decimals": 1}])
    dataset = made.engine.register(asked).dataset
    measured = Occurring(made.engine).measured(dataset, "income", frozenset({"sex", "place"}))
    groups = frame.groupby(["place", "sex"])["income"].agg(["size", "count", "sum"])
    places = [("ac"[place], str(sex)) for place, sex in measured.combinations.codes]
    expected = groups.loc[places]
    assert measured.records.tolist() == expected["size"].tolist()
    assert measured.having.tolist() == expected["count"].tolist()
    assert measured.sums == pytest.approx(expected["sum"].to_numpy(), rel=1e-12)
    assert Occurring(made.engine).measured(dataset, "power2:income", frozenset({"sex"})) is None
    made.facility.close()


def test_the_joint_audit_of_sums_begins_with_what_is_true_too(tmp_path, monkeypatch):
    """Of means among those who have the measure, and of one that some lack."""
    made = with_randhie(tmp_path)
    moved, begun = joint_search.moved, []

    def spied(system, held, *others):
        if not system.whole:
            begun.append(np.abs(system.known.of(held) - system.counts).max())
        return moved(system, held, *others)

    monkeypatch.setattr(joint_search, "moved", spied)
    for measure in ("meddol", "income"):
        for columns in (("site",), ("year",), ("plan",)):
            asked = table_request(rows=("education",), columns=columns, figures=("RECORDS", f"SUM:{measure}"))
            made.facility.query_table(made.researcher, asked, Pace(60.0))
    assert len(begun) >= 3
    assert max(begun) < joint_search.TOLERANCE
    made.facility.close()
