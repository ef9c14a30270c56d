"""Statistics Netherlands' rules for microdata for the general public, as checks that can be executed.

Handbook on Statistical Disclosure Control, 3.7, "Microdata for the general public", rules 1 to 10.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import combinations

import numpy as np

from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.record_order import neighbour_test
from sdcgate.methods.risk.release_rules import (
    NAMED,
    Regional,
    ReleaseFile,
    RuleFinding,
    RuleSetFindings,
    Topic,
    Violation,
    areas,
    judge,
    judge_combinations,
    judge_names,
    undecided,
)
from sdcgate.methods.risk.threshold import Combination, Identifying
from sdcgate.methods.risk.units import group_ids

FORBIDDEN = (Topic.NATIONALITY, Topic.COUNTRY_OF_BIRTH, Topic.ETHNICITY)


@dataclass(frozen=True, slots=True)
class PublicRules:
    """The figures of the rules; the handbook's."""

    age_years: int = 1
    area_inhabitants: int = 200_000
    area_provinces: int = 6
    municipality_share: float = 0.5
    identifying_variables: int = 15
    value: int = 200_000
    """Rule 7: persons in the population with each value of an identifying variable."""
    crossing: int = 1_000
    """Rule 8: persons in the population with each pair of values."""
    households: int = 5
    order_deviation: float = 5.0
    """Rule 10: standard deviations beyond which neighbours that are alike are no chance."""
    order_neighbours: int = 10
    """Rule 10: and how many more there must be than expected: of rare values two may well be neighbours."""


def public_rules(file: ReleaseFile, rules: PublicRules | None = None) -> RuleSetFindings:
    """Judge a file by the rules for the general public, one finding a rule."""
    figures = rules or PublicRules()
    return RuleSetFindings(
        (
            _age(file, figures),
            _direct(file),
            _indirect_regions(file, figures),
            _number_of_variables(file, figures),
            _sensitive(file),
            _weights(file),
            _values(file, figures),
            _crossings(file, figures),
            _households(file, figures),
            _order(file, figures),
        )
    )


def _age(file: ReleaseFile, rules: PublicRules) -> RuleFinding:
    requirement = f"The microdata are at least {rules.age_years} year old."
    if file.reference_date is None or file.release_date is None:
        return undecided(1, requirement, "the reference date and the date of the release")
    young = file.release_date < _years_later(file.reference_date, rules.age_years)
    return judge(1, requirement, [Violation(())] if young else [], "They are younger.", "They are.")


def _years_later(day: date, years: int) -> date:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # 29 February
        return date(day.year + years, 3, 1)


def _direct(file: ReleaseFile) -> RuleFinding:
    names = [
        one.name
        for one in file.variables
        if one.direct_identifier or one.regional is Regional.DIRECT or one.topic in FORBIDDEN
    ]
    requirement = "No direct identifiers, direct regions, nationality, country of birth or ethnicity."
    return judge_names(2, requirement, names, "Not for the public")


def _indirect_regions(file: ReleaseFile, rules: PublicRules) -> RuleFinding:
    requirement = (
        f"One kind of indirect region at most; each area has {rules.area_inhabitants} persons in "
        f"{rules.area_provinces} provinces, below {rules.municipality_share:.0%} of them in one municipality."
    )
    columns = file.columns(Regional.INDIRECT)
    if not columns:
        return judge(3, requirement, [], "", "The file has no indirect region.")
    names = tuple(file.variables[column].name for column in columns)
    if len({file.variables[column].kind or file.variables[column].name for column in columns}) > 1:
        several = Violation(names, figure=len(columns))
        return judge(3, requirement, [several], f"Several kinds: {', '.join(names)}.", "")
    places = areas(file, columns)
    if places is None:
        return undecided(3, requirement, "the municipalities, with their code of each indirect region")
    small = [
        place
        for place in places
        if place.inhabitants < rules.area_inhabitants
        or place.provinces < rules.area_provinces
        or not place.largest_share < rules.municipality_share
    ]
    return judge(
        3,
        requirement,
        [Violation(names, place.codes, place.inhabitants) for place in small],
        f"{len(small)} of {len(places)} areas are too small or not scattered enough.",
        f"All {len(places)} areas are large and scattered.",
    )


def _number_of_variables(file: ReleaseFile, rules: PublicRules) -> RuleFinding:
    names = [one.name for one in file.variables if one.identifying > Identifying.NO]
    too_many = len(names) > rules.identifying_variables
    return judge(
        4,
        f"At most {rules.identifying_variables} identifying variables.",
        [Violation(tuple(names), figure=len(names))] if too_many else [],
        f"There are {len(names)}.",
        f"There are {len(names)}.",
    )


def _sensitive(file: ReleaseFile) -> RuleFinding:
    names = [one.name for one in file.variables if one.sensitive]
    return judge_names(5, "Sensitive variables are not released.", names, "Sensitive variables")


