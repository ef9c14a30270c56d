import pytest

from sdcgate_client import Answer, UnexpectedAnswer
from sdcgate_client.printing import format_statistic
from sdcgate_client.requests import statistic_request
from sdcgate_client.statistics import Statistic

CONTENT = {
    "kind": "PERCENTILES",
    "measure": "meddol",
    "dimensions": [{"variable": "site", "codes": ["1", "2", "3"], "cells": [0, 1, 2]}],
    "statuses": ["PUBLISHED", "WITHHELD", "PUBLISHED"],
    "figures": [
        {"name": "P25", "groups": [0], "values": [4.5], "codes": []},
        {"name": "P50", "groups": [0, 2], "values": [43.12, 17.0], "codes": [], "unreliable": [2]},
    ],
    "unreliable": [2],
    "curves": [{"group": 0, "name": "edges", "x": [1.0], "y": [0.5, 0.5]}],
    "pictures": [{"groups": [0], "svg": "<svg/>", "png": "iVBORw=="}],
}


def test_a_group_has_the_figures_that_it_shows_and_no_others():
    found = Statistic.from_json(CONTENT)
    assert [dict(group.figures) for group in found.groups] == [{"P25": 4.5, "P50": 43.12}, {}, {"P50": 17.0}]
    assert [group.unreliable for group in found.groups] == [False, False, True]
    assert [set(group.unreliable_figures) for group in found.groups] == [set(), set(), {"P50"}]
    assert found.withheld == 1
    assert found.pictures == ("<svg/>",)
    assert found.png == (b"\x89PNG",)
    assert found.curves[0].y == (0.5, 0.5)


def test_as_a_frame_what_is_not_shown_is_missing():
    frame = Statistic.from_json(CONTENT).to_pandas()
    assert frame["site"].tolist() == ["1", "2", "3"]
    assert frame["P25"].isna().tolist() == [False, True, True]
    assert frame["status"].tolist() == ["PUBLISHED", "WITHHELD", "PUBLISHED"]


def test_as_text_what_is_withheld_is_marked():
    assert format_statistic(Statistic.from_json(CONTENT)).splitlines() == [
        "PERCENTILES of meddol",
        "site  P25  P50",
        "1     4.5  43.12",
        "2     x    x",
        "3     x    17     unreliable: P50",
        "x: withheld",
    ]


def test_steps_of_survival_are_listed_with_their_errors():
    curves = [
        {"group": 0, "name": "survival", "x": [1.0, 2.5], "y": [0.9, 0.75]},
        {"group": 0, "name": "survival_error", "x": [1.0, 2.5], "y": [0.03, 0.05]},
    ]
    found = Statistic.from_json(
        {
            "kind": "KAPLAN_MEIER",
            "measure": "months",
            "dimensions": [{"variable": "sex", "codes": ["f"], "cells": [0]}],
            "statuses": ["PUBLISHED"],
            "figures": [{"name": "survival", "groups": [0], "values": [0.75]}],
            "curves": curves,
        }
    )
    assert format_statistic(found).splitlines()[-3:] == [
        "sex  months  survival  standard error",
        "f    1       0.9       0.03",
        "f    2.5     0.75      0.05",
    ]
    frame = found.curves_to_pandas()
    assert frame["y"].tolist() == [0.9, 0.75, 0.03, 0.05]
    assert frame["sex"].tolist() == ["f"] * 4


def test_many_figures_of_one_group_stand_below_each_other():
    names = [f"correlation(a,{place})" for place in range(7)]
    found = Statistic.from_json(
        {
            "kind": "CORRELATIONS",
            "statuses": ["PUBLISHED"],
            "figures": [{"name": name, "groups": [0], "values": [0.5]} for name in names],
        }
    )
    lines = format_statistic(found).splitlines()
    assert len(lines) == 9
    assert lines[2].split() == ["correlation(a,0)", "0.5"]


def test_a_mode_is_a_code():
    mode = {
        "kind": "MODE",
        "statuses": ["PUBLISHED"],
        "figures": [{"name": "mode", "groups": [0], "values": [], "codes": ["11"]}],
    }
    found = Statistic.from_json(mode)
    assert found.groups[0].figures == {"mode": "11"}
    assert found.to_pandas()["mode"].tolist() == ["11"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"figures": [{"name": "P50", "groups": [9], "values": [1.0]}]},
        {"figures": [{"name": "P50", "groups": [0, 2], "values": [1.0]}]},
        {"dimensions": [{"variable": "site", "codes": ["1"], "cells": [0, 1, 2]}]},
    ],
)
def test_figures_of_groups_that_are_not_there_cannot_be_read(wrong):
    with pytest.raises(UnexpectedAnswer):
        Statistic.from_json(CONTENT | wrong)


def test_an_answer_with_a_statistic_is_a_release():
    decision = {"query": "q-1", "verdict": "RELEASED_PROTECTED", "statistic": CONTENT}
    answer = Answer.from_json(decision)
    assert answer.released
    assert len(answer.to_pandas()) == 3
    assert "PERCENTILES of meddol" in str(answer)


def test_a_request_says_what_is_counted_of_one_variable():
    body = statistic_request("odds_ratio", having={"hlthp": ["1"]}, exposed={"female": 1}, groups="age:broad")
    assert body["kind"] == "ODDS_RATIO"
    assert body["having"] == {"variable": "hlthp", "codes": ["1"]}
    assert body["exposed"] == {"variable": "female", "codes": ["1"]}
    assert body["groups"] == [{"variable": "age", "level": "broad"}]
    body = statistic_request("analysis_of_variance", "meddol", factors=["site", "age:broad"])
    assert body["factors"] == [{"variable": "site"}, {"variable": "age", "level": "broad"}]
    assert statistic_request("correlations", measures=("meddol", "mdvis"))["measures"] == ["meddol", "mdvis"]
    with pytest.raises(ValueError, match="having names several variables"):
        statistic_request("proportion", having={"a": "1", "b": "2"})
