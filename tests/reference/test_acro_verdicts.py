"""46 outputs that ACRO 0.4.12 and 1.0.2 were asked for, asked of a whole facility under the same thresholds.

Where both versions agree so do we; each cell where we do not has one of the reasons that the page
`docs/against-acro.md` gives, and its facts are such that the reason holds. That page's rows are made here.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from acro_cases import YEARS, Case, cases, descriptor, frame_of, policies, recorded, source
from house import House, Pace, build, cells, person, reasons, table_request, verdict
from printed_results import acro_folder, entry, zipped
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.policy.loading import parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2

PAGE = Path(__file__).parent.parent.parent / "docs" / "against-acro.md"
FIGURES = {"count": "RECORDS", "mean": "MEAN", "sum": "SUM"}
STATISTICS = {
    "std": ("STANDARD_DEVIATION", "standard_deviation"),
    "var": ("VARIANCE", "variance"),
    "median": ("PERCENTILES", "P50"),
    "max": ("MAXIMUM", "maximum"),
}
TOTAL = "_T"
UNEXPLAINED = "?"
Cell = tuple[str, ...]
ASKED = [(name, how) for name, case in cases().items() for how in case.how]


@dataclass(frozen=True)
class CellFacts:
    """What is true of a cell."""

    units: int
    records: int
    lacking: int
    """Units of it that lack the measure."""


@dataclass(frozen=True)
class Ours:
    """What became of an output here."""

    verdict: str
    reasons: tuple[str, ...]
    withheld: frozenset[Cell]
    """Cells that do not leave, all of them where nothing does."""
    unsafe: dict[Cell, set[str]]
    """Rules that cells break by themselves."""
    facts: dict[Cell, CellFacts]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A facility with a source for each case."""
    folder = tmp_path_factory.mktemp("house")
    made = build(
        folder, policy="acro", policies={name: parse_policy(text) for name, text in policies().items()}
    )
    for data in ("charity", "edge", "edge_neg", "nursery"):
        frame = frame_of(data)
        frame.to_csv(folder / f"{data}.csv", index=False)
    registered: set[str] = set()
    for case in cases().values():
        if source(case) not in registered:
            made.engine.register(parse_descriptor(descriptor(case)))
            registered.add(source(case))
    yield made
    made.facility.close()


@pytest.fixture(scope="module")
def answers(house) -> dict[tuple[str, str], Ours]:
    """Every output, asked in the order of the cases."""
    return {(name, how): asked(house, cases()[name], how) for name, how in ASKED}


def names(case: Case) -> list[str]:
    return ["name" if name == "charity" else name for name in (*case.rows, *case.columns)]


def asked(house: House, case: Case, how: str) -> Ours:
    """The output as a table or as a statistic, and what a checker sees of it."""
    if how in STATISTICS:
        kind, figure = STATISTICS[how]
        request = pb.QueryStatisticRequest(
            dataset=source(case), kind=f"STATISTIC_KIND_{kind}", measure=case.values
        )
        for name in names(case):
            request.groups.add(variable=name)
        for name, codes in case.filter.items():
            request.filter.add(variable=name, codes=codes)
        answer = house.facility.query_statistic(house.researcher, request, Pace(60))
        shown = groups_with(answer.decision.statistic, figure)
    else:
        figure = f"{FIGURES[how]}:{case.values}" if how != "count" else FIGURES[how]
        if how == "count" and case.values:
            # Of those that have a value: a mean tells as much.
            figure = f"MEAN:{case.values}"
        request = table_request(
            source(case),
            rows=names(case)[: len(case.rows)],
            columns=names(case)[len(case.rows) :],
            figures=("ROW_PERCENT" if case.normalize else figure,),
            margins=case.margins,
            **case.filter,
        )
        answer = house.facility.query_table(house.researcher, request, Pace(60))
        shown = {cell for cell, values in cells(answer).items() if values[0] is not None}
    seen = house.facility.get_query(house.checker, answer.decision.query).checker
    order = [tuple(codes) for codes in product(*(dimension.codes for dimension in seen.dimensions))]
    unsafe: dict[Cell, set[str]] = {}
    for finding in seen.findings:
        if not finding.measure.startswith("P") or finding.measure == "P50":
            for place in finding.cells:
                rule = policy_pb2.ReasonCode.Name(finding.rule).removeprefix("REASON_CODE_")
                unsafe.setdefault(order[place], set()).add(rule)
    facts = {}
    for place, cell in enumerate(order):
        measure = next((one for one in seen.facts.measures if one.measure == case.values), None)
        lacking = measure.lacking_units[place] if measure and measure.lacking_units else 0
        facts[cell] = CellFacts(seen.facts.units[place], seen.facts.records[place], lacking)
    printed = {cell for cell in order if printed_in(case, cell)}
    return Ours(verdict(answer), tuple(reasons(answer)), frozenset(printed - shown), unsafe, facts)