def _weights(file: ReleaseFile) -> RuleFinding:
    requirement = "The weights tell nothing more about a unit."
    if not file.weights_released or file.weights is None:
        return judge(6, requirement, [], "", "Weights are not released.")
    groups = group_keys(np.unique(file.weights, return_inverse=True)[1].reshape(-1, 1))
    if len(groups) <= 1:
        return judge(6, requirement, [], "", "All weights are the same.")
    if file.design is None:
        return undecided(
            6, requirement, "the design variables that are not released (strata, clusters, regions)"
        )
    shared = groups.counts[groups.group] > 1
    if shared.mean() < 0.5:
        return undecided(6, requirement, "weights that several units share: most have one of their own")
    violations = []
    for position, column in enumerate(np.asarray(file.design).reshape(len(groups.group), -1).T):
        within = group_keys(np.column_stack([groups.group, group_ids(column, len(column), "design").group]))
        kinds = np.bincount(groups.group[within.first], minlength=len(groups))
        told = shared & (kinds[groups.group] == 1)
        if told.any() and len(np.unique(column)) > 1:
            violations.append(Violation((f"design[{position}]",), figure=float(told.mean())))
    named = ", ".join(violation.variables[0] for violation in violations)
    return judge(
        6,
        requirement,
        violations,
        f"Some weights occur with one value only of {named}.",
        "Every weight that units share occurs with different values of each design variable.",
    )


def _identifying(file: ReleaseFile) -> list[int]:
    return [key for key, one in enumerate(file.variables) if one.identifying > Identifying.NO]


def _values(file: ReleaseFile, rules: PublicRules) -> RuleFinding:
    combined = [Combination((key,), rules.value) for key in _identifying(file)]
    requirement = f"At least {rules.value} persons have each value of an identifying variable."
    return judge_combinations(7, requirement, file, combined)


def _crossings(file: ReleaseFile, rules: PublicRules) -> RuleFinding:
    combined = [Combination(pair, rules.crossing) for pair in combinations(_identifying(file), 2)]
    requirement = f"At least {rules.crossing} persons have each pair of values of two identifying variables."
    return judge_combinations(8, requirement, file, combined)


def _households(file: ReleaseFile, rules: PublicRules) -> RuleFinding:
    requirement = (
        f"At least {rules.households} households have the household variables of each household from which "
        "several persons take part."
    )
    if file.households is None:
        return undecided(
            9, requirement, "the household of each unit (a number of its own where all live apart)"
        )
    columns = [column for column, one in enumerate(file.variables) if one.household]
    if not columns:
        return judge(9, requirement, [], "", "The file has no household variable.")
    grouped = group_ids(file.households, len(file.codes), "households")
    values = np.asarray(file.codes)[:, columns]
    if (values != values[grouped.first][grouped.group]).any():
        return undecided(
            9, requirement, "household variables that are the same for all members of a household"
        )
    alike = group_keys(values[grouped.first])
    several = np.zeros(len(alike), dtype=np.bool_)
    several[alike.group[grouped.counts > 1]] = True
    rare = np.flatnonzero(several & (alike.counts < rules.households))
    names = tuple(file.variables[column].name for column in columns)
    rarest = rare[np.argsort(alike.counts[rare], kind="stable")[:NAMED]]
    codes = values[grouped.first][alike.first[rarest]].tolist()
    return judge(
        9,
        requirement,
        [
            Violation(names, tuple(row), int(alike.counts[key]))
            for key, row in zip(rarest, codes, strict=True)
        ],
        f"{len(rare)} combinations of household variables have fewer.",
        f"All {int(several.sum())} combinations of household variables have enough.",
    )


def _order(file: ReleaseFile, rules: PublicRules) -> RuleFinding:
    requirement = "The records stand in random order."
    together = [
        Violation((name,), figure=test.deviation)
        for name, values in _columns(file)
        if (test := neighbour_test(values)).deviation > rules.order_deviation
        and test.neighbours - test.expected > rules.order_neighbours
    ]
    named = ", ".join(violation.variables[0] for violation in together)
    if not together and not file.random_order:
        return undecided(10, requirement, "that they were put in random order (their values cannot prove it)")
    return judge(10, requirement, together, f"Neighbours are alike beyond chance in {named}.", "They do.")


def _columns(file: ReleaseFile) -> Iterator[tuple[str, IntArray]]:
    for column, variable in enumerate(file.variables):
        yield variable.name, np.asarray(file.codes)[:, column]
    if file.households is not None:
        yield "households", np.asarray(file.households)
    if file.weights is not None:
        yield "weights", np.unique(file.weights, return_inverse=True)[1]
    if file.design is not None:
        for position, values in enumerate(np.asarray(file.design).reshape(len(file.codes), -1).T):
            yield f"design[{position}]", values
