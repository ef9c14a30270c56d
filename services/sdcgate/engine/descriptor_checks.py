"""What a descriptor must fulfil before its data are looked at."""

import math
import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from sdcgate.engine.code_lists import quoted
from sdcgate.engine.data_files import is_separator
from sdcgate.engine.descriptor import Descriptor, DescriptorProblem, Measure
from sdcgate.engine.scenarios import check_declared_scenarios

_DATASET_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")
ACCESS_LEVELS = ("public", "licensed", "remote", "on-site")
MAXIMUM_DECIMALS = 9
FEWEST_KNOTS = 3
SMALLEST_FRACTION = 1e-12
"""One person of a hundred times mankind: below it weights are no figures any more."""


def check_descriptor(descriptor: Descriptor) -> list[DescriptorProblem]:
    """All problems that show without the data; code lists are checked when they are resolved."""
    found: list[DescriptorProblem] = []

    def add(path: str, message: str) -> None:
        found.append(DescriptorProblem(path, message))

    if not _DATASET_NAME.fullmatch(descriptor.name):
        add("name", "use up to 64 lower-case letters, digits, `-` and `_`, a letter first")
    if len(descriptor.source) > 64 or not descriptor.source.isprintable():
        add("source", "use at most 64 printable characters")
    if not descriptor.data.path:
        add("data.path", "say where the data file lies")
    for path, delimiter in _delimiters(descriptor):
        if delimiter and not is_separator(delimiter):
            add(
                path,
                "a separator is one ASCII character, such as `,`, `;` or a tab; no letter, digit or quote",
            )
    _check_household_and_weight(descriptor, found)
    _check_respondents(descriptor, found)
    _check_design(descriptor, found)
    if descriptor.reference_date and not _is_date(descriptor.reference_date):
        add("reference_date", "write YYYY-MM-DD")
    if descriptor.access_level and descriptor.access_level not in ACCESS_LEVELS:
        add("access_level", f"is none of {', '.join(ACCESS_LEVELS)}")
    if not descriptor.variables:
        add("variables", "declare at least one variable")
    names = [variable.name for variable in descriptor.variables]
    _check_names("variables", names, found)
    found += _no_variable("wave", descriptor.wave, names)
    _check_names("measures", [measure.name for measure in descriptor.measures], found)
    for position, variable in enumerate(descriptor.variables):
        if variable.identifying == "UNSPECIFIED":
            add(f"variables[{position}].identifying", "say NO, YES, VERY or EXTREMELY")
        if variable.regional_kind and variable.regional != "INDIRECT":
            add(f"variables[{position}].regional_kind", "is about variables that are regional: INDIRECT")
    for position, measure in enumerate(descriptor.measures):
        _check_measure(f"measures[{position}]", measure, found)
    _check_parts(descriptor.measures, found)
    return found + check_declared_scenarios(descriptor)


def _no_variable(path: str, name: str, names: list[str]) -> list[DescriptorProblem]:
    """That a field names no variable; leaving it empty is fine."""
    if not name or name in names:
        return []
    return [DescriptorProblem(path, f"{name!r} is no variable; they are {quoted(names)}")]


def _delimiters(descriptor: Descriptor) -> list[tuple[str, str]]:
    delimiters = [("data.delimiter", descriptor.data.delimiter)]
    for position, variable in enumerate(descriptor.variables):
        if variable.hierarchy is not None:
            delimiters.append((f"variables[{position}].hierarchy.delimiter", variable.hierarchy.delimiter))
    return delimiters


def _check_household_and_weight(descriptor: Descriptor, found: list[DescriptorProblem]) -> None:
    household = descriptor.household
    if household is not None and bool(household.column) == bool(household.size_column):
        found.append(DescriptorProblem("household", "give either column (the id) or size_column"))
    if descriptor.weight is not None:
        if not descriptor.weight.column:
            found.append(DescriptorProblem("weight.column", "name the column that holds the weight"))
        _check_decimals("weight.decimals", descriptor.weight.decimals, found)


def _check_respondents(descriptor: Descriptor, found: list[DescriptorProblem]) -> None:
    holding, waiver = descriptor.holding, descriptor.waiver
    if holding is not None and not holding.column:
        found.append(DescriptorProblem("holding.column", "name the column that holds the group's id"))
    if waiver is not None and not waiver.column:
        found.append(DescriptorProblem("waiver.column", "name the column that says who gave a waiver"))
    if waiver is not None and not waiver.codes:
        found.append(DescriptorProblem("waiver.codes", "name the values that mean a waiver"))


def _check_design(descriptor: Descriptor, found: list[DescriptorProblem]) -> None:
    design = descriptor.design
    if design.coverage == "UNSPECIFIED":
        found.append(DescriptorProblem("design.coverage", "say SAMPLE or CENSUS"))
    fraction = design.sampling_fraction
    if not (fraction == 0 or SMALLEST_FRACTION <= fraction <= 1):
        message = f"lies between {SMALLEST_FRACTION:g} and 1; leave it out where it is not known"
        found.append(DescriptorProblem("design.sampling_fraction", message))
    if design.population_size < 0:
        found.append(DescriptorProblem("design.population_size", "must not be negative"))
    nothing_known = not design.sampling_fraction and not design.population_size and descriptor.weight is None
    if design.coverage == "SAMPLE" and nothing_known:
        found.append(
            DescriptorProblem("design", "a sample needs a sampling_fraction, a population_size or a weight")
        )
    names = [variable.name for variable in descriptor.variables]
    found += _no_variable("design.stratum", design.stratum, names)
    found += _no_variable("design.psu", design.psu, names)


def _check_names(where: str, names: Sequence[str], found: list[DescriptorProblem]) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        path = f"{where}[{position}].name"
        if not _NAME.fullmatch(name):
            found.append(DescriptorProblem(path, "use letters, digits, `_`, `.` and `-`, a letter first"))
        elif name in seen:
            found.append(DescriptorProblem(path, f"{name!r} is declared twice"))
        seen.add(name)


def _check_measure(path: str, measure: Measure, found: list[DescriptorProblem]) -> None:
    _check_decimals(f"{path}.decimals", measure.decimals, found)
    lower, upper = measure.lower_bound, measure.upper_bound
    for name, bound in (("lower_bound", lower), ("upper_bound", upper)):
        if bound is not None and not math.isfinite(bound):
            found.append(DescriptorProblem(f"{path}.{name}", "must be a finite number; leave it out if none"))
    if lower is not None and upper is not None and lower > upper:
        found.append(DescriptorProblem(f"{path}.lower_bound", "exceeds the upper bound"))
    knots = measure.knots
    rising = all(math.isfinite(knot) for knot in knots) and all(a < b for a, b in pairwise(knots))
    if knots and (len(knots) < FEWEST_KNOTS or not rising):
        message = f"name at least {FEWEST_KNOTS} finite numbers, rising: the outer two are the spline's range"
        found.append(DescriptorProblem(f"{path}.knots", message))


def _check_parts(measures: Sequence[Measure], found: list[DescriptorProblem]) -> None:
    names = {measure.name for measure in measures}
    for position, measure in enumerate(measures):
        for place, part in enumerate(measure.parts):
            if part not in names - {measure.name}:
                path = f"measures[{position}].parts[{place}]"
                found.append(DescriptorProblem(path, "name other measures, of which this one is the sum"))


def _check_decimals(path: str, decimals: int, found: list[DescriptorProblem]) -> None:
    if not 0 <= decimals <= MAXIMUM_DECIMALS:
        found.append(DescriptorProblem(path, f"lies between 0 and {MAXIMUM_DECIMALS}"))


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
