"""A survey of plants under policies that look at contributions: the facility withholds what they mark."""

import numpy as np
import pandas as pd
import pytest

from house import House, build, cells, reasons, verdict
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.in_process import LocalProtection
from sdcgate.methods.tables.problem import Problem
from sdcgate.policy import parse_policy

POLICY = """
name: plants
version: "1"
description: A survey of establishments.
defaults:
  rules:
    minimum_units: {units: 3, consequence: protect}
    RULES
  dimensions: {maximum: 3, maximum_filters: 2, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 5000, unproved: refer}
  output: {digits: 1, maximum_cells: 1000}
  differencing: {consequence: refuse}
access_levels: {remote: {}}
"""
REGIONS = ("east", "north", "south", "west")


def plants() -> pd.DataFrame:
    """Sixteen plants a region, most of 100 to 130; in the north three large ones belong to one company."""
    rng = np.random.default_rng(11)
    rows = []
    for region in REGIONS:
        for number in range(16):
            turnover = int(rng.integers(100, 130))
            if region == "north" and number < 3:
                turnover = (2000, 1500, 900)[number]
            large = turnover > 130
            waived = "yes" if turnover == 2000 else "no"
            name = f"{region}{number}"
            rows.append((name, "big" if large else name, region, turnover, 1 if large else 3, waived))
    return pd.DataFrame(rows, columns=["id", "company", "region", "turnover", "w", "agreed"])


def house(
    folder,
    rules: str,
    frame: pd.DataFrame | None = None,
    levels: str = "widths",
    protection: LocalProtection | None = None,
    **fields,
) -> House:
    text = POLICY.replace("RULES", rules).replace("0.1, time", f"0.1, levels: {levels}, time")
    made = build(folder, protection=protection, policy="plants", policies={"plants": parse_policy(text)})
    (plants() if frame is None else frame).to_csv(folder / "plants.csv", index=False)
    declared = {
        "name": "plants",
        "data": {"path": "plants.csv"},
        "unit": {"column": "id", "label": "plant"},
        "design": {"coverage": "CENSUS"},
        "variables": [
            {
                "name": "region",
                "identifying": "YES",
                "levels": [{"codes": [{"code": code} for code in REGIONS]}],
            }
        ],
        "measures": [{"name": "turnover", "lower_bound": 0}],
        **fields,
    }
    made.engine.register(parse_descriptor(declared))
    return made


def withheld(answered) -> list[str]:
    return [codes[0] for codes, figures in cells(answered).items() if figures[0] is None]


def ask(made: House, figure: str = "SUM:turnover"):
    return made.ask(dataset="plants", rows=["region"], figures=[figure])


TOGETHER = "p_percent: {share: 0.9, coalition: 2, consequence: protect}"
SAMPLE = {"weight": {"column": "w"}, "design": {"coverage": "SAMPLE"}}
CONTRIBUTIONS = "\n    contributions: "


@pytest.mark.parametrize(
    "rules",
    [
        "p_percent: {share: 0.9, consequence: protect}",
        "p_percent: {share: 0.7, coalition: 2, consequence: protect}",
        "prior_posterior: {p: 0.4, q: 0.5, consequence: protect}",
        "linear_sensitivity: [{weights: [1.3], rest: -1, consequence: protect}]",
        "dominance: [{largest: 4, share: 0.8, consequence: protect}]",
    ],
)
def test_a_region_that_nobody_can_estimate_is_released(tmp_path, rules):
    assert verdict(ask(house(tmp_path, rules))) == "RELEASED"


@pytest.mark.parametrize(
    "rules",
    [
        TOGETHER,
        "prior_posterior: {p: 0.4, q: 0.5, coalition: 2, consequence: protect}",
        "linear_sensitivity: [{weights: [1.3, 0], rest: -1, consequence: protect}]",
        "dominance: [{largest: 4, share: 0.7, consequence: protect}]",
    ],
)
def test_a_region_that_two_together_can_estimate_is_withheld_and_looks_like_any_other(tmp_path, rules):
    answered = ask(house(tmp_path, rules))
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert "north" in withheld(answered)
    assert len(withheld(answered)) == 2
    assert reasons(answered) == ["MINIMUM_UNITS"]


