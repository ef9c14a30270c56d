"""Deviations, medians, extremes, modes and shares that a job printed with ACRO, against the RAND file."""

from importlib.resources import files

import pandas as pd
import pytest

from house import Pace, cells, person, reasons, verdict, with_randhie
from printed_results import acro_folder, entry, zipped
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2, table_pb2

DIGITS = 5e-4
"""What four significant digits change at most."""


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    frame = pd.read_csv(str(files("statsmodels") / "datasets" / "randhie/src/randhie.csv"))
    return frame.astype({"female": int, "hlthp": int})


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = with_randhie(tmp_path_factory.mktemp("house"))
    yield made
    made.facility.close()


@pytest.fixture
def fresh(tmp_path):
    """A house of which nothing has left, under rules of thumb for outputs."""
    made = with_randhie(tmp_path, policy="five-safes")
    yield made
    made.facility.close()


def submitted(house, table: pd.DataFrame, said: str, across: str = "df.female"):
    """The answer to a table that ACRO's crosstab wrote; it is ACRO's own pass that is not believed."""
    said = f"acro.crosstab(df.site, {across}, {said})"
    folder = acro_folder({"o": entry("table", ["t.csv"], said)}, t__csv=table.to_csv())
    options = pb.ResultsOptions(dataset="randhie")
    return house.facility.submit_results(person("portal", "p"), options, zipped(folder), Pace(60)).outputs


def by_site(people, how: str, **more) -> pd.DataFrame:
    return pd.crosstab(people["site"], people["female"], values=people["meddol"], aggfunc=how, **more)


def told(decision) -> dict[tuple[str, ...], float | str]:
    """The one figure of a statistic by the codes of its groups."""
    (figure,) = decision.statistic.figures
    axes = decision.statistic.dimensions
    return {
        tuple(axis.codes[axis.cells[group]] for axis in axes): value
        for group, value in zip(figure.groups, figure.codes or figure.values, strict=True)
    }


def expected(table: pd.DataFrame) -> dict[tuple[str, ...], float]:
    return {
        (str(down), str(across)): table.loc[down, across] for down in table.index for across in table.columns
    }


@pytest.mark.parametrize(("how", "kind"), [("std", "STANDARD_DEVIATION"), ("var", "VARIANCE")])
def test_deviations_that_agree_leave_as_the_datasets_own(house, people, how, kind):
    (output,) = submitted(house, by_site(people, how), f'values=df.meddol, aggfunc="{how}"')
    assert (pb.ResultKind.Name(output.read_as), output.part) == ("RESULT_KIND_STATISTIC", "")
    assert verdict(output) == "RELEASED"
    assert output.decision.statistic.kind == statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    assert told(output.decision) == pytest.approx(expected(by_site(people, how)), rel=DIGITS)


def test_one_that_differs_is_left_to_a_checker_and_approved_it_is_the_datasets_own(house, people):
    table = by_site(people, "std")
    table.loc[3, 1] += 1
    said = 'values=df.meddol, aggfunc="std"'
    (output,) = submitted(house, table, said)
    assert (verdict(output), reasons(output)) == ("REFERRED", ["BINDING"])
    assert "standard_deviation of 3, 1." in output.decision.reasons[0].message
    assert not output.decision.HasField("statistic")
    (again,) = submitted(house, table, said)
    assert again.repeated_answer
    assert again.decision.query == output.decision.query
    review = pb.ReviewQueryRequest(query=output.decision.query, approve=True, note="an older file")
    approved = house.facility.review_query(house.checker, review, Pace(60))
    assert told(approved) == pytest.approx(expected(by_site(people, "std")), rel=DIGITS)


def test_what_was_printed_to_few_digits_is_compared_to_these(house, people):
    (output,) = submitted(house, by_site(people, "std").round(0), 'values=df.meddol, aggfunc="std"')
    assert verdict(output) == "RELEASED"
    (wrong,) = submitted(house, by_site(people, "std").round(0) + 2, 'values=df.meddol, aggfunc="std"')
    assert verdict(wrong) == "REFERRED"


def test_standard_errors_of_means_are_judged_as_deviations_are(house, people):
    (output,) = submitted(house, by_site(people, "sem"), 'values=df.meddol, aggfunc="sem"')
    assert (verdict(output), output.part) == ("RELEASED", "")
    assert [figure.name for figure in output.decision.statistic.figures] == ["standard_error"]
    assert told(output.decision) == pytest.approx(expected(by_site(people, "sem")), rel=DIGITS)
    # The same figures said to be deviations are another output.
    (wrong,) = submitted(house, by_site(people, "sem"), 'values=df.meddol, aggfunc="std"')
    assert (verdict(wrong), reasons(wrong)) == ("REFERRED", ["BINDING"])