def groups_with(statistic, figure: str) -> set[Cell]:
    codes = list(zip(*([axis.codes[at] for at in axis.cells] for axis in statistic.dimensions), strict=True))
    return {codes[group] for one in statistic.figures if one.name == figure for group in one.groups}


def printed_in(case: Case, cell: Cell) -> bool:
    """Whether the output has the cell: it occurs, ACRO speaks of it, or it is a total that is printed."""
    if TOTAL in cell:
        return case.margins
    return cell in recorded(case.name) or ",".join(cell) in case.flags


def differing(case: Case, ours: Ours) -> dict[Cell, str]:
    """Cells where both versions say one thing and we another, each with the reason that the page gives."""
    found = {}
    for cell in filter(lambda cell: printed_in(case, cell), ours.facts):
        old, new = case.flagged(cell)
        if old and new and cell not in ours.withheld:
            found[cell] = why_shown(case, ours.facts[cell], old)
        if old == new == "" and cell in ours.withheld and "error" not in case.said:
            found[cell] = why_withheld(case, ours, cell)
    return found


def why_shown(case: Case, facts: CellFacts, old: str) -> str:
    if facts.records == 0:
        return "empty"
    if "negative" in old:
        return "negative"
    if "missing" in old and facts.lacking >= int(case.rules.get("units", 10)):
        return "missing"
    return "share" if case.normalize else UNEXPLAINED


def why_withheld(case: Case, ours: Ours, cell: Cell) -> str:
    rules, facts, minimum = ours.unsafe.get(cell, set()), ours.facts[cell], int(case.rules.get("units", 10))
    if ours.reasons == ("DIFFERENCING",):
        return "difference"
    if facts.units < minimum <= facts.records:
        return "units"
    if 0 < facts.lacking < minimum:
        return "lacking"
    if "EQUAL_VALUES" in rules:
        return "equal"
    if rules & {"PERCENTILE_UNITS", "EXTREME_VALUE"}:
        return "single"
    # Of a statistic the groups that its table withholds are told as those that are too few.
    return UNEXPLAINED if facts.units < minimum or rules - {"MINIMUM_UNITS"} else "counterpart"


def row(case: Case, how: str, ours: Ours) -> str:
    """What the page tells of an output."""
    by = ", ".join((*case.rows, *case.columns))
    words = [f"{how} of {case.values}" if case.values else how, f"by {by}"]
    words += [f"{name}: {value}" for name, value in case.rules.items()]
    words += [f"only {name}" for name in case.filter]
    words += (
        ["shares"] * bool(case.normalize) + ["totals"] * case.margins + [case.session] * bool(case.session)
    )
    printed = sum(printed_in(case, cell) for cell in ours.facts)
    became = (
        ours.verdict if not ours.withheld else f"{ours.verdict}, {len(ours.withheld)} of {printed} withheld"
    )
    different = Counter(differing(case, ours).values())
    told = ", ".join(f"{number} {reason}" for reason, number in sorted(different.items())) or "-"
    return f"| {case.name} | {', '.join(words)} | {case.said[0]} | {case.said[1]} | {became} | {told} |"


def summary(answers: dict[tuple[str, str], Ours]) -> str:
    """How many cells of all outputs are judged alike."""
    flagged, passed = Counter[str](), Counter[str]()
    for (name, _), ours in answers.items():
        case = cases()[name]
        different = differing(case, ours)
        for cell in ours.facts:
            if not printed_in(case, cell) or "error" in case.said:
                continue
            old, new = case.flagged(cell)
            if old and new:
                flagged[different.get(cell, "alike")] += 1
            elif old == new == "":
                passed[different.get(cell, "alike")] += 1
    return (
        f"Of {flagged.total():,} cells that both versions flag {flagged['alike']:,} are withheld, "
        f"of {passed.total():,} that both let pass {passed['alike']:,} leave."
    )


@pytest.mark.parametrize(("name", "how"), ASKED)
def test_cells_are_judged_as_both_versions_do_but_for_reasons_that_hold(answers, name, how):
    assert UNEXPLAINED not in differing(cases()[name], answers[name, how]).values()


