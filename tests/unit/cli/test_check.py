"""`sdcgate check`: a table in a file is judged here, by its own rules or by a policy's."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main
from sdcgate.servers import openapi_model_examples

TABLE = {
    "dimensions": [
        {"variable": "region", "codes": ["n", "s", "_T"], "cells": [2, 2, 0, 0, 1, 1]},
        {"variable": "size", "codes": ["small", "large"], "cells": [0, 1, 0, 1, 0, 1]},
    ],
    "facts": {
        "units": [16, 50, 4, 20, 12, 30],
        "measures": [
            {"measure": "turnover", "sums": [390, 1200, 90, 400, 300, 800], "lower_bound": 0, "ranks": 2,
             "largest": [70, 60, 350, 50, 60, 20, 350, 20, 70, 60, 60, 50],
             "valid_units": [16, 50, 4, 20, 12, 30]}
        ],
    },
    "rules": {
        "minimum_units": {"units": 5, "consequence": "PROTECT"},
        "p_percent": {"share": 0.1, "consequence": "REFER"},
    },
}  # fmt: skip


def check(folder: Path, body: object, *words: str) -> Result:
    file = folder / "table.json"
    file.write_text(body if isinstance(body, str) else json.dumps(body))
    return CliRunner().invoke(main, ["check", str(file), *words])


def test_unsafe_cells_are_named_by_their_codes_with_what_they_need(tmp_path):
    found = check(tmp_path, TABLE)
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "MINIMUM_UNITS (protect)",
        "  n/small: sliding 5",
        "MINIMUM_UNITS (protect) of turnover",
        "  n/small",
        "P_PERCENT (refer) of turnover",
        "  n/large: upper 5, lower 5",
    ]
    assert found.stderr == "The table does not pass.\n"


def test_a_policy_judges_in_place_of_the_rules_in_the_file(tmp_path):
    found = check(tmp_path, TABLE, "--policy", "five-safes")
    assert found.exit_code == 1
    assert (
        "DOMINANCE (protect) of turnover\n  n/small: upper 30, lower 30\n  n/large: upper 300" in found.stdout
    )
    absent = "largest of turnover, minima of turnover"
    assert f"not judged: P_PERCENT, EQUAL_VALUES; what is absent: {absent}\n" in found.stdout
    assert check(tmp_path, TABLE, "--policy", "five-safes", "--access-level", "moon").exit_code == 2


def test_a_table_without_findings_passes(tmp_path):
    fine = {**TABLE, "rules": {"minimum_units": {"units": 2, "consequence": "PROTECT"}}}
    found = check(tmp_path, fine)
    assert (found.exit_code, found.stdout) == (0, "No rule finds anything.\n")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("{", "must be one JSON object"),
        ({**TABLE, "rules": {"minimum_units": {"units": 0}}}, "rules.minimum_units.units"),
        ({**TABLE, "facts": {"units": [17, 50, 4, 20, 12, 30]}}, "facts.units"),
        ({**TABLE, "facts": {"units": [16]}}, "facts.units"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(tmp_path, body, told):
    found = check(tmp_path, body)
    assert found.exit_code == 2
    assert told in found.stderr
    assert "Traceback" not in found.stderr


def test_a_model_is_told_from_a_table_and_judged_by_its_own_rules_or_a_policys(tmp_path):
    found = check(tmp_path, openapi_model_examples.ASSESSED)
    assert (found.exit_code, found.stderr) == (1, "The model does not pass.\n")
    assert found.stdout.splitlines() == [
        "MINIMUM_UNITS (protect): 4, allowed 10",
        "  region[T.s]",
        "  region",
    ]
    by_policy = check(tmp_path, openapi_model_examples.ASSESSED, "--policy", "five-safes")
    assert by_policy.exit_code == 1
    assert "region[T.s]" in by_policy.stdout
    assert "not judged: INFLUENCE; what is absent: residual_share" in by_policy.stdout
    terms = [{"text": "1"}, {"text": "region", "units": [896, 4]}]
    many = {**openapi_model_examples.ASSESSED["facts"], "units": 900, "records": 900, "terms": terms}
    degrees = {"residual_degrees": {"count": 10, "consequence": "REFUSE"}}
    passes = check(tmp_path, {"facts": many, "rules": degrees})
    assert (passes.exit_code, passes.stdout) == (0, "No rule finds anything.\n")


def test_of_facts_of_a_model_that_are_not_given_it_is_said_that_they_are_not(tmp_path):
    facts = openapi_model_examples.ASSESSED["facts"]
    some = {name: value for name, value in facts.items() if name not in ("maximum_leverage", "exact_share")}
    columns = [{name: one[name] for name in ("name", "term")} for one in facts["columns"]]
    refuse = {"consequence": "REFUSE"}
    rules = {
        "influence": {"largest": 2, "share": 0.5, **refuse},
        "leverage": {"value": 0.5, **refuse},
        "fit": {"r_squared": 0.9, "exact_share": 0.5, **refuse},
    }

    found = check(tmp_path, {"facts": {**some, "columns": columns}, "rules": rules})

    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "INFLUENCE (refuse): not given, allowed 0.5",
        "  Intercept",
        "  region[T.s]",
        "LEVERAGE (refuse): not given, allowed 0.5",
        "PERFECT_FIT (refuse): not given, allowed 0.5",
        "not judged: INFLUENCE, LEVERAGE, PERFECT_FIT; what is absent: columns.largest_shares, "
        "maximum_leverage, exact_share",
    ]


def test_what_no_presence_on_the_wire_tells_is_not_given_rather_than_safe(tmp_path):
    facts = {
        "units": 120, "records": 120, "parameters": 1, "residual_degrees": 100, "exact_share": 0.0,
        "columns": [
            {"name": "Intercept", "term": 0, "largest_shares": [0.1]},
            {"name": "age", "term": 1, "largest_shares": [0.1]},
            {"name": "region[T.s]", "term": 2, "largest_shares": [0.1], "dfbetas": 0.5},
        ],
        "terms": [{"text": "1"}, {"text": "age"}, {"text": "region", "units": [60, 60]}],
    }  # fmt: skip
    refuse = {"consequence": "REFUSE"}
    rules = {
        "categories": {"count": 10, **refuse},
        "influence": {"largest": 1, "share": 0.5, "dfbetas": 1.0, **refuse},
        "outcome_class": {"count": 10, **refuse},
        "parameters": {"value": 0.02, **refuse},
    }

    found = check(tmp_path, {"facts": facts, "rules": rules})

    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "MINIMUM_UNITS (refuse): not given, allowed 10",
        "  age",
        "INFLUENCE (refuse): not given, allowed 1",
        "  Intercept",
        "  age",
        "SATURATED (refuse): 0.025, allowed 0.02",  # there are three columns, whatever `parameters` says
        "not judged: MINIMUM_UNITS, INFLUENCE, OUTCOME_CLASS; what is absent: columns.units_apart, "
        "columns.dfbetas, outcome_units",
    ]
    classes = {**facts, "r_squared": 0.5}
    told = check(tmp_path, {"facts": classes, "rules": {"outcome_class": rules["outcome_class"]}})
    assert (told.exit_code, told.stdout) == (0, "No rule finds anything.\n")  # a number has no classes


def test_what_the_two_largest_units_hold_is_not_told_by_what_one_holds(tmp_path):
    influence = {"influence": {"largest": 2, "share": 0.5, "consequence": "REFUSE"}}

    found = check(tmp_path, {"facts": openapi_model_examples.ASSESSED["facts"], "rules": influence})

    assert found.exit_code == 1
    assert found.stdout.splitlines()[0] == "INFLUENCE (refuse): not given, allowed 0.5"
    assert found.stdout.splitlines()[-1] == "not judged: INFLUENCE; what is absent: columns.largest_shares"


def test_a_statistic_is_told_from_a_table_and_judged_by_its_own_rules_or_a_policys(tmp_path):
    units = {"groups": {"units": [120, 4], "records": [120, 4]}}
    rules = {"cells": {"minimum_units": {"units": 10, "consequence": "PROTECT"}}}
    found = check(tmp_path, {"kind": "MEAN", "facts": units, "rules": rules})
    assert (found.exit_code, found.stderr) == (1, "The statistic does not pass.\n")
    assert found.stdout.splitlines()[:2] == ["MINIMUM_UNITS (protect)", "  group 1"]
    by_policy = check(tmp_path, {"kind": "MEAN", "facts": units}, "--policy", "five-safes")
    assert "MINIMUM_UNITS (protect)\n  group 1" in by_policy.stdout
    assert "not judged: " in by_policy.stdout


def test_a_correlation_is_judged_by_what_a_policy_says_of_the_residuals_of_one_unit(tmp_path):
    facts = {
        "groups": {"units": [40, 40], "records": [40, 40]},
        "residual_shares": [{"name": "a by b", "shares": [0.3, 0.97]}],
    }
    found = check(tmp_path, {"kind": "CORRELATIONS", "facts": facts}, "--policy", "five-safes")
    assert found.exit_code == 1
    assert "INFLUENCE (protect) of a by b\n  group 1" in found.stdout


def test_what_is_wrong_with_a_model_or_a_statistic_is_told_by_its_own_schema(tmp_path):
    model = check(tmp_path, {"facts": {"parameters": 1, "columns": [{"name": "a", "term": 3}]}, "rules": {}})
    assert model.exit_code == 2
    assert "facts.columns[0].term" in model.stderr
    assert "dimensions" not in model.stderr
    statistic = check(
        tmp_path, {"kind": "MEAN", "facts": {"groups": {"units": [-1]}}, "rules": {"cells": {}}}
    )
    assert (statistic.exit_code, "facts" in statistic.stderr) == (2, True)


def test_a_request_is_not_taken_for_a_result(tmp_path):
    for request in ({"formula": "a ~ b"}, {"kind": "MEAN", "measure": "a"}, {"rows": [{"variable": "a"}]}):
        found = check(tmp_path, request)
        assert (found.exit_code, "this has no facts" in found.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "body", "what"),
    [
        ("", "", "a folder"),
        ("table.csv", "site,n\n1,20\n", "no JSON"),
        ("results.zip", "PK\x03\x04", "no JSON"),
        ("results.json", '{"version": "1.0.2", "results": {}}', "ACRO's list of its outputs"),
    ],
    ids=["folder", "csv", "zip", "acro"],
)
def test_what_a_job_printed_is_sent_to_its_dataset(tmp_path, name, body, what):
    path = tmp_path / name
    if name:
        path.write_text(body)

    found = CliRunner().invoke(main, ["check", str(path)])

    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"this is {what}, and only JSON with the facts of one table")
    assert "with --dataset NAME" in found.stderr


def test_printed_estimates_are_held_against_each_other_and_never_pass_unverified(tmp_path):
    units = {"units": 900, "records": 900, "residual_degrees": 898}
    terms = [{"text": "1"}, {"text": "region", "units": [896, 4]}]
    facts = {**openapi_model_examples.ASSESSED["facts"], **units, "terms": terms}
    one = {"name": "Intercept", "estimate": 2.0, "standard_error": 0.5, "statistic": 4.0, "p_value": 6.86e-05}
    south = {"name": "region[T.s]", "estimate": 1.23456, "standard_error": 1.0, "statistic": 3.0}
    body = {
        "facts": facts,
        "rules": {"categories": {"count": 10, "consequence": "PROTECT"}},
        "printed": {"kind": "LINEAR", "coefficients": [one, south], "residual_degrees": 898},
    }
    found = check(tmp_path, body)
    assert found.exit_code == 1
    assert found.stdout.splitlines()[3:] == [
        "printed estimate of region[T.s]: rests on too few units; withhold it with its figures",
        "printed statistic of region[T.s]: is not the estimate over its standard error",
        "not verified: estimate, standard_error; only the dataset can tell whether they are right. Hand in "
        "the request with its figures, with --dataset, and they are computed again.",
    ]
    by_policy = check(tmp_path, body, "--policy", "five-safes").stdout
    assert "printed estimate of region[T.s]: has 6 significant digits; at most 4 leave" in by_policy
    assert "printed residual_degrees: must be rounded to a multiple of 10" in by_policy
    alone = check(tmp_path, body | {"rules": {}, "printed": {"coefficients": [one]}})
    assert (alone.exit_code, alone.stdout.splitlines()[0][:12]) == (1, "not verified")


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"residual_degrees": 119}, "facts.residual_degrees exceeds the records without the parameters"),
        (
            {"terms": [{"text": "1"}, {"text": "r", "units": [110, 4]}]},
            "facts.terms[1].units add up to fewer",
        ),
        ({"terms": [{}, {"text": "r", "units": [119, 4]}]}, "facts.terms[1].units add up to more"),
        ({"outcome_units": [60, 50]}, "facts.outcome_units add up to fewer"),
    ],
)
def test_facts_of_a_model_that_cannot_all_be_true_are_told(tmp_path, facts, told):
    usual = openapi_model_examples.ASSESSED
    found = check(tmp_path, {**usual, "facts": {**usual["facts"], **facts}})
    assert found.exit_code == 2
    assert told in found.stderr.replace(":", "")


def test_printed_figures_of_a_statistic_are_held_against_each_other_and_never_pass_unverified(tmp_path):
    body = {
        "kind": "MEAN",
        "facts": {"groups": {"units": [120, 4], "records": [120, 4]}},
        "rules": {"cells": {"minimum_units": {"units": 10, "consequence": "PROTECT"}}},
        "printed": [
            {"name": "mean", "groups": [0, 1], "values": [5.25, 7.0]},
            {"name": "standard_error", "groups": [0], "values": [-1.0]},
        ],
    }
    found = check(tmp_path, body)
    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    assert lines[2] == "not judged: DOMINANCE; what is absent: measures"
    assert lines[3:7] == [
        "printed mean: must be withheld here",
        "  group 1",
        "printed standard_error: must lie between 0 and inf",
        "  group 0",
    ]
    assert lines[7].startswith("not verified: mean, standard_error; only the dataset can tell")


def test_both_ends_of_a_range_and_each_printed_percentile_need_units_of_their_own(tmp_path):
    groups = {"units": [120], "records": [120]}
    rules = {"cells": {"minimum_units": {"units": 10, "consequence": "PROTECT"}}}
    one_end = {"groups": groups, "extremes": [{"name": "minimum", "sharing_units": [40]}]}

    found = check(tmp_path, {"kind": "RANGE", "facts": one_end, "rules": rules})

    assert found.exit_code == 1
    assert found.stdout == "not judged: EXTREME_VALUE; what is absent: extremes of maximum\n"

    middle = {"groups": groups, "percentiles": [{"point": 0.5, "window_units": [20], "side_units": [50]}]}
    printed = [{"name": name, "groups": [0], "values": [3.0]} for name in ("P50", "P99")]

    found = check(tmp_path, {"kind": "PERCENTILES", "facts": middle, "rules": rules, "printed": printed})

    assert found.stdout.splitlines()[0] == "printed P99: is a percentile of which no units are given"


def test_a_printed_model_without_facts_is_held_against_itself_and_does_not_pass(tmp_path):
    south = {"name": "region[T.s]", "estimate": 1.5, "standard_error": 0.5, "statistic": 4.0, "lower": 2.0}
    body = {"kind": "LINEAR", "formula": "cost ~ region", "filter": [], "coefficients": [south]}

    found = check(tmp_path, body)

    assert (found.exit_code, found.stderr) == (1, "The model does not pass.\n")
    lines = found.stdout.splitlines()
    assert lines[:2] == [
        "printed statistic of region[T.s]: is not the estimate over its standard error",
        "printed lower of region[T.s]: is no bound of a 95% interval of the estimate and its standard error",
    ]
    assert lines[2].startswith("not judged: no rule")
    assert lines[3].startswith("not verified: estimate, standard_error")
    exact = {**south, "estimate": 1.50001, "statistic": 3.0, "lower": 0.52}
    assert (
        "has 6 significant digits; at most 4 leave"
        in check(tmp_path, {**body, "coefficients": [exact]}, "--policy", "five-safes").stdout
    )
    withheld = check(tmp_path, {**body, "fittedvalues": [1.0]})
    assert (withheld.exit_code, "figures of single records never leave" in withheld.stderr) == (2, True)