def test_a_standard_error_is_withheld_where_its_deviation_is(fresh, people):
    by_plan = {
        how: pd.crosstab(people["site"], people["plan"], values=people["meddol"], aggfunc=how)
        for how in ("std", "sem")
    }
    left = {
        how: set(told(submitted(fresh, table, f'values=df.meddol, aggfunc="{how}"', "df.plan")[0].decision))
        for how, table in by_plan.items()
    }
    assert left["sem"] == left["std"]
    assert ("3", "5") not in left["sem"]
    wrong = by_plan["sem"].copy()
    site, plan = min(left["sem"])
    wrong.loc[int(site), int(plan)] *= 1.01
    (output,) = submitted(fresh, wrong, 'values=df.meddol, aggfunc="sem"', "df.plan")
    assert f"standard_error of {site}, {plan}." in output.decision.reasons[0].message


def test_numbers_of_categories_leave_as_the_table_of_units_by_them(fresh, people):
    def categories(of: str, **more):
        return pd.crosstab(people["site"], people["female"], values=people[of], aggfunc="nunique", **more)

    said = 'values=df.coins, aggfunc="nunique"'
    (output,) = submitted(fresh, categories("coins", margins=True), f"{said}, margins=True")
    assert (verdict(output), output.read_as) == ("RELEASED", pb.RESULT_KIND_TABLE)
    left = {codes: units for codes, (units,) in cells(output.decision).items()}
    units = people.groupby(["site", "female", "coins"])["zper"].nunique()
    assert left["3", "1", "95"] == units[3, 1, 95]
    assert left["3", "_T", "95"] == units[3].groupby("coins").sum()[95]
    wrong = categories("coins")
    wrong.loc[3, 1] -= 1
    (output,) = submitted(fresh, wrong, said)
    assert (verdict(output), reasons(output)) == ("REFERRED", ["BINDING"])
    assert "categories of 3, 1." in output.decision.reasons[0].message


