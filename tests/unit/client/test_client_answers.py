import copy
from typing import Any

import pytest

from sdcgate_client import Answer, Table, UnexpectedAnswer, format_answer, format_table
from sdcgate_client.printing import describe_request

DECISION: dict[str, Any] = {
    "query": "q-01",
    "dataset": "randhie",
    "version": 1,
    "policy": {"name": "israel-cbs", "hash": "sha256:0123456789"},
    "verdict": "RELEASED_PROTECTED",
    "reasons": [
        {"code": "MINIMUM_UNITS", "message": "Small cells.", "suggestion": "Ask age by twenty_years."}
    ],
    "table": {
        "dimensions": [
            {
                "variable": "site",
                "level": "site",
                "column": "site",
                "codes": ["1", "2", "_T"],
                "labels": ["Dayton", "Seattle", ""],
            },
            {"variable": "age", "level": "ten_years", "column": "age", "codes": ["0-9", "10-19", "_T"]},
        ],
        "columns": {
            "site": [0, 0, 0, 1, 1, 1, 2, 2, 2],
            "age": [0, 1, 2, 0, 1, 2, 0, 1, 2],
            "units": [None, 43, None, None, 52, None, 30, 95, 125],
            "mean_meddol": [None, 99.1, None, None, None, None, 88.25, 96.0, 93.9],
            "status": ["WITHHELD", "PUBLISHED", "ABSENT", "WITHHELD", "PUBLISHED", "ABSENT"]
            + ["PUBLISHED"] * 3,
        },
    },
    "alternatives": [
        {"rows": [{"variable": "site"}], "columns": [{"variable": "age", "level": "twenty_years"}]},
        {"rows": [{"variable": "site"}], "columns": [], "layers": [], "judged": True},
    ],
    "certificate": {"sequence": 17, "head": "ab" * 32},
}
REQUEST = {
    "rows": [{"variable": "site"}],
    "columns": [{"variable": "age", "level": "ten_years"}],
    "layers": [],
}


def answer() -> Answer:
    return Answer.from_json(copy.deepcopy(DECISION), REQUEST)


def test_a_data_frame_has_a_row_a_cell_and_says_what_became_of_it() -> None:
    frame = answer().to_pandas()
    assert list(frame.columns) == ["site", "age", "units", "mean_meddol", "status"]
    assert frame["site"].tolist() == ["1", "1", "2", "2", "_T", "_T", "_T"]
    assert frame["status"].tolist() == ["WITHHELD", "PUBLISHED"] * 2 + ["PUBLISHED"] * 3
    assert frame["units"].isna().tolist() == [True, False, True, False, False, False, False]
    assert frame["units"].dropna().tolist() == [43, 52, 30, 95, 125]
    assert str(frame["units"].dtype) == "Int64"
    assert frame["mean_meddol"].sum() == pytest.approx(99.1 + 88.25 + 96.0 + 93.9)
    assert answer().to_pandas(labels=True)["site"].tolist()[0] == "Dayton"


def test_a_withheld_cell_does_not_count_as_zero_in_a_sum() -> None:
    frame = answer().to_pandas()
    with pytest.raises((TypeError, ValueError)):
        int(frame.loc[0, "units"])


def test_a_table_is_printed_aligned_with_withheld_cells_marked() -> None:
    table = answer().table
    assert table is not None
    assert format_table(table, REQUEST).splitlines() == [
        "units by age:ten_years",
        "site       0-9  10-19  total",
        "----------------------------",
        "1 Dayton     x     43",
        "2 Seattle    x     52",
        "total       30     95    125",
        "",
        "mean_meddol by age:ten_years",
        "site         0-9  10-19  total",
        "------------------------------",
        "1 Dayton       x  99.10",
        "2 Seattle      x      -",
        "total      88.25  96.00  93.90",
        "",
        "x withheld   - no value: no record has one",
    ]


def test_figures_stand_side_by_side_where_nothing_is_across() -> None:
    table = answer().table
    assert table is not None
    text = format_table(table, {"rows": [{}, {}], "columns": [], "layers": []})
    assert text.splitlines()[0].split() == ["site,", "age:ten_years", "units", "mean_meddol"]
    assert [line.split() for line in text.splitlines() if line.startswith("total / 10-19")] == [
        ["total", "/", "10-19", "95", "96.00"]
    ]


def test_layers_are_blocks_of_their_own() -> None:
    table = answer().table
    assert table is not None
    text = format_table(table, {"rows": [{}], "columns": [], "layers": [{}]})
    assert [line for line in text.splitlines() if line.startswith("age")] == [
        "age:ten_years 0-9",
        "age:ten_years 10-19",
        "age:ten_years total",
    ]


def test_what_is_too_wide_goes_on_below() -> None:
    table = answer().table
    assert table is not None
    text = format_table(table, REQUEST, width=24)
    assert max(map(len, text.splitlines()[:12])) <= 24
    assert text.count("1 Dayton") > 2