@pytest.mark.parametrize(("name", "how"), ASKED)
def test_what_either_version_fails_never_leaves_as_asked(answers, name, how):
    ours, said = answers[name, how], cases()[name].said
    if {"fail", "review"} & set(said):
        assert ours.verdict != "RELEASED"
    assert ours.verdict != "REFERRED"


@pytest.mark.parametrize("name", ["c02", "c16", "d01a", "d02b"])
def test_what_both_versions_pass_leaves_as_asked(answers, name):
    assert cases()[name].said == ("pass", "pass")
    assert answers[name, "count"].verdict == "RELEASED"


def test_what_both_pass_and_we_do_not_is_of_few_charities_or_a_difference_of_two_people(answers):
    """A count of 12 records of two charities, means of eight, and all applications but two."""
    held = {
        name: set(differing(cases()[name], ours).values())
        for (name, _), ours in answers.items()
        if cases()[name].said == ("pass", "pass") and ours.verdict != "RELEASED"
    }
    assert held == {
        # The same groups as c29; 1.0.2 passes the output and flags each of its cells.
        "c28": set(),
        "c29": {"units", "lacking", "counterpart"},
        "d01b": {"difference"},
        "u02": {"units"},
    }


def test_cells_of_which_few_lack_the_value_are_those_that_acro_fails_when_it_looks_for_missing_ones(answers):
    for usual, looking in (("c04", "c07"), ("e02", "e06")):
        case = cases()[looking]
        (how,) = cases()[usual].how
        lacking = {c for c, why in differing(cases()[usual], answers[usual, how]).items() if why == "lacking"}
        assert lacking
        assert all("missing" in said for cell in lacking for said in case.flagged(cell))


def test_without_counterparts_two_outputs_that_acro_passes_give_away_what_it_flags():
    """The eight of R/G: the year's total of one table less the cells that the other shows."""
    shown, total = recorded("c01"), recorded("c02")
    for year in map(str, YEARS):
        all_of_year = sum(number for cell, number in total.items() if cell[0] == year)
        told = sum(number for (one, kind), number in shown.items() if one == year and kind != "R/G")
        assert cases()["c01"].flagged((year, "R/G")) == ("threshold", "threshold")
        assert all_of_year - told == shown[year, "R/G"] == 8


def test_the_two_that_lie_between_two_outputs_are_refused(answers):
    """Both versions pass either output; their difference is two recommended applications."""
    assert sum(recorded("d01a").values()) - sum(recorded("d01b").values()) == 2
    assert answers["d01b", "count"].reasons == ("DIFFERENCING",)


def test_medians_that_acro_passes_are_values_of_single_records(answers):
    values = frame_of("edge").query("g == 'n11' and h == 'x'")["v"]
    assert cases()["e05"].flagged(("n11", "x")) == ("", "")
    assert values.median() in set(values)
    assert differing(cases()["e05"], answers["e05", "median"])["n11", "x"] == "single"


@pytest.mark.parametrize("name", ["c01", "c04", "c05", "c08", "c20", "e02", "e04", "e09"])
def test_what_acro_printed_is_judged_as_the_question_is(house, answers, name):
    """The CSV file of pandas' figures, handed in: what leaves of it are the cells that leave when asked."""
    case = cases()[name]
    frame, (how,) = frame_of(case.data), case.how
    keys = [[frame[one] for one in names] for names in (case.rows, case.columns)]
    said = f"acro.crosstab({', '.join(f'df.{one}' for one in (*case.rows, *case.columns))}"
    if case.values:
        table = pd.crosstab(*keys, values=frame[case.values], aggfunc=how)
        said += f', values=df.{case.values}, aggfunc="{how}"'
    else:
        table = pd.crosstab(*keys)
    folder = acro_folder({"o": entry("table", ["t.csv"], f"{said})")}, t__csv=table.to_csv())
    options = pb.ResultsOptions(dataset=source(case))
    answer = house.facility.submit_results(person("portal", "p"), options, zipped(folder), Pace(60))
    (output,) = answer.outputs
    ours = answers[name, how]
    assert (verdict(output), output.problems) == (ours.verdict, [])
    if how in STATISTICS:
        shown = groups_with(output.decision.statistic, STATISTICS[how][1])
    else:
        shown = {cell for cell, values in cells(output.decision).items() if values[0] is not None}
    assert shown == set(recorded(name)) - ours.withheld


def test_the_page_tells_what_becomes_of_each_output(answers):
    page = PAGE.read_text(encoding="utf-8")
    rows = [row(cases()[name], how, ours) for (name, how), ours in answers.items()]
    assert [line for line in rows if line not in page] == []
    assert summary(answers) in page
