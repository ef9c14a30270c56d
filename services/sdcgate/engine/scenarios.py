"""Disclosure scenarios as they are declared: checked, and as the methods want them."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from sdcgate.engine.code_lists import quoted
from sdcgate.engine.descriptor import DeclaredScenario, Descriptor, DescriptorProblem, Variable
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.microdata import KeyVariable
from sdcgate.methods.risk.risk_factors import Factors
from sdcgate.methods.risk.scenarios import Scenario, ScenarioKind, ScenarioTarget

_NO_KIND = "say NOSY_NEIGHBOUR, INDIVIDUAL_ARCHIVE or HOUSEHOLD_ARCHIVE"


def check_scenarios(scenarios: Sequence[DeclaredScenario], household: bool) -> list[tuple[str, str]]:
    """What is wrong with scenarios whatever the file holds: paths and messages.

    `household` says whether an id of the household is declared.
    """
    found: list[tuple[str, str]] = []
    names: set[str] = set()
    for position, scenario in enumerate(scenarios):
        path = f"scenarios[{position}]"
        if not scenario.name or not scenario.name.isprintable() or len(scenario.name) > 128:
            found.append((f"{path}.name", "give it a name of at most 128 printable characters"))
        elif scenario.name in names:
            found.append((f"{path}.name", f"{scenario.name!r} is declared twice"))
        names.add(scenario.name)
        if scenario.kind == "UNSPECIFIED":
            found.append((f"{path}.kind", _NO_KIND))
        if not scenario.keys:
            found.append((f"{path}.keys", "name the variables that the intruder knows"))
        if len(set(scenario.keys)) < len(scenario.keys):
            found.append((f"{path}.keys", "a variable stands more than once"))
        for name in ("quality", "coverage", "attempt"):
            factor = getattr(scenario, name)
            if factor is not None and not 0 <= factor <= 1:
                found.append((f"{path}.{name}", "is a probability: 0 to 1"))
        threshold = scenario.threshold
        if threshold is not None and not (math.isfinite(threshold) and 0 < threshold <= 1):
            found.append((f"{path}.threshold", "lies above 0, and 1 at most"))
        if target_of(scenario) is ScenarioTarget.HOUSEHOLD and not household:
            message = "households are re-identified by their id: give the household's column"
            found.append((f"{path}.target", message))
    return found


def check_declared_scenarios(descriptor: Descriptor) -> list[DescriptorProblem]:
    """What is wrong with the scenarios of a descriptor, their variables and levels among it."""
    household = descriptor.household is not None and bool(descriptor.household.column)
    found = check_scenarios(descriptor.scenarios, household)
    variables = {variable.name: variable for variable in descriptor.variables}
    for position, scenario in enumerate(descriptor.scenarios):
        named = [key.partition(":")[0] for key in scenario.keys]
        if len(set(named)) < len(set(scenario.keys)):
            found.append((f"scenarios[{position}].keys", "a variable stands at two levels"))
        for place, key in enumerate(scenario.keys):
            path = f"scenarios[{position}].keys[{place}]"
            name, _, level = key.partition(":")
            if name not in variables:
                found.append((path, f"{name!r} is no variable; they are {quoted(list(variables))}"))
            elif level and level not in _levels(variables[name]):
                known = quoted(_levels(variables[name]))
                found.append((path, f"{level!r} is no level of {name}; they are {known}"))
    return [DescriptorProblem(path, message) for path, message in found]


def scenarios_of(
    declared: Sequence[DeclaredScenario],
    column: Callable[[str, str], tuple[KeyVariable, IntArray] | None],
) -> tuple[Scenario, ...]:
    """The scenarios with their codes.

    `column` gives a key variable and its codes (records,) from its path, `scenarios[0].keys[1]`, and its
    name; None where it noted a problem: the scenario is then left out.
    """
    found = []
    for position, scenario in enumerate(declared):
        columns = [
            column(f"scenarios[{position}].keys[{place}]", key) for place, key in enumerate(scenario.keys)
        ]
        read = [one for one in columns if one is not None]
        if len(read) == len(columns):
            codes = np.column_stack([codes for _, codes in read])
            found.append(scenario_of(scenario, [key for key, _ in read], codes))
    return tuple(found)


def target_of(scenario: DeclaredScenario) -> ScenarioTarget:
    """What is re-identified at once: as declared, else by the kind."""
    if scenario.target == "UNSPECIFIED":
        by_household = scenario.kind == "HOUSEHOLD_ARCHIVE"
        return ScenarioTarget.HOUSEHOLD if by_household else ScenarioTarget.INDIVIDUAL
    return ScenarioTarget[scenario.target]


def scenario_of(declared: DeclaredScenario, keys: Sequence[KeyVariable], codes: IntArray) -> Scenario:
    """A scenario with its key variables and their codes (rows, keys)."""
    factors = (declared.quality, declared.coverage, declared.attempt)
    return Scenario(
        name=declared.name,
        kind=ScenarioKind[declared.kind] if declared.kind != "UNSPECIFIED" else None,
        keys=tuple(keys),
        codes=codes,
        missing=Missing.WILDCARD if declared.missing == "WILDCARD" else Missing.CATEGORY,
        response_known=declared.response_known,
        factors=Factors(*(1.0 if factor is None else factor for factor in factors)),
        target=target_of(declared),
        threshold=declared.threshold,
    )


def _levels(variable: Variable) -> list[str]:
    if variable.hierarchy is not None:
        return list(variable.hierarchy.levels)
    return [level.name or variable.name for level in variable.levels]