def test_plants_of_one_company_are_one_respondent(tmp_path):
    rules = "p_percent: {share: 0.4, consequence: protect}"
    (tmp_path / "plants").mkdir()
    (tmp_path / "companies").mkdir()
    assert verdict(ask(house(tmp_path / "plants", rules))) == "RELEASED"
    companies = house(tmp_path / "companies", rules, holding={"column": "company"})
    assert "north" in withheld(ask(companies))


def test_fewer_companies_than_the_minimum_of_units_are_too_few(tmp_path):
    frame = plants()
    east = frame["region"] == "east"
    frame.loc[east, "company"] = np.where(np.arange(16) < 8, "one", "two")
    answered = ask(house(tmp_path, "", frame, holding={"column": "company"}), "UNITS")
    assert "east" in withheld(answered)


def test_a_difference_of_one_company_is_too_small_however_many_plants_it_has(tmp_path):
    frame = plants()
    frame["company"] = np.where(frame["region"] == "east", "one", frame["company"])
    fields = {"holding": {"column": "company"}}
    (tmp_path / "apart").mkdir()
    (tmp_path / "held").mkdir()
    without = {"region": ["north", "south", "west"]}
    for folder, extra, last in (("apart", {}, "RELEASED"), ("held", fields, "REFUSED")):
        made = house(tmp_path / folder, "", frame, **extra)
        assert verdict(made.ask(dataset="plants")) == "RELEASED"
        assert verdict(made.ask(dataset="plants", **without)) == last


def test_who_gave_a_waiver_lets_the_sum_be_known(tmp_path):
    waiver = {"column": "agreed", "codes": ["yes"]}
    assert verdict(ask(house(tmp_path, TOGETHER, waiver=waiver))) == "RELEASED"


def test_shifted_contributions_are_measured_from_the_lower_bound_and_need_one(tmp_path):
    shifted = TOGETHER + CONTRIBUTIONS + "{negative: shifted}"
    verdicts = []
    for number, measure in enumerate(({"lower_bound": 0}, {"lower_bound": -1000}, {"upper_bound": 9000})):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = house(folder, shifted, measures=[{"name": "turnover", **measure}])
        verdicts.append(verdict(ask(made)))
    assert verdicts == ["RELEASED_PROTECTED", "RELEASED", "REFERRED"]


