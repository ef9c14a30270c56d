"""The assessment of a file of microdata: every measure that applies, and what cannot be computed and why.

Records become units first. Each section of the report is a function here; the measures themselves are in
modules of their own. Nothing in an assessment is a value of a record, but for the numbers of the riskiest
records where a caller asks for them.
"""

from collections.abc import Callable
from dataclasses import replace
from math import comb
from typing import TypeVar

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.anonymity import Ground, l_diversity, t_closeness
from sdcgate.methods.risk.file_estimates import uniqueness_section
from sdcgate.methods.risk.file_level import file_risk, rate_for_threshold, risk_histogram, target_threshold
from sdcgate.methods.risk.file_levels import household_section, psu_section
from sdcgate.methods.risk.file_models import (
    FileModels,
    log_linear_section,
    recommended_section,
    smoothing_section,
)
from sdcgate.methods.risk.file_numbers import NumbersSection, numbers_section
from sdcgate.methods.risk.file_options import NO_WEIGHTS, Options
from sdcgate.methods.risk.file_release import (
    RuleSet,
    label_section,
    rule_sets,
    weights_section,
    worst_tables_section,
)
from sdcgate.methods.risk.file_report import (
    FileAssessment,
    FileFacts,
    IndividualSection,
    KeyCells,
    KeyFacts,
    NotComputed,
    SensitiveVariable,
    SpecialUniquesSection,
    ValueShare,
)
from sdcgate.methods.risk.file_threshold import threshold_section
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.keys import Frequencies, Keys, frequencies, group_keys
from sdcgate.methods.risk.microdata import Microdata, UnitFile, by_units
from sdcgate.methods.risk.not_given import not_given
from sdcgate.methods.risk.recoding_comparison import (
    ComparisonOptions,
    RecodingComparison,
    compare_recodings,
)
from sdcgate.methods.risk.risk_factors import final_risk
from sdcgate.methods.risk.scenarios import ScenarioRisk, scenario_risk, together
from sdcgate.methods.risk.small_weights import small_weights
from sdcgate.methods.risk.special_uniques import SpecialUniques, dis, dis_suda, special_uniques

NO_LEVELS = "no key variable has a coarser level: give levels to compare"
MOST_SETS = 255
"""Sets of variables that SUDA searches where no size is asked for: all of 8 variables."""
NAMED_FROM = 10
"""A value is named in the report only if at least so many units have it."""
NAMED = 10
"""Values that are named."""

ROUNDING = 1e-9
"""Difference to which a score is at the bound of a class."""

Section = TypeVar("Section")


def assess_file(
    file: Microdata, options: Options | None = None, heed: Callable[[], None] | None = None
) -> FileAssessment:
    """Assess a file by every measure that applies to it.

    A measure that cannot be computed (no weights, too many possible keys, a likelihood without a maximum) is
    named in `not_computed` with the reason, never replaced by another. `heed` is called before each measure
    and now and then within the long ones: what it raises, but a ValueError or ArithmeticError, ends the work.
    Raises ValueError where the file or the options are wrong.
    """
    options = options or Options()
    options.check()
    _check_names(file, options)
    units = by_units(file)
    keys = group_keys(units.codes)
    common = frequencies(units.codes, units.weights, options.missing)
    missing: list[NotComputed] = []

    def attempt(what: str, make: Callable[[], Section]) -> Section | None:
        if heed is not None:
            heed()
        try:
            return make()
        except (ValueError, ArithmeticError) as error:
            missing.append(NotComputed(what, str(error)))
            return None

    individual = attempt("individual risk", lambda: individual_section(units, keys, common, options))
    scenarios = _scenario_risks(file, options, missing)
    models = FileModels(units, options, heed)
    return FileAssessment(
        facts=file_facts(units, keys),
        key_cells=key_cells(keys, common),
        individual=individual,
        recommended=attempt("recommended estimate", lambda: recommended_section(models)),
        uniqueness=attempt("uniqueness", lambda: uniqueness_section(units, keys, missing)),
        log_linear=attempt("log-linear models", lambda: log_linear_section(models)) or (),
        smoothing=attempt("smoothing", lambda: smoothing_section(units, options)),
        households=attempt("household risk", lambda: household_section(units, individual, options)),
        threshold=attempt("threshold rule", lambda: threshold_section(units, options, heed)),
        special_uniques=attempt(
            "special uniques", lambda: special_uniques_section(units, options, missing, heed)
        ),
        sensitive=tuple(sensitive_variable(name, codes, keys) for name, codes in units.sensitive),
        recodings=attempt("recodings", lambda: recoding_section(units, options)),
        scenarios=scenarios,
        scenarios_together=together(scenarios) if len(scenarios) > 1 else None,
        worst_tables=attempt("worst table", lambda: worst_tables_section(units, options.dimensions)),
        weights=attempt("weights as a channel", lambda: weights_section(units)),
        strata=attempt("strata as a channel", lambda: label_section(units, units.strata)),
        psu_labels=attempt("PSUs as a channel", lambda: label_section(units, units.psus)),
        psus=attempt("PSUs", lambda: psu_section(units, individual)),
        rule_sets=attempt("rule sets", lambda: _rule_sets(file)) or (),
        numbers=attempt("numbers", lambda: _numbers(file, options, heed)),
        warnings=small_weights(common.f, common.weight_sums, weights=units.weights) if units.weighted else (),
        not_computed=(*missing, *not_given(file, units, options)),
    )