def test_a_number_of_categories_that_tells_of_few_persons_is_withheld_and_not_compared(fresh, people):
    """Some plans have a handful of persons at a site: that a number is right would tell of them."""
    plans = pd.crosstab(people["site"], people["female"], values=people["plan"], aggfunc="nunique")
    said = 'values=df.plan, aggfunc="nunique"'
    (output,) = submitted(fresh, plans, said)
    assert (verdict(output), reasons(output)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    shown = cells(output.decision)
    hidden = {codes[:2] for codes, (units,) in shown.items() if units is None}
    assert hidden
    guess = plans.copy()
    for site, female in hidden:
        guess.loc[int(site), int(female)] -= 1
    (guessed,) = submitted(fresh, guess, said)
    assert verdict(guessed) == "RELEASED_PROTECTED"
    assert cells(guessed.decision) == shown


def test_of_several_statistics_in_a_file_those_that_can_be_judged_are(house, people):
    """A first value is one record's: it waits for a checker, and the means beside it do not."""
    table = people.pivot_table(values="meddol", index="site", columns="female", aggfunc=["mean", "first"])
    said = 'acro.pivot_table(df, values="meddol", index="site", columns="female", aggfunc=["mean", "first"])'
    folder = acro_folder({"o": entry("table", ["t.csv"], said)}, t__csv=table.to_csv())
    options = pb.ResultsOptions(dataset="randhie")
    outputs = house.facility.submit_results(person("portal", "p"), options, zipped(folder), Pace(60)).outputs
    assert [(output.part, verdict(output)) for output in outputs] == [
        ("MEAN of meddol", "RELEASED"),
        ("FIRST of meddol", "REFERRED"),
    ]


def test_medians_never_leave_but_percentiles_in_their_place_do(house, people):
    exact, said = by_site(people, "median"), 'values=df.meddol, aggfunc="median"'
    (output,) = submitted(house, exact, said)
    assert (verdict(output), reasons(output)) == ("RELEASED_PROTECTED", ["PERCENTILE_UNITS"])
    assert [figure.name for figure in output.decision.statistic.figures] == ["P50"]
    left = told(output.decision)
    assert left == pytest.approx(expected(exact), rel=0.02)
    assert left != {codes: float(f"{value:.3e}") for codes, value in expected(exact).items()}
    # Nothing is learnt from them by guessing: other medians have the same answer.
    (guessed,) = submitted(house, exact + 0.01, said)
    assert told(guessed.decision) == left


def test_extremes_leave_where_enough_share_them_only(house, people):
    (least,) = submitted(house, by_site(people, "min"), 'values=df.meddol, aggfunc="min"')
    assert (verdict(least), set(told(least.decision).values())) == ("RELEASED", {0.0})
    (most,) = submitted(house, by_site(people, "max"), 'values=df.meddol, aggfunc="max"')
    assert (verdict(most), reasons(most)) == ("REFUSED", ["EXTREME_VALUE"])


def test_totals_are_statistics_of_coarser_groups_each_with_its_decision(house, people):
    table = by_site(people, "std", margins=True)
    outputs = submitted(house, table, 'values=df.meddol, aggfunc="std", margins=True')
    assert [(output.part, verdict(output)) for output in outputs] == [
        ("STANDARD_DEVIATION of meddol", "RELEASED"),
        ("STANDARD_DEVIATION of meddol, totals over female", "RELEASED"),
        ("STANDARD_DEVIATION of meddol, totals over site", "RELEASED"),
        ("STANDARD_DEVIATION of meddol, totals over site, female", "RELEASED"),
    ]
    assert told(outputs[1].decision)["3",] == pytest.approx(table.loc[3, "All"], rel=DIGITS)
    assert told(outputs[2].decision)["1",] == pytest.approx(table.loc["All", 1], rel=DIGITS)
    assert told(outputs[3].decision)[()] == pytest.approx(table.loc["All", "All"], rel=DIGITS)


def test_the_mode_of_a_variable_is_compared_by_its_code(house, people):
    modes = people.groupby(["site", "female"])["hlthp"].agg(lambda values: values.mode()[0]).unstack()
    (output,) = submitted(house, modes, 'values=df.hlthp, aggfunc="mode"')
    assert verdict(output) == "REFUSED"
    assert "MODAL_SHARE" in reasons(output)
    plans = people.groupby(["site", "female"])["plan"].agg(lambda values: values.mode()[0]).unstack()
    (output,) = submitted(house, plans, 'values=df.plan, aggfunc="mode"')
    assert verdict(output) == "RELEASED_PROTECTED"
    left = told(output.decision)
    assert left == {codes: str(code) for codes, code in expected(plans).items() if codes in left}
    assert len(left) >= 4
    plans.loc[1, 0] += 1
    (wrong,) = submitted(house, plans, 'values=df.plan, aggfunc="mode"')
    assert "mode of 1, 0." in wrong.decision.reasons[0].message


@pytest.mark.parametrize("of", ["index", "columns", "all"])
def test_shares_are_percentages_by_the_cells_beneath(house, people, of):
    shares = pd.crosstab(people["site"], people["female"], normalize=of, margins=True)
    (output,) = submitted(house, shares, f'normalize="{of}", margins=True')
    assert (verdict(output), output.read_as) == ("RELEASED", pb.RESULT_KIND_TABLE)
    left = {codes: figure for codes, (figure,) in cells(output.decision).items()}
    printed = {tuple(code.replace("All", "_T") for code in codes): v for codes, v in expected(shares).items()}
    assert left == pytest.approx({codes: 100 * share for codes, share in printed.items()}, abs=0.051)
    shares.iloc[1, 1] += 0.01
    (wrong,) = submitted(house, shares, f'normalize="{of}", margins=True')
    assert (verdict(wrong), reasons(wrong)) == ("REFERRED", ["BINDING"])
    assert "of 2, 1." in wrong.decision.reasons[0].message


def test_shares_and_deviations_of_few_persons_are_withheld_whatever_was_printed(house, people):
    shares = pd.crosstab(people["site"], people["plan"], normalize="index")
    (output,) = submitted(house, shares, 'normalize="index"', "df.plan")
    assert verdict(output) == "RELEASED_PROTECTED"
    assert cells(output.decision)["3", "5"] == (None,)
    table = pd.crosstab(people["site"], people["plan"], values=people["meddol"], aggfunc="std")
    (output,) = submitted(house, table, 'values=df.meddol, aggfunc="std"', "df.plan")
    assert verdict(output) == "RELEASED_PROTECTED"
    assert ("3", "5") not in told(output.decision)
    withheld = list(output.decision.statistic.statuses).count(table_pb2.CELL_STATUS_WITHHELD)
    assert withheld == table.notna().sum().sum() - len(told(output.decision))


def test_a_side_file_may_say_that_a_table_shows_deviations_and_medians(house, people):
    shown = by_site(people, "std").stack().rename("spread").to_frame()
    shown["middle"] = by_site(people, "median").stack()
    side = "rows: [site, female]\nfigures: {spread: standard_deviation:meddol, middle: median:meddol}\n"
    folder = {"t.csv": shown.to_csv().encode(), "t.yaml": side.encode()}
    options = pb.ResultsOptions(dataset="randhie")
    outputs = house.facility.submit_results(person("portal", "p"), options, zipped(folder), Pace(60)).outputs
    assert [(output.part, verdict(output)) for output in outputs] == [
        ("STANDARD_DEVIATION of meddol", "RELEASED"),
        ("PERCENTILES of meddol", "RELEASED_PROTECTED"),
    ]
    assert told(outputs[0].decision) == pytest.approx(expected(by_site(people, "std")), rel=DIGITS)


def test_a_side_file_may_say_that_a_table_shows_errors_and_numbers_of_categories(fresh, people):
    shown = by_site(people, "sem").stack().rename("error").to_frame()
    shown["coinsurance"] = people.groupby(["site", "female"])["coins"].nunique()
    side = "rows: [site, female]\nfigures: {error: standard_error:meddol, coinsurance: categories:coins}\n"
    folder = {"t.csv": shown.to_csv().encode(), "t.yaml": side.encode()}
    options = pb.ResultsOptions(dataset="randhie")
    outputs = fresh.facility.submit_results(person("portal", "p"), options, zipped(folder), Pace(60)).outputs
    assert [(output.part, verdict(output)) for output in outputs] == [
        ("STANDARD_ERROR of meddol", "RELEASED"),
        ("CATEGORIES of coins", "RELEASED"),
    ]


def test_cells_that_were_suppressed_stay_so(house, people):
    table = by_site(people, "std")
    table.loc[4, 0] = None
    (output,) = submitted(house, table, 'values=df.meddol, aggfunc="std"')
    assert verdict(output) == "RELEASED"
    assert set(expected(table)) - set(told(output.decision)) == {("4", "0")}
    shares = pd.crosstab(people["site"], people["female"], normalize="all")
    shares.loc[4, 0] = None
    (output,) = submitted(house, shares, "normalize=True")
    assert set(expected(shares)) - set(cells(output.decision)) == {("4", "0")}


def test_where_all_that_would_be_withheld_was_suppressed_the_rest_leaves_as_it_is(house, people):
    table = pd.crosstab(people["site"], people["plan"], values=people["meddol"], aggfunc="var")
    said = 'values=df.meddol, aggfunc="var"'
    (output,) = submitted(house, table, said, "df.plan")
    assert (verdict(output), reasons(output)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    left = told(output.decision)
    kept = table.copy()
    for down, across in expected(table):
        if (down, across) not in left:
            kept.loc[int(down), int(across)] = None
    (safe,) = submitted(house, kept, said, "df.plan")
    assert (verdict(safe), reasons(safe)) == ("RELEASED", [])
    assert told(safe.decision) == left


def test_a_statistic_that_somebody_asks_is_not_answered_by_what_a_job_printed(house, people):
    wrong = by_site(people, "var") + 9e5
    (output,) = submitted(house, wrong, 'values=df.meddol, aggfunc="var"')
    assert verdict(output) == "REFERRED"
    asked = pb.QueryStatisticRequest(dataset="randhie", kind="STATISTIC_KIND_VARIANCE", measure="meddol")
    asked.groups.add(variable="site")
    asked.groups.add(variable="female")
    assert verdict(house.facility.query_statistic(house.researcher, asked, Pace(60))) == "RELEASED"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('values=df.meddol, aggfunc="skew"', "Its skew cannot be computed again"),
        ('values=df.meddol, aggfunc="first"', "values of single records, the first of each cell"),
        ('values=df.meddol, aggfunc="last"', "values of single records, the last of each cell"),
        ('values=df.meddol, aggfunc="prod"', "products of the values of records"),
        ('values=df.meddol, aggfunc="nunique"', "'meddol' is no variable of randhie"),
        ('values=df.ward, aggfunc="std"', "'ward' is no measure of randhie"),
        ('values=df.meddol, aggfunc="mode"', "a mode is asked of codes"),
        ('values=df.meddol, aggfunc="std", normalize=True', "shares that are not of records"),
        ("normalize=df.how", "shares that are not of records"),
    ],
)
def test_what_is_really_unknown_is_left_to_a_checker(house, people, said, why):
    (output,) = submitted(house, by_site(people, "std"), said)
    assert (verdict(output), output.read_as) == ("REFERRED", pb.RESULT_KIND_FILE)
    assert why in " ".join(output.problems)


def test_a_code_or_cell_that_the_dataset_has_not_is_told(house, people):
    table = by_site(people, "std").rename(index={6: 9})
    (output,) = submitted(house, table, 'values=df.meddol, aggfunc="std"')
    assert "'9' is no code of site" in " ".join(output.problems)
