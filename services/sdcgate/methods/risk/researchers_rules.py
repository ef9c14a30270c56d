"""Statistics Netherlands' rules for microdata for researchers, as checks that can be executed.

Handbook on Statistical Disclosure Control, 3.7, "Microdata for researchers", rules 1 to 5.
"""

from dataclasses import dataclass

import numpy as np

from sdcgate.methods.risk.release_rules import (
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
from sdcgate.methods.risk.threshold import Identifying, combinations_by_class

DETAILED = (Topic.OCCUPATION, Topic.FIRM, Topic.EDUCATION)


@dataclass(frozen=True, slots=True)
class DetailLimit:
    """Rule 3: beside regions of fewer inhabitants a topic has at most so many values."""

    topic: Topic
    regions_below: int
    values: int


@dataclass(frozen=True, slots=True)
class ResearchersRules:
    """The figures of the rules; the handbook's, but for rule 3, for which it gives none."""

    combination: int = 100
    """Rule 2: persons in the population with each combination."""
    region: int = 10_000
    """Rule 4: inhabitants of a region."""
    detail: tuple[DetailLimit, ...] = ()


def researchers_rules(file: ReleaseFile, rules: ResearchersRules | None = None) -> RuleSetFindings:
    """Judge a file by the rules for researchers, one finding a rule."""
    figures = rules or ResearchersRules()
    return RuleSetFindings(
        (
            _direct_identifiers(file),
            _combinations(file, figures),
            _detail(file, figures),
            _regions(file, figures),
            _panel(file),
        )
    )


def _direct_identifiers(file: ReleaseFile) -> RuleFinding:
    names = [variable.name for variable in file.variables if variable.direct_identifier]
    return judge_names(1, "Direct identifiers are not released.", names, "Direct identifiers")


def _combinations(file: ReleaseFile, rules: ResearchersRules) -> RuleFinding:
    """Extremely x very x identifying; without an extremely identifying variable, very x identifying."""
    identifying = [variable.identifying for variable in file.variables]
    classes = [Identifying.EXTREMELY, Identifying.VERY, Identifying.YES]
    if Identifying.EXTREMELY not in identifying:
        classes = classes[1:]
    named = " x ".join({3: "extremely", 2: "very", 1: "identifying"}[int(wanted)] for wanted in classes)
    requirement = f"Each combination {named} occurs at least {rules.combination} times."
    return judge_combinations(
        2, requirement, file, combinations_by_class(identifying, classes, rules.combination)
    )


def _detail(file: ReleaseFile, rules: ResearchersRules) -> RuleFinding:
    requirement = "Detail of occupation, firm and education is limited by the most detailed direct region."
    direct = file.columns(Regional.DIRECT)
    detailed = [column for column, one in enumerate(file.variables) if one.topic in DETAILED]
    if not direct or not detailed:
        return judge(3, requirement, [], "", "The file has no direct region, or none of these variables.")
    limited = {limit.topic for limit in rules.detail}
    lacking = {file.variables[column].topic.value for column in detailed} - {one.value for one in limited}
    if lacking:
        return undecided(3, requirement, f"how many values of {', '.join(sorted(lacking))} a region allows")
    smallest = []
    for column in direct:
        places = areas(file, [column])
        if places is None:
            return undecided(3, requirement, f"the municipalities of {file.variables[column].name}")
        smallest += [place.inhabitants for place in places]
    violations = []
    for column in detailed:
        values = len(np.unique(file.codes[:, column][file.codes[:, column] >= 0]))
        allowed = [
            limit.values
            for limit in rules.detail
            if limit.topic is file.variables[column].topic and min(smallest, default=0) < limit.regions_below
        ]
        if allowed and values > min(allowed):
            violations.append(Violation((file.variables[column].name,), figure=values))
    names = ", ".join(violation.variables[0] for violation in violations)
    return judge(
        3, requirement, violations, f"Too many values beside such regions: {names}.", "Within limits."
    )


def _regions(file: ReleaseFile, rules: ResearchersRules) -> RuleFinding:
    requirement = f"A region that can be told apart has at least {rules.region} inhabitants."
    columns = file.columns(Regional.DIRECT, Regional.INDIRECT)
    if not columns:
        return judge(4, requirement, [], "", "The file has no regional variable.")
    places = areas(file, columns)
    if places is None:
        return undecided(4, requirement, "the municipalities, with their code of each regional variable")
    names = tuple(file.variables[column].name for column in columns)
    small = sorted(
        (place for place in places if place.inhabitants < rules.region), key=lambda one: one.inhabitants
    )
    return judge(
        4,
        requirement,
        [Violation(names, place.codes, place.inhabitants) for place in small],
        f"{len(small)} of {len(places)} regions are smaller.",
        f"All {len(places)} regions are large enough.",
    )


def _panel(file: ReleaseFile) -> RuleFinding:
    requirement = "Panel data are released without direct regions."
    names = [file.variables[column].name for column in file.columns(Regional.DIRECT)]
    if names and file.panel is None:
        return undecided(5, requirement, "whether the file is a panel")
    return judge_names(5, requirement, names if file.panel else [], "Direct regions in a panel")