def _check_names(file: Microdata, options: Options) -> None:
    names = [key.name for key in file.keys]
    of_models = [name for model in options.models for interaction in model for name in interaction]
    for option, given in (("ordinal", options.ordinal), ("models", of_models)):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"{option}: {', '.join(unknown)} is no key variable; they are {', '.join(names)}"
            )


def _scenario_risks(
    file: Microdata, options: Options, missing: list[NotComputed]
) -> tuple[ScenarioRisk, ...]:
    """The risk under each scenario that can be judged."""
    found = []
    for scenario in file.scenarios:
        try:
            found.append(scenario_risk(file, scenario, options.risk_threshold, options.riskiest))
        except (ValueError, ArithmeticError) as error:
            missing.append(NotComputed(f"scenario {scenario.name}", str(error)))
    return tuple(found)


def _numbers(file: Microdata, options: Options, heed: Callable[[], None] | None) -> NumbersSection | None:
    if file.numbers is None:
        return None
    return numbers_section(file.numbers, file.codes, options.neighbours, options.most_pairs, heed)


def _rule_sets(file: Microdata) -> tuple[RuleSet, ...]:
    return () if file.release is None else rule_sets(file.release)


def file_facts(units: UnitFile, keys: Keys) -> FileFacts:
    """What the file is, and what each key variable adds to its uniques."""
    several = len(units.keys) > 1
    return FileFacts(
        records=units.records,
        units=len(units),
        most_records=units.most_records,
        weighted=units.weighted,
        fraction=units.fraction,
        population=None if units.weights is None else float(units.weights.sum()),
        keys=tuple(
            KeyFacts(
                key=key,
                categories=len(np.unique(own[own >= 0])),
                missing=int((own < 0).sum()),
                uniques_without=_uniques_without(units, keys, position) if several else None,
            )
            for position, (key, own) in enumerate(zip(units.keys, units.codes.T, strict=True))
        ),
    )


def key_cells(keys: Keys, common: Frequencies) -> KeyCells:
    """How many keys occur, and how many units stand alone or nearly so."""
    sizes = np.bincount(np.minimum(keys.counts, 6), minlength=7)
    return KeyCells(
        cells=len(keys),
        sample_uniques=int((common.f == 1).sum()),
        smallest=int(common.f.min()),
        below_three=int((common.f < 3).sum()),
        below_five=int((common.f < 5).sum()),
        sizes=tuple(sizes[1:6].tolist()),
    )


def individual_section(
    units: UnitFile, keys: Keys, common: Frequencies, options: Options
) -> IndividualSection:
    """Individual risk of each unit by the design, and the file's.

    Units are its cells, as wildcards and factors tell units of one key apart.
    """
    if units.weights is None:
        raise ValueError(NO_WEIGHTS)
    probabilities = sampling_probabilities(common.f, common.weight_sums)
    risks = final_risk(individual_risk(common.f, probabilities), options.factors)
    ones = np.ones(len(units), dtype=np.int64)
    riskiest = np.argsort(-risks, kind="stable")[: options.riskiest]
    return IndividualSection(
        risk=replace(file_risk(common.f, risks, ones), key_cells=len(keys)),
        histogram=risk_histogram(risks, ones),
        threshold=rate_for_threshold(risks, ones, options.risk_threshold),
        target=target_threshold(risks, ones, options.target_rate),
        riskiest=units.first[riskiest] + 1,
        risks=risks,
    )


