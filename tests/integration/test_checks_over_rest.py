"""The check side as portals and researchers take it: REST and the Python client, and it leaves no trace."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels

from made_tables import with_margins
from peers_tables import INNER
from sdcgate.cli.supervisor import SERVICES
from sdcgate.ledger.credentials import Credentials
from sdcgate.servers import openapi_model_examples, openapi_statistic_examples
from sdcgate_client import (
    Client,
    Forbidden,
    InvalidRequest,
    Unauthorized,
    Unavailable,
    own_fact,
    own_levels,
    own_ratios,
    own_table,
)
from served_house import ServedHouse

RULES = {"minimum_units": {"units": 10, "consequence": "PROTECT"}}
KEPT_SECONDS = 1


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    section = {"caller_cache_seconds": KEPT_SECONDS}
    made = ServedHouse(tmp_path_factory.mktemp("house"), risk=section, protection=section)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def client(house: ServedHouse) -> Iterator[Client]:
    with Client(house.supervisor.url, house.keys["ada"]) as made:
        yield made


@pytest.fixture(scope="module")
def sites() -> pd.DataFrame:
    """Persons of the RAND experiment's first year by site and plan, with all totals: a row a cell."""
    people = pd.read_csv(Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv")
    crosstab = pd.crosstab(people[people.year == 1].site, people[people.year == 1].plan, margins=True)
    return crosstab.stack().rename("n").reset_index()


def position(sites: pd.DataFrame, site: object, plan: object) -> int:
    return int(sites.index[(sites.site == site) & (sites.plan == plan)][0])


def added_up(sites: pd.DataFrame, rng: np.random.Generator) -> list[int]:
    """Keys of the inner cells, drawn, and of all totals: the sums of their parts modulo 2^64."""
    inner = sites[(sites.site != "All") & (sites.plan != "All")]
    drawn = rng.integers(0, 2**64, len(inner), dtype=np.uint64)
    whole = (sites.site == "All", sites.plan == "All")
    return [
        int(drawn[(whole[0][row] | (inner.site == site)) & (whole[1][row] | (inner.plan == plan))].sum())
        for row, site, plan in zip(sites.index, sites.site, sites.plan, strict=True)
    ]


def small(sites: pd.DataFrame) -> list[int]:
    return sites.index[(sites.n > 0) & (sites.n < 10)].tolist()


def test_tables_with_common_totals_are_protected_and_audited_together(
    client: Client, sites: pd.DataFrame
) -> None:
    table = own_table(sites, ["site", "plan"], {"units": "n"})
    alone = client.protect_table(table, small(sites), count_width=10)
    by_site = sites[sites.plan == "All"].reset_index(drop=True)
    other = own_table(by_site, ["site"], {"units": "n"})
    # With a total that is withheld in the first table and shown in the second one, all is lost.
    hidden = [position(sites, 1, plan) for plan in sites.plan.unique()]
    linked = [{"table": other, "withheld": []}]
    told = client.audit_table(table, hidden, linked=linked, count_width=10, zeros_withheld=True)
    assert told["proof"] == "REFUTED"
    assert position(sites, 1, "All") in told["unprotected"]
    linked = [{"table": other, "unsafe": [0]}]
    found = client.protect_table(table, small(sites), linked=linked, count_width=10)
    assert found["proof"] == "PROVED"
    assert 0 in found["linked"][0]["withheld"]
    assert position(sites, by_site.site[0], "All") in found["withheld"]
    assert found["price"] > alone["price"]
    wrong = own_table(by_site.assign(n=by_site.n + 1 + (by_site.site == "All") * 5), ["site"], {"units": "n"})
    with pytest.raises(InvalidRequest) as caught:
        client.protect_table(table, [0], linked=[{"table": wrong, "unsafe": []}])
    assert "linked[0].problem.facts.units" in dict(caught.value.errors)


def test_respondents_who_are_alone_are_told_apart_and_protected_from(client: Client) -> None:
    frame = pd.DataFrame({"a": ["n", "s", "w", "All"], "n": [1, 1, 6, 8], "x": [50.0, 40.0, 30.0, 120.0]})
    table = own_table(frame, ["a"], {"units": "n"}, {"x": {"sums": "x", "lower_bound": 0.0}})
    shown = {"known": [0, 1, 2, 3], "known_measures": [{"measure": "x", "cells": []}]}
    how = {"sum_width": 0.1, **shown}
    public = client.audit_table(table, [0, 1], **how)
    assert (public["proof"], public["singletons"]) == ("PROVED", [])
    told = client.audit_table(table, [0, 1], singletons=True, **how)
    assert (told["proof"], told["unprotected"]) == ("REFUTED", [0, 1])
    assert told["singletons"] == [
        {"cells": [0], "unprotected": [1], "refuted": True},
        {"cells": [1], "unprotected": [0], "refuted": True},
    ]
    assert client.protect_table(table, [0, 1], **how)["withheld"] == [0, 1]
    found = client.protect_table(table, [0, 1], singletons=True, **how)
    assert (found["proof"], found["withheld"]) == ("PROVED", [0, 1, 2])
    assert client.audit_table(table, found["withheld"], singletons=True, **how)["proof"] == "PROVED"
    uncounted = own_table(frame, ["a"], {}, {"x": {"sums": "x", "lower_bound": 0.0}})
    for call in (client.audit_table, client.protect_table):
        with pytest.raises(InvalidRequest) as caught:
            call(uncounted, [0, 1], singletons=True, sum_width=0.1)
        assert "singletons" in dict(caught.value.errors)


def test_costs_by_name_decide_what_is_withheld(client: Client) -> None:
    inner, codes = np.full((6, 6), 200), [*map(str, range(6)), "All"]
    inner[0, 0], inner[0, 5], inner[5, 0], inner[5, 5] = 2, 5, 5, 5
    cells = [(row, column) for row in codes for column in codes]
    frame = pd.DataFrame(cells, columns=["a", "b"]).assign(n=with_margins(inner).reshape(-1))
    table = own_table(frame, ["a", "b"], {"units": "n"})

    def withheld(**costs: object) -> list[int]:
        found = client.protect_table(table, [0], **costs)
        assert found["proof"] == "PROVED"
        return list(found["withheld"])

    corners, near = [0, 5, 35, 40], [0, 1, 7, 8]
    assert withheld() == withheld(costs_by={"kind": "RECORDS"}) == corners
    assert withheld(costs_by={"kind": "DISTANCE", "power": 2}) == near
    assert len(withheld(costs_by={"kind": "UNIT"})) == 4
    wrong = (
        ({"costs_by": {"kind": "VALUE", "measure": "income"}}, "problem.costs_by.measure"),
        ({"costs_by": {"kind": "UNIT"}, "costs": [1.0] * 49}, "problem.costs_by"),
        ({"costs_by": {"kind": "UNIT", "power": -1}}, "problem.costs_by.power"),
    )
    for how, path in wrong:
        with pytest.raises(InvalidRequest) as caught:
            client.protect_table(table, [0], **how)
        assert path in dict(caught.value.errors)


def test_effort_makes_a_pattern_cheaper_and_is_not_for_patterns_that_have_all_time(client: Client) -> None:
    inner, codes = INNER["10x10"], [*map(str, range(10)), "All"]
    cells = [(row, column) for row in codes for column in codes]
    frame = pd.DataFrame(cells, columns=["a", "b"]).assign(n=with_margins(inner).reshape(-1))
    table = own_table(frame, ["a", "b"], {"units": "n"})
    unsafe = np.flatnonzero((frame.n > 0) & (frame.n < 4)).tolist()
    costs = np.maximum(frame.n, 1).astype(float).tolist()
    # A busy machine must not end the search for the cheapest.
    how = {"count_width": 10, "costs": costs, "time_limit_ms": 60_000}
    quick, usual, much, exact = (
        client.protect_table(table, unsafe, **how, **asked)
        for asked in ({"effort_ms": 0}, {}, {"effort_ms": 3000}, {"exact": True})
    )
    assert {found["proof"] for found in (quick, usual, much, exact)} == {"PROVED"}
    assert quick["price"] > usual["price"] == much["price"] == exact["price"]
    for wrong in (
        {"exact": True},
        {"thorough": True},
        {"method": {"rounding": {"kind": "NEAREST", "base": 5}}},
    ):
        with pytest.raises(InvalidRequest) as caught:
            client.protect_table(table, unsafe, effort_ms=100, **wrong)
        assert "effort_ms" in dict(caught.value.errors)


def test_a_crosstab_is_assessed_protected_and_audited(client: Client, sites: pd.DataFrame) -> None:
    table = own_table(sites, ["site", "plan"], {"units": "n"})
    assessed = client.assess_table(table, RULES)
    assert [finding["rule"] for finding in assessed["findings"]] == ["MINIMUM_UNITS"]
    assert assessed["findings"][0]["cells"] == small(sites)
    assert assessed["unchecked"] == assessed["absent"] == []

    how = {"count_width": 10, "sum_width": 0.1}
    pattern = client.protect_table(table, small(sites), **how)
    assert pattern["proof"] == "PROVED"
    withheld = set(pattern["withheld"])
    assert withheld > set(small(sites))
    assert pattern["cost"] == sites.n[sorted(withheld - set(small(sites)))].sum()

    cheapest = client.protect_table(table, small(sites), exact=True, intervals=True, **how)
    assert (cheapest["proof"], cheapest["method"], cheapest["optimal"]) == ("PROVED", "EXACT", True)
    assert cheapest["lower_bound"] == cheapest["price"] <= pattern["price"]
    assert [one["cell"] for one in cheapest["intervals"]] == cheapest["withheld"]
    assert all(one["upper"] - one["lower"] >= 10 for one in cheapest["intervals"] if "upper" in one)

    audited = client.audit_table(table, withheld, **how)
    assert (audited["proof"], audited["unprotected"], audited["leaks"]) == ("PROVED", [], [])
    leaking = client.audit_table(table, small(sites), **how)
    assert leaking["proof"] == "REFUTED"
    told = {leak["cell"]: (leak["lower"], leak["upper"]) for leak in leaking["leaks"]}
    assert set(told) == set(leaking["unprotected"])
    assert all(lower <= sites.n[cell] <= upper for cell, (lower, upper) in told.items())
    for leak in leaking["leaks"]:
        for bound, arithmetic in ((leak["lower"], leak["at_least"]), (leak["upper"], leak["at_most"])):
            # From the answer alone: each step as often as its factor says.
            assert sum(step["factor"] * step["known"] for step in arithmetic["steps"]) == pytest.approx(bound)
            hidden = {leak["cell"]: -1.0}
            for step in arithmetic["steps"]:
                assert step["known"] == step["constant"] + sum(
                    term["factor"] * sites.n[term["cell"]] for term in step["published"]
                )
                for term in step["hidden"]:
                    hidden[term["cell"]] = hidden.get(term["cell"], 0) + step["factor"] * term["factor"]
            assert not np.any(np.abs([*hidden.values()]) > 1e-9)


def test_a_crosstab_is_rounded_so_that_it_adds_up(client: Client, sites: pd.DataFrame) -> None:
    table = own_table(sites, ["site", "plan"], {"units": "n"})
    method = {"rounding": {"kind": "CONTROLLED", "base": 5}}
    found = client.protect_table(table, small(sites), method=method, count_width=3)
    perturbed = found["perturbed"]
    assert (found["proof"], perturbed["rounded"]["found"]) == ("PROVED", "OPTIMAL")
    rounded = np.array(perturbed["facts"][0]["values"])
    assert not np.any(rounded % 5)
    assert np.abs(rounded - sites.n).max() < 5
    assert (
        rounded[position(sites, "All", "All")] == rounded[(sites.site == "All") & (sites.plan != "All")].sum()
    )
    assert perturbed["facts"][0]["utility"]["broken_relations"] == 0


def test_a_crosstab_is_adjusted_so_that_it_adds_up_and_small_counts_move(
    client: Client, sites: pd.DataFrame
) -> None:
    table = own_table(sites, ["site", "plan"], {"units": "n"})
    method = {"adjustment": {"weighting": "RELATIVE", "minimum": 3, "margin_share": 0.1}}
    found = client.protect_table(table, small(sites), method=method, count_width=3)
    perturbed = found["perturbed"]
    adjusted = np.array(perturbed["facts"][0]["values"])
    assert (found["proof"], perturbed["adjusted"]["found"]) == ("PROVED", "OPTIMAL")
    assert all(adjusted[cell] == 0 or adjusted[cell] >= 3 for cell in small(sites))
    assert perturbed["adjusted"]["distance"] == pytest.approx((np.abs(adjusted - sites.n) / sites.n).sum())
    assert perturbed["facts"][0]["utility"]["broken_relations"] == 0
    with pytest.raises(InvalidRequest) as caught:
        client.protect_table(table, small(sites), method={"adjustment": {"weighting": "UNIT"}})
    assert [path for path, _ in caught.value.errors] == ["adjustment.minimum"]


def test_cell_keys_give_the_same_cells_the_same_noise(client: Client, sites: pd.DataFrame) -> None:
    table = own_table(sites, ["site", "plan"], {"units": "n"})
    method = {
        "cell_keys": {
            "keys": added_up(sites, np.random.default_rng(3)),
            "noise": {"maximum_noise": 4, "variance": 2},
        }
    }
    first, again = (client.protect_table(table, small(sites), method=method) for _ in range(2))
    assert first == again
    noisy = np.array(first["perturbed"]["facts"][0]["values"])
    assert 0 < np.abs(noisy - sites.n).max() <= 4
    assert first["proof"] == "PROVED"


def test_a_crosstab_in_another_order_gives_the_same_cells(client: Client, sites: pd.DataFrame) -> None:
    shuffled = sites.sample(frac=1, random_state=3).reset_index(drop=True)
    table = own_table(shuffled, ["plan", "site"], {"units": "n"})
    assert client.assess_table(table, RULES)["findings"][0]["cells"] == small(shuffled)


def test_measures_go_with_their_largest_and_their_bounds(client: Client) -> None:
    frame = pd.DataFrame(
        {"size": ["s", "l", "All"], "sum": [90.0, 10.0, 100.0], "one": [80, 6, 80], "two": [10, 4, 10]}
    )
    measures = {"turnover": {"sums": "sum", "largest": ["one", "two"], "lower_bound": 0}}
    table = own_table(frame, "size", {}, measures)
    rules = {"dominance": [{"largest": 1, "share": 0.7, "consequence": "PROTECT"}], **RULES}
    found = client.assess_table(table, rules)
    assert [(f["rule"], f["cells"]) for f in found["findings"]] == [("DOMINANCE", [0, 2])]
    assert found["unchecked"] == ["MINIMUM_UNITS"]
    assert "units" in found["absent"]
    with pytest.raises(ValueError, match="no fact"):
        own_table(frame, "size", {}, {"turnover": {"sum": "sum"}})


def test_levels_of_an_assessment_are_demanded_of_a_pattern(client: Client) -> None:
    frame = pd.DataFrame(
        {
            "size": ["s", "m", "l", "All"],
            "plants": [9, 9, 9, 27],
            "companies": [9, 4, 9, 22],
            "sum": [500.0, 200, 100, 800],
            "one": [400, 30, 20, 400],
            "two": [60, 30, 15, 60],
        }
    )
    facts = {"units": "plants", "holdings": "companies"}
    measures = {
        "turnover": {"sums": "sum", "largest": ["one", "two"], "valid_units": "plants", "lower_bound": 0}
    }
    table = own_table(frame, "size", facts, measures)
    rules = {
        "minimum_units": {"units": 5, "consequence": "PROTECT"},
        "prior_posterior": {"p": 0.2, "q": 0.4, "consequence": "PROTECT"},
    }
    found = client.assess_table(table, rules)["findings"]
    assert [(f["rule"], f["cells"]) for f in found] == [("MINIMUM_UNITS", [1]), ("PRIOR_POSTERIOR", [0])]
    levels = own_levels(found, 4)
    assert levels == [{"measure": "turnover", "upper": [160, 0, 0, 0], "lower": [160, 0, 0, 0]}]

    pair = [0, 2]
    narrow = {"known": [1, 3], "sum_width": 0.01}
    assert client.audit_table(table, pair, **narrow)["proof"] == "PROVED"
    # The other cell has no more than 100 to give.
    demanded = client.audit_table(table, pair, sum_levels=levels, **narrow)
    assert (demanded["proof"], demanded["unprotected"]) == ("REFUTED", [0])
    pattern = client.protect_table(table, [0], sum_width=0.01, sum_levels=levels)
    assert pattern["proof"] == "PROVED"
    with pytest.raises(InvalidRequest, match=r"problem\.sum_levels\[0\]\.upper"):
        client.protect_table(table, [0], sum_levels=[{"measure": "turnover", "upper": [1]}])


def test_percentages_and_means_of_a_table_protected_by_hand_are_audited(client: Client) -> None:
    frame = pd.DataFrame(
        {
            "region": ["n"] * 3 + ["s"] * 3 + ["All"] * 3,
            "size": ["small", "large", "All"] * 3,
            "n": [7, 33, 40, 13, 30, 43, 20, 63, 83],
            "sum": [820.0, 9180, 10000, 1530, 8470, 10000, 2350, 17650, 20000],
        }
    )
    measures = {"turnover": {"sums": "sum", "lower_bound": 0}}
    table, inner = own_table(frame, ["region", "size"], {"units": "n"}, measures), [0, 1, 3, 4]
    assert client.audit_table(table, inner, count_width=3, sum_width=0.1)["proof"] == "PROVED"

    share = own_ratios(("units", [0]), ("units", [2]), [17.5], 0.05, times=100)
    audited = client.audit_table(table, inner, integral=True, count_width=3, published_ratios=[share])
    assert audited["proof"] == "REFUTED"
    leak = audited["leaks"][0]
    assert (leak["cell"], leak["fact"], leak["lower"], leak["upper"]) == (0, "units", 7, 7)
    assert leak["at_most"]["steps"][0]["figure"] == "problem.published_ratios[0].values[0]"
    assert leak["at_most"]["steps"][0]["kind"] == "PUBLISHED_RATIO"
    assert {(one["cell"], one["lower"], one["exact"]) for one in audited["intervals"]} >= {
        (0, 7, True),
        (4, 30, True),
    }

    # Counts are shown, sums withheld: a mean to a decimal tells the sum.
    shown = {"known": [*range(9)], "known_measures": [{"measure": "turnover", "cells": []}], "sum_width": 0.1}
    assert client.audit_table(table, inner, **shown)["proof"] == "PROVED"
    mean = own_ratios(("sums of turnover", [0]), ("units", [0]), [117.1], 0.05)
    leak = client.audit_table(table, inner, published_ratios=[mean], **shown)["leaks"][0]
    assert (leak["fact"], leak["lower"], leak["upper"]) == (
        "sums of turnover",
        pytest.approx(117.05 * 7),
        pytest.approx(117.15 * 7),
    )

    wide = [{"facts": own_fact("units", inner), "lower": [4, 17, 7, 15], "upper": [14, 66, 26, 60]}]
    rounded = [{"facts": own_fact("units", [2, 5]), "values": [40, 45], "half_widths": [2.5]}]
    audited = client.audit_table(
        table, inner, integral=True, count_width=3, cell_bounds=wide, rounded_values=rounded
    )
    assert audited["proof"] == "PROVED"
    assert audited["intervals"][0]["lower"] == 4
    wide[0]["upper"] = [6, 66, 26, 60]
    with pytest.raises(InvalidRequest, match=r"problem\.cell_bounds\[0\]\.upper.*positions 0"):
        client.audit_table(table, inner, cell_bounds=wide)


def test_contributions_of_all_kinds_go_over_the_wire(client: Client) -> None:
    frame = pd.DataFrame(
        {"size": ["s", "l"], "sum": [-10.0, 40.0], "n": [4, 9], "no": [False, False]}
        | {
            "one": [40, 30],
            "two": [20, 20],
            "above": [90, 130],
            "next": [70, 120],
            "mine": [40, 5],
            "other": [0, 4],
        }
    )
    measures = {
        "profit": {
            "sums": "sum", "valid_units": "n", "lower_bound": -100, "absolute_sums": "total",
            "largest": ["one", "two"], "unwaived_largest": ["mine", "other"],
            "shifted": {"largest": ["above", "next"]},
            "weighted": {"largest": ["one", "two"], "totals": "total"},
        }
    }  # fmt: skip
    frame["total"] = [65, 95]
    table = own_table(frame, "size", {"units": "n", "structural_zeros": "no"}, measures)
    rules = {"p_percent": {"share": 0.2, "consequence": "PROTECT"}}
    # Absolute: 5 is left beside 40 and 20, 45 beside 30 and 20. Shifted: 390 in all, and 230 are left.
    found = client.assess_table(table, rules)
    assert [(f["rule"], f["cells"]) for f in found["findings"]] == [("P_PERCENT", [0])]
    shifted = client.assess_table(table, {**rules, "contributions": {"negative": "SHIFTED"}})
    assert (shifted["findings"], shifted["unchecked"]) == ([], [])
    weighted = client.assess_table(table, {**rules, "contributions": {"weighted": True}})
    assert weighted["findings"][0]["cells"] == [0]


def test_a_model_and_a_statistic_of_ones_own_are_judged_by_the_client(client: Client) -> None:
    model = client.assess_model(**openapi_model_examples.ASSESSED)
    assert [(one["rule"], one["columns"]) for one in model["findings"]] == [("MINIMUM_UNITS", [1])]
    statistic = client.assess_statistic(**openapi_statistic_examples.ASSESSED)
    assert statistic["unchecked"] == []
    assert client.assess_statistic(
        "mean",
        {"groups": {"units": [120, 4], "records": [120, 4]}},
        {"cells": {"minimum_units": {"units": 10, "consequence": "PROTECT"}}},
        standard_errors=True,
    )["findings"][0]["cells"] == [1]
    with pytest.raises(InvalidRequest, match="facts"):
        client.assess_model({}, {})


def test_every_bad_field_comes_back_with_its_path(client: Client, sites: pd.DataFrame) -> None:
    table = own_table(sites, ["site", "plan"], {"units": "n"})
    table["facts"]["units"][-1] += 1
    table["dimensions"][0]["parents"] = [0]
    with pytest.raises(InvalidRequest) as caught:
        client.assess_table(table, {"minimum_units": {"units": 0}}, base_units=-1)
    assert {path for path, _ in caught.value.errors} == {
        "dimensions[0].parents",
        "rules.minimum_units.units",
        "base_units",
    }
    del table["dimensions"][0]["parents"]
    with pytest.raises(InvalidRequest) as caught:
        client.protect_table(table, [0])
    ((path, message),) = caught.value.errors
    assert path == "problem.facts.units"
    assert f"(positions {len(sites) - 1})" in message


def test_only_roles_that_check_may(house: ServedHouse, sites: pd.DataFrame) -> None:
    table = own_table(sites, ["site", "plan"], {"units": "n"})
    for key, allowed in [
        ("ada", True),
        ("portal", True),
        ("grace", True),
        ("stefan", False),
        ("olga", False),
    ]:
        with Client(house.supervisor.url, house.keys[key]) as someone:
            calls = (
                lambda: someone.assess_table(table, RULES),
                lambda: someone.audit_table(table, []),
                lambda: someone.protect_table(table, []),
            )
            for call in calls:
                if allowed:
                    assert call()
                else:
                    with pytest.raises(Forbidden, match="checker or portal or researcher"):
                        call()


def test_nothing_is_kept_and_nothing_of_the_table_is_logged(house: ServedHouse, client: Client) -> None:
    with house.ledger() as ledger:
        before = ledger.head()
    codes = ["CANARYn7", "CANARYs7", "_T"]
    facts = {"units": [3, 777131, 777134], "measures": [
        {"measure": "CANARYmeasure", "sums": [31337.25, 424242.5, 455579.75], "lower_bound": 0}
    ]}  # fmt: skip
    table = {"dimensions": [{"variable": "CANARYvariable", "codes": codes}], "facts": facts}
    assert client.assess_table(table, RULES)["findings"]
    assert client.protect_table(table, [0], count_width=3)["withheld"] == [0, 1]
    assert client.audit_table(table, [0], count_width=3)["leaks"]
    broken = {**table, "facts": {"units": [-777131, 777131, 777132]}}
    for call in (client.assess_table, client.protect_table, client.audit_table):
        with pytest.raises(InvalidRequest) as caught:
            call(broken, RULES if call == client.assess_table else [0])
        assert "777" not in str(caught.value)
    with house.ledger() as ledger:
        assert ledger.head() == before
        assert ledger.verify().ok
    time.sleep(0.2)
    for service in SERVICES:
        log = [{**line, "timestamp": "", "milliseconds": 0} for line in house.log(service)]
        metrics = house.told(service)
        for trace in ("CANARY", "777131", "31337.25", "424242", "455579"):
            assert trace not in str(log), (service, trace)
            assert trace not in metrics, (service, trace)
    assert any(line.get("method", "").endswith("AssessTable") for line in house.log("risk"))


def test_a_revoked_key_ends_within_the_time_that_answers_are_kept(house: ServedHouse) -> None:
    table = {"dimensions": [{"variable": "a", "codes": ["1"]}], "facts": {"units": [9]}}
    with house.ledger() as ledger:
        credentials = Credentials(ledger)
        key, record = credentials.create("portal", "portal", "test", 1)
        with Client(house.supervisor.url, key) as portal:
            assert portal.assess_table(table, RULES)["findings"]
            credentials.revoke(record.key_id)
            revoked = time.monotonic()
            while time.monotonic() < revoked + KEPT_SECONDS + 0.05:
                time.sleep(0.05)
            for call in (portal.assess_table, portal.audit_table):
                with pytest.raises(Unauthorized):
                    call(table, RULES if call == portal.assess_table else [])


def test_without_the_facility_checks_are_told_to_come_again_and_go_on_when_it_is_back(
    house: ServedHouse, client: Client
) -> None:
    table = {"dimensions": [{"variable": "a", "codes": ["1"]}], "facts": {"units": [9]}}
    assert client.assess_table(table, RULES)["findings"]
    house.kill("facility")
    try:
        time.sleep(KEPT_SECONDS + 0.05)
        with pytest.raises(Unavailable) as caught:
            client.assess_table(table, RULES)
        assert caught.value.status == 503
    finally:
        house.restart("facility")
    for _ in range(100):
        try:
            assert client.assess_table(table, RULES)["findings"]
            return
        except Unavailable:
            time.sleep(0.1)
    pytest.fail("the check side did not find the facility again")