def table_of(units: list[int | None], statuses: list[str]) -> Table:
    dimension = {"variable": "site", "column": "site", "codes": ["1", "_U", "_T"]}
    columns = {"site": [0, 1, 2], "units": units, "status": statuses}
    return Table.from_json({"dimensions": [dimension], "columns": columns})


def test_codes_for_missing_are_left_out_where_nothing_is_missing_and_shown_where_something_is() -> None:
    nothing = format_table(table_of([30, 0, 30], ["PUBLISHED"] * 3))
    assert "not shown, as nothing is in it: missing site" in nothing
    assert [line.split()[0] for line in nothing.splitlines()[2:4]] == ["1", "total"]
    assert "missing     30" in format_table(table_of([30, 30, 60], ["PUBLISHED"] * 3))
    assert "missing      x" in format_table(table_of([30, None, None], ["PUBLISHED", "WITHHELD", "WITHHELD"]))


def test_an_answer_reads_as_verdict_reasons_table_and_certificate() -> None:
    text = format_answer(answer())
    assert text.startswith(
        "RELEASED_PROTECTED  q-01\n  MINIMUM_UNITS: Small cells.\n    Ask age by twenty_years.\n"
    )
    assert "could be asked: site by age:twenty_years" in text
    assert "would be released: site\n" in text
    assert "certificate: event 17, head abababababababab..., policy israel-cbs" in text
    assert text == str(answer())


def test_models_in_place_of_another_are_told_with_what_would_become_of_them() -> None:
    instead = {"kind": "LINEAR", "formula": "meddol ~ 1 + female"}
    told = {
        "would be released: LINEAR meddol ~ 1 + female": {"model": instead, "judged": True},
        "would be released without some units at random: LINEAR": {"model": instead, "units_left_out": True},
        "could be asked: LINEAR": {"model": instead},
    }
    decision = {**copy.deepcopy(DECISION), "verdict": "REFUSED", "alternatives": list(told.values())}
    text = format_answer(Answer.from_json(decision, {}))
    for words in told:
        assert words in text


def test_a_label_cannot_write_escape_sequences_to_a_terminal() -> None:
    decision = copy.deepcopy(DECISION)
    decision["table"]["dimensions"][0]["labels"][0] = "\x1b[2JDayton\n"
    decision["reasons"][0]["message"] = "\x1b]0;title\x07"
    text = format_answer(Answer.from_json(decision, REQUEST))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "?[2JDayton?" in text


def test_a_status_that_is_not_known_shows_no_figure() -> None:
    decision = copy.deepcopy(DECISION)
    decision["table"]["columns"]["status"][1] = "GUESSED"
    assert "43" not in format_answer(Answer.from_json(decision, REQUEST))


def test_figures_with_noise_are_shown_and_said_to_have_it() -> None:
    table = table_of([30, None, 60], ["PERTURBED"] * 3)
    text = format_table(table)
    assert "30" in text
    assert "all figures with noise" in text
    assert "no value: too few seem to have one" in text
    assert table.withheld == 0


def test_figures_are_not_in_a_repr() -> None:
    assert "43" not in repr(answer().table)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda table: table["columns"].pop("status"),
        lambda table: table["columns"].pop("age"),
        lambda table: table["columns"]["units"].pop(),
        lambda table: table["columns"]["site"].pop(),
        lambda table: table["columns"]["age"].__setitem__(0, 3),
        lambda table: table["columns"]["age"].__setitem__(0, -1),
        lambda table: table["dimensions"][0].pop("codes"),
        lambda table: table["dimensions"][0]["labels"].pop(),
        lambda table: table.__setitem__("columns", None),
    ],
)
def test_half_a_table_is_no_table(spoil: Any) -> None:
    table = copy.deepcopy(DECISION["table"])
    spoil(table)
    with pytest.raises(UnexpectedAnswer):
        Table.from_json(table)


def test_a_model_request_is_told_in_a_line_with_all_its_options() -> None:
    asked = {"kind": "FIXED_EFFECTS", "formula": "y ~ 1 + x", "groups": "site:region", "weighted": False}
    years = {"filter": [{"variable": "year", "level": "year", "codes": ["1", "2"]}]}
    assert describe_request({**asked, **years}) == "FIXED_EFFECTS y ~ 1 + x by site:region; where year in 1,2"
    two_stage = {"kind": "TWO_STAGE", "formula": "y ~ x", "instruments": "1 + z", "groups": ""}
    assert describe_request(two_stage) == "TWO_STAGE y ~ x with instruments 1 + z"
    assert (
        describe_request({"kind": "QUANTILE", "formula": "y ~ x", "quantile": 0.25})
        == "QUANTILE y ~ x at 0.25"
    )
    assert (
        describe_request({"kind": "LINEAR", "formula": "y ~ x", "weighted": True}) == "LINEAR y ~ x weighted"
    )
