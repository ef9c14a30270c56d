"""A registered dataset is judged by the rules for the release of files."""

from datetime import date
from functools import partial

import numpy as np
import pytest

from sdcgate.engine import SnapshotDamaged
from sdcgate.engine.release import release_file
from sdcgate.engine.snapshot_files import data_file, read_column
from sdcgate.methods.risk.public_rules import public_rules
from sdcgate.methods.risk.release_rules import Outcome, Regional, Topic
from sdcgate.methods.risk.researchers_rules import researchers_rules
from sdcgate.methods.risk.threshold import Base, Identifying

PLACES = [
    {
        "name": "Lakeside",
        "inhabitants": 60_000,
        "province": "A",
        "codes": [{"variable": "place", "code": "1"}],
    },
    {"name": "Hillside", "inhabitants": 8_000, "province": "B", "codes": [{"variable": "place", "code": 2}]},
]


def declared(**fields):
    def codes(*names):
        return [{"codes": [{"code": name} for name in names]}]

    return {
        "name": "people",
        "data": {"path": "people.csv"},
        "unit": {"column": "id", "label": "person"},
        "household": {"column": "hh"},
        "weight": {"column": "w", "decimals": 1},
        "design": {"coverage": "SAMPLE"},
        "reference_date": "2024-06-30",
        "variables": [
            {"name": "place", "identifying": "EXTREMELY", "regional": "DIRECT", "levels": codes("1", "2")},
            {"name": "sex", "identifying": "VERY", "levels": codes("f", "m")},
            {"name": "job", "identifying": "YES", "topic": "OCCUPATION", "levels": codes("x", "y", "z")},
            {
                "name": "type",
                "identifying": "NO",
                "household_variable": True,
                "levels": codes("alone", "pair"),
            },
        ],
        "municipalities": PLACES,
        **fields,
    }


@pytest.fixture
def dataset(bench):
    rows = ["p1,h1,50.5,1,f,x,pair", "p2,h1,50.5,1,f,x,pair", "p3,h2,20,2,m,,alone", "p4,h3,99.9,1,m,z,alone"]
    bench.write("id,hh,w,place,sex,job,type\n" + "\n".join(rows) + "\n")
    return bench.register(declared())


def file_of(bench, dataset, **options):
    return release_file(dataset, partial(read_column, data_file(bench.store, dataset)), **options)


def test_a_dataset_becomes_a_file_of_units_with_what_its_descriptor_says(bench, dataset):
    file = file_of(bench, dataset, release_date=date(2026, 1, 1))
    place, sex, job, kind = file.variables
    assert (place.name, place.identifying, place.regional) == (
        "place",
        Identifying.EXTREMELY,
        Regional.DIRECT,
    )
    assert (sex.identifying, job.topic, kind.household) == (Identifying.VERY, Topic.OCCUPATION, True)
    rows = sorted(zip(file.codes.tolist(), file.weights.tolist(), strict=True))
    assert rows == [([0, 0, 0, 1], 50.5), ([0, 0, 0, 1], 50.5), ([0, 1, 2, 0], 99.9), ([1, 1, -1, 0], 20.0)]
    assert sorted(np.unique(file.households, return_counts=True)[1].tolist()) == [1, 1, 2]
    assert (file.base, file.panel, file.reference_date) == (Base.POPULATION, False, date(2024, 6, 30))
    assert file.municipalities.inhabitants.tolist() == [60_000, 8_000]


def test_the_rules_name_the_small_place_and_the_rare_combinations(bench, dataset):
    found = researchers_rules(file_of(bench, dataset)).rules
    assert [finding.outcome for finding in found] == [
        Outcome.MET,
        Outcome.VIOLATED,
        Outcome.UNDECIDED,
        Outcome.VIOLATED,
        Outcome.MET,
    ]
    assert [violation.codes for violation in found[1].violations] == [(1, 1, -1), (0, 1, 2)]
    assert found[3].violations[0].codes == (1,)
    assert found[3].violations[0].figure == 8_000
    public = public_rules(file_of(bench, dataset, release_date=date(2025, 1, 1)))
    assert [finding.rule for finding in public.rules if finding.outcome is Outcome.VIOLATED] == [
        1,
        2,
        7,
        8,
        9,
    ]


def test_a_panel_is_judged_by_histories_and_a_census_needs_no_weights(bench):
    bench.write("id,hh,place,sex,job,type\n1,1,1,f,x,pair\n1,1,1,f,y,pair\n2,1,1,f,x,pair\n")
    fields = {"panel": True, "design": {"coverage": "CENSUS", "threshold_base": "SAMPLE"}, "weight": None}
    panel = declared(**fields)
    panel["variables"][2]["varies_within_unit"] = True
    file = file_of(bench, bench.register(panel))
    assert [variable.name for variable in file.variables] == [
        "place",
        "sex",
        "type",
        "job of wave 1",
        "job of wave 2",
    ]
    assert (file.weights, file.base, file.panel) == (None, Base.SAMPLE, True)
    assert sorted(file.codes[:, 4].tolist())[0] == -1
    assert file.municipalities.variables == (0,)