def sensitive_variable(name: str, codes: IntArray, keys: Keys) -> SensitiveVariable:
    """How much the key tells of a sensitive variable: l-diversity and t-closeness."""
    diversity = l_diversity(keys, codes)
    return SensitiveVariable(
        name=name,
        alike=int(keys.counts[diversity.distinct < 2].sum()),
        distinct=int(diversity.distinct.min()),
        recursive=int(diversity.recursive.min()),
        smallest_entropy=float(diversity.entropy.min()),
        farthest=float(t_closeness(keys, codes, Ground.EQUAL).max()),
    )


def recoding_section(units: UnitFile, options: Options) -> RecodingComparison:
    """Recodings of the key, and the best. Raises ValueError where no key variable has a coarser level."""
    if not any(key.coarser for key in units.keys):
        raise ValueError(NO_LEVELS)
    return compare_recodings(units, ComparisonOptions(options.accepted_share, access=options.access))


def special_uniques_section(
    units: UnitFile,
    options: Options,
    missing: list[NotComputed],
    heed: Callable[[], None] | None = None,
) -> SpecialUniquesSection:
    """Minimal sample uniques, which variables and frequent values they are made of, and DIS.

    Where DIS cannot be shared out to units by their scores, that is added to `missing`.
    """
    variables = len(units.keys)
    size = min(options.suda_size, variables) if options.suda_size else quick_size(variables)
    found = special_uniques(units.codes, size, heed=heed)
    smallest = np.bincount(found.smallest, minlength=size + 1)
    fraction = units.fraction
    shared = None
    if fraction is not None:
        try:
            shared = dis_suda(units.codes, found, fraction)
        except ValueError as error:
            missing.append(NotComputed("DIS-SUDA", str(error)))
    return SpecialUniquesSection(
        maximum_size=size,
        units=int((found.smallest > 0).sum()),
        smallest=tuple(smallest[1 : size + 1].tolist()),
        variables=tuple(found.of_variables.tolist()),
        values=_frequent_values(units, found),
        dis=None if fraction is None else dis(units.codes, fraction),
        dis_suda=() if shared is None else _tenths(shared),
        largest_dis_suda=None if shared is None else float(shared.max()),
    )


def _tenths(scores: FloatArray) -> tuple[int, ...]:
    """How many scores are 0, and how many above 0 in each tenth, the upper bound included."""
    tenths = np.where(scores > 0, np.maximum(np.ceil(scores * 10 - ROUNDING), 1), 0).astype(np.int64)
    return tuple(np.bincount(np.minimum(tenths, 10), minlength=11).tolist())


def quick_size(variables: int) -> int:
    """The largest sets of variables that SUDA searches without being asked to."""
    sets = 0
    for size in range(1, variables + 1):
        sets += comb(variables, size)
        if sets > MOST_SETS:
            return max(1, size - 1)
    return variables


def _uniques_without(units: UnitFile, keys: Keys, position: int) -> int:
    """Sample uniques without one variable: only keys are regrouped, not records."""
    rest = np.delete(units.codes[keys.first], position, axis=1)
    coarser = group_keys(rest)
    units_of = np.bincount(coarser.group, keys.counts, len(coarser))
    return int((units_of == 1).sum())


def _frequent_values(units: UnitFile, found: SpecialUniques) -> tuple[ValueShare, ...]:
    """Values that stand in most of the scores, of those that many units have."""
    total = float(found.scores.sum())
    shares = []
    for key, own in enumerate(units.codes.T):
        known: BoolArray = own >= 0
        numbers = np.bincount(own[known])
        scores = np.bincount(own[known], (found.scores * found.contributions[:, key])[known])
        for code in np.flatnonzero((numbers >= NAMED_FROM) & (scores > 0)).tolist():
            shares.append(ValueShare(key, code, int(numbers[code]), float(scores[code]) / total))
    return tuple(sorted(shares, key=lambda one: -one.share)[:NAMED])