def test_weighted_figures_are_judged_by_weighted_contributions_where_no_other_shows(tmp_path):
    weighted = TOGETHER + CONTRIBUTIONS + "{weighted: true}"
    for number, (figures, expected) in enumerate(
        [
            (["WEIGHTED_SUM:turnover"], "RELEASED"),
            (["SUM:turnover"], "RELEASED_PROTECTED"),
            (["WEIGHTED_SUM:turnover", "MEAN:turnover"], "RELEASED_PROTECTED"),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = house(folder, weighted, **SAMPLE)
        assert verdict(made.ask(dataset="plants", rows=["region"], figures=figures)) == expected


def heavy() -> pd.DataFrame:
    """Plants nearly alike, of which one in the north weighs 5,000 and all others 1."""
    frame = plants()
    frame["turnover"], frame["w"], frame["company"] = 100 + np.arange(len(frame)) % 17, 1.0, frame["id"]
    frame.loc[frame.index[frame["region"] == "north"][0], "w"] = 5000.0
    return frame


@pytest.mark.parametrize("beside", ["SUM:turnover", "MEAN:turnover"])
def test_weighted_figures_are_judged_by_weighted_contributions_beside_others_as_well(tmp_path, beside):
    rules = "p_percent: {share: 0.1, coalition: 2, consequence: protect}" + CONTRIBUTIONS + "{weighted: true}"
    frame = heavy()
    # Without weights nobody stands out; weighted, all others together are 0.3% of one.
    north = frame[frame["region"] == "north"]
    assert (north["turnover"] * (north["w"] == 1)).sum() < 0.003 * (north["turnover"] * north["w"]).max()
    made = house(tmp_path, rules, frame, **SAMPLE)
    assert verdict(ask(made, beside)) == "RELEASED"
    both = made.ask(dataset="plants", rows=["region"], figures=[beside, "WEIGHTED_SUM:turnover"])
    assert verdict(both) == "RELEASED_PROTECTED"
    assert "north" in withheld(both)


def test_differences_are_judged_by_weighted_contributions_beside_others_as_well(tmp_path):
    rules = "p_percent: {share: 0.1, coalition: 2, consequence: protect}" + CONTRIBUTIONS + "{weighted: true}"
    both = ["SUM:turnover", "WEIGHTED_SUM:turnover"]
    frame = heavy()
    for region in ("east", "south"):
        frame.loc[frame.index[frame["region"] == region][:3], "w"] = 9000.0
    made = house(tmp_path, rules, frame, **SAMPLE)
    asked = {"dataset": "plants", "figures": both}
    assert verdict(made.ask(**asked)) == "RELEASED"
    assert verdict(made.ask(**asked, region=["east", "south", "west"])) == "REFUSED"


def test_weighted_figures_of_losses_are_protected_like_others(tmp_path):
    frame = plants()
    frame["turnover"] *= np.where(np.arange(len(frame)) % 2, 1, -1)
    bounded = {"name": "turnover", "lower_bound": -2500, "upper_bound": 2500}
    fields = {**SAMPLE, "measures": [bounded]}
    rules = "dominance: [{largest: 1, share: 0.3, consequence: protect}]" + CONTRIBUTIONS
    answered = ask(house(tmp_path, rules + "{negative: shifted}", frame, **fields), "WEIGHTED_SUM:turnover")
    assert verdict(answered) == "RELEASED"
    (tmp_path / "absolute").mkdir()
    absolute = ask(house(tmp_path / "absolute", rules + "{}", frame, **fields), "WEIGHTED_SUM:turnover")
    assert "north" in withheld(absolute)


class Watched(LocalProtection):
    """A protection service whose problems are looked at."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def protect_table(self, problem, *rest):
        self.problems.append(problem)
        return super().protect_table(problem, *rest)


def levels_asked(folder, figure: str, rules: str, levels: str, **fields) -> dict[str, tuple[float, float]]:
    """Levels above and below the sum of each region that are asked of its protection, where any are."""
    service = Watched()
    folder.mkdir(exist_ok=True)
    answered = ask(house(folder, rules, levels=levels, protection=service, **fields), figure)
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert "north" in withheld(answered)
    problem = service.problems[0]
    if problem.upper_levels is None:
        return {}
    place = 0 if figure.startswith("SUM") else -1
    sides = np.stack([problem.upper_levels[place], problem.lower_levels[place]])
    codes = problem.axes[0].codes
    return {codes[cell]: tuple(sides[:, cell].tolist()) for cell in np.flatnonzero(sides.any(axis=0))}


def test_withheld_sums_reach_the_levels_of_their_rules_where_the_policy_says_so(tmp_path):
    total = int(plants().query("region == 'north'")["turnover"].sum())
    two = ("{largest: 1, share: 0.2, consequence: protect}", "{largest: 2, share: 0.5, consequence: protect}")
    rules = f"dominance: [{', '.join(two)}]"
    asked = levels_asked(tmp_path / "rules", "SUM:turnover", rules, "rules")
    # The stricter of two rules; nothing is less than 0.
    assert asked == {"north": pytest.approx((2000 / 0.2 - total, 2000 / 0.2 - total))}
    assert levels_asked(tmp_path / "widths", "SUM:turnover", rules, "widths") == {}
    strict = rules.replace("0.2", "0.15")
    strictly = levels_asked(tmp_path / "strict", "SUM:turnover", strict, "rules")
    assert strictly["north"] == pytest.approx((2000 / 0.15 - total, total))


def test_weighted_sums_reach_the_levels_of_weighted_contributions(tmp_path):
    north = plants().query("region == 'north'")
    total = int((north["turnover"] * north["w"]).sum())
    rules = (
        "dominance: [{largest: 1, share: 0.15, consequence: protect}]" + CONTRIBUTIONS + "{weighted: true}"
    )
    asked = levels_asked(tmp_path / "rules", "WEIGHTED_SUM:turnover", rules, "rules", **SAMPLE)
    assert asked == {"north": pytest.approx((2000 / 0.15 - total, 2000 / 0.15 - total))}


def test_an_answer_under_rules_of_few_ranks_is_held_against_later_ones_of_many(tmp_path):
    made = house(tmp_path, "dominance: [{largest: 1, share: 0.9, consequence: protect}]")
    assert verdict(ask(made)) == "RELEASED"
    many = parse_policy(
        POLICY.replace("RULES", "dominance: [{largest: 6, share: 0.9, consequence: protect}]")
    )
    made.facility.replace_policies({"plants": many})
    later = made.ask(dataset="plants", figures=["SUM:turnover"], region=["north", "south"])
    assert verdict(later) == "RELEASED"
    assert verdict(ask(made)) == "RELEASED"


def reweighted(frame: pd.DataFrame) -> pd.DataFrame:
    """Eight plants of the north weigh a little more, and one of them very much more."""
    later, north = frame.copy(), frame.index[frame["region"] == "north"][:8]
    later["w"] = later["w"].astype(float)
    later.loc[north, "w"] += 0.1
    later.loc[north[0], "w"] += 500
    return later


@pytest.mark.parametrize(("rules", "leaves"), [("", True), (TOGETHER.replace("0.9", "0.1"), False)])
def test_weights_that_changed_for_one_plant_above_all_do_not_tell_its_turnover(tmp_path, rules, leaves):
    frame = heavy()
    frame["w"] = 1.0 + np.arange(len(frame)) % 3
    later = reweighted(frame)
    changes = ((later["w"] - frame["w"]) * frame["turnover"]).sort_values()
    assert changes.iloc[-1] > 0.99 * changes.sum()
    fields = {**SAMPLE, "weight": {"column": "w", "decimals": 1}}
    made = house(tmp_path, rules, frame, **fields)
    weighted = {"dataset": "plants", "rows": ["region"], "figures": ["WEIGHTED_SUM:turnover"]}
    assert verdict(made.ask(**weighted)) == "RELEASED"
    later.to_csv(tmp_path / "plants.csv", index=False)
    made.engine.register(made.engine.datasets()[0].descriptor)
    again = made.ask(**weighted)
    assert again.decision.version == 2
    assert (verdict(again) == "RELEASED") == leaves
    assert leaves or verdict(again) == "REFERRED" or cells(again)["north",] == (None,)


def test_rules_of_many_ranks_are_judged_of_what_changed_between_versions(tmp_path):
    frame = plants()
    made = house(tmp_path, "dominance: [{largest: 5, share: 0.9, consequence: protect}]", frame)
    assert verdict(ask(made)) == "RELEASED"
    frame.assign(turnover=frame["turnover"] + 1 + np.arange(len(frame)) % 7).to_csv(
        tmp_path / "plants.csv", index=False
    )
    made.engine.register(made.engine.datasets()[0].descriptor)
    again = ask(made)
    assert again.decision.version == 2
    assert verdict(again) == "RELEASED"


APART = "p_percent: {share: 0.6, consequence: protect}" + CONTRIBUTIONS + "{weighted: true}"


def standing_out(**values: float) -> pd.DataFrame:
    """Plants nearly alike in turnover and weight, but for one in the north."""
    places = np.arange(4 * 16)
    frame = pd.DataFrame({"id": places, "region": np.repeat(REGIONS, 16), "turnover": 100 + 7 * places % 30})
    frame["w"] = 30.0 + places % 5
    one = frame.index[frame["region"] == "north"][0]
    return frame.assign(**{name: frame[name].where(frame.index != one, of) for name, of in values.items()})


def left_of_the_largest(contributions: pd.Series) -> float:
    """What is left without the two largest, as a share of the largest."""
    largest = contributions.sort_values(ascending=False)
    return float(largest.iloc[2:].sum() / largest.iloc[0])


GIANT, HEAVY = standing_out(turnover=6000, w=1.0), standing_out(w=2000.0)
"""The north is unsafe by plain contributions alone; by weighted ones alone."""


@pytest.mark.parametrize(
    ("frame", "first", "last"),
    [
        (GIANT, ["WEIGHTED_SUM:turnover"], ["SUM:turnover"]),
        (GIANT, ["WEIGHTED_MEAN:turnover"], ["SUM:turnover", "WEIGHTED_SUM:turnover"]),
        (HEAVY, ["SUM:turnover"], ["WEIGHTED_SUM:turnover"]),
        (HEAVY, ["MEAN:turnover"], ["SUM:turnover", "WEIGHTED_SUM:turnover"]),
        (HEAVY, ["WEIGHTED_UNITS", "SUM:turnover"], ["WEIGHTED_SUM:turnover"]),
    ],
)
def test_regions_withheld_together_are_safe_by_the_contributions_that_did_not_leave(
    tmp_path, frame: pd.DataFrame, first: list[str], last: list[str]
):
    made = house(tmp_path, APART, frame, **SAMPLE)
    assert verdict(made.ask(dataset="plants", rows=["region"], figures=first)) == "RELEASED"
    answered = made.ask(dataset="plants", rows=["region"], figures=last)
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert None not in cells(answered)["_T",]
    told = frame[frame["region"].isin(withheld(answered))]
    contributions = told["turnover"] if frame is GIANT else told["turnover"] * told["w"]
    assert left_of_the_largest(contributions) > 0.6


@pytest.mark.parametrize("figure", ["SUM", "WEIGHTED_SUM"])
def test_a_region_is_not_left_over_by_either_contributions_where_the_other_sums_are_known(tmp_path, figure):
    frame, other = (GIANT, "WEIGHTED_SUM") if figure == "SUM" else (HEAVY, "SUM")
    made = house(tmp_path, APART, frame, **SAMPLE)
    assert verdict(ask(made, f"{other}:turnover")) == "RELEASED"
    asked = {"dataset": "plants", "figures": [f"{figure}:turnover"]}
    assert verdict(made.ask(**asked)) == "RELEASED"
    assert verdict(made.ask(**asked, region=["east", "south", "west"])) != "RELEASED"


@pytest.mark.parametrize("figure", ["SUM", "WEIGHTED_SUM"])
def test_the_last_of_measures_that_add_up_is_judged_by_either_contributions(tmp_path, figure):
    frame = GIANT.rename(columns={"turnover": "exports"}).assign(
        home=GIANT.index % 10 + 100, w=HEAVY["w"].clip(upper=34)
    )
    frame["turnover"] = frame["exports"] + frame["home"]
    measures = [{"name": name, "lower_bound": 0} for name in ("turnover", "home", "exports")]
    rules = APART.replace("0.6", "0.29")
    north = frame[frame["region"] == "north"]
    assert left_of_the_largest(north["exports"] * north["w"]) < 0.29 < left_of_the_largest(north["turnover"])
    made = house(tmp_path, rules, frame, **SAMPLE, measures=measures)
    assert verdict(ask(made, f"{figure}:turnover")) == "RELEASED"
    answered = ask(made, f"{figure}:home")
    assert "north" in withheld(answered)
    assert len(withheld(answered)) == 2