def test_histories_of_a_panel_are_in_the_order_of_its_waves(bench):
    rows = [f"{unit},1,{year},{'zxy'[year]}" for unit in range(40) for year in (2, 0, 1)]
    bench.write("id,hh,year,job\n" + "\n".join(rows) + "\n")
    panel = declared(panel=True, design={"coverage": "CENSUS"}, weight=None, municipalities=[])
    years = {
        "name": "year",
        "identifying": "NO",
        "varies_within_unit": True,
        "levels": [{"integers": {"first": 0, "last": 2}}],
    }
    panel["variables"] = [panel["variables"][2] | {"varies_within_unit": True}, years]
    file = file_of(bench, bench.register(panel))
    jobs = [at for at, variable in enumerate(file.variables) if variable.name.startswith("job")]
    assert np.unique(file.codes[:, jobs], axis=0).tolist() == [[2, 0, 1]]


def test_the_wave_is_the_variable_that_the_descriptor_names(bench):
    """Round and year both tell records apart; the year has fewer codes and would be taken by itself."""
    rows = [f"{unit},1,{year},{8 - year},{'zxy'[year]}" for unit in range(40) for year in (2, 0, 1)]
    bench.write("id,hh,year,round,job\n" + "\n".join(rows) + "\n")
    panel = declared(panel=True, design={"coverage": "CENSUS"}, weight=None, municipalities=[])
    both = [
        {"name": name, "identifying": "NO", "varies_within_unit": True,
         "levels": [{"integers": {"first": 0, "last": last}}]}
        for name, last in (("year", 2), ("round", 8))
    ]  # fmt: skip
    panel["variables"] = [panel["variables"][2] | {"varies_within_unit": True}, *both]
    for wave, order in (("", [2, 0, 1]), ("year", [2, 0, 1]), ("round", [1, 0, 2])):
        file = file_of(bench, bench.register(panel | {"wave": wave}))
        jobs = [at for at, variable in enumerate(file.variables) if variable.name.startswith("job")]
        assert np.unique(file.codes[:, jobs], axis=0).tolist() == [order]


def test_without_a_wave_a_unit_is_known_by_what_happened_not_when(bench):
    rows = [f"{unit},1,{job}" for unit in range(40) for job in ("xxy", "xyx", "yxx")[unit % 3]]
    bench.write("id,hh,job\n" + "\n".join(rows) + "\n")
    panel = declared(panel=True, design={"coverage": "CENSUS"}, weight=None, municipalities=[])
    panel["variables"] = [panel["variables"][2] | {"varies_within_unit": True}]
    file = file_of(bench, bench.register(panel))
    assert np.unique(file.codes, axis=0).tolist() == [[0, 0, 1]]


def test_a_sample_without_weights_has_that_of_its_fraction(bench):
    bench.write("id,hh,place,sex,job,type\n1,1,1,f,x,pair\n")
    dataset = bench.register(declared(weight=None, design={"coverage": "SAMPLE", "sampling_fraction": 0.01}))
    assert file_of(bench, dataset).weights.tolist() == [100.0]


def test_a_place_that_varies_within_units_has_no_municipality(bench):
    bench.write("id,hh,place,sex,job,type\n1,1,1,f,x,pair\n1,1,2,f,x,pair\n")
    moving = declared(weight=None, design={"coverage": "CENSUS"})
    moving["variables"][0]["varies_within_unit"] = True
    assert file_of(bench, bench.register(moving)).municipalities is None


def test_a_changed_snapshot_is_not_read(bench, dataset):
    file = data_file(bench.store, dataset)
    file.chmod(0o600)
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(SnapshotDamaged, match="was changed"):
        bench.engine.release(dataset)


def test_all_problems_of_municipalities_come_at_once(bench, dataset):
    wrong = declared(
        municipalities=[
            PLACES[0],
            {"inhabitants": -1, "codes": [{"variable": "place", "code": "9"}]},
            {"province": "B", "codes": [{"variable": "sex", "code": "f"}]},
        ]
    )
    wrong["variables"][1]["regional_kind"] = "size"
    assert bench.problems(wrong) == {
        "municipalities[0].codes": "give one code of each of place, sex",
        "municipalities[1].inhabitants": "must not be negative",
        "municipalities[1].province": "name the province",
        "municipalities[1].codes": "give one code of each of place, sex",
        "municipalities[1].codes[0].code": "is no code of the finest level of place",
        "municipalities[2].codes": "give one code of each of place, sex",
        "municipalities[2].codes[0].variable": "'sex' is no variable that is declared regional",
        "variables[1].regional_kind": "is about variables that are regional: INDIRECT",
    }


def test_missing_is_no_place(bench, dataset):
    nowhere = {"province": "C", "codes": [{"variable": "place", "code": "_U"}]}
    found = bench.problems(declared(municipalities=[nowhere]))
    assert list(found) == ["municipalities[0].codes[0].code"]
