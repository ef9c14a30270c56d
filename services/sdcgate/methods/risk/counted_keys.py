"""The assessment of a file that is too large to be held: of its keys with their frequencies alone.

What follows from f_k and the sums of weights is told: keys and sample uniques, the individual risk and that
of the file, uniqueness models. What looks at records or at parts of a key is named as not computed.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.file_estimates import uniqueness_models
from sdcgate.methods.risk.file_level import file_risk, rate_for_threshold, risk_histogram, target_threshold
from sdcgate.methods.risk.file_options import NO_WEIGHTS, Options
from sdcgate.methods.risk.file_report import (
    FileAssessment,
    FileFacts,
    IndividualSection,
    KeyCells,
    KeyFacts,
    NotComputed,
    UniquenessSection,
)
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.keys import Keys, Missing, group_keys
from sdcgate.methods.risk.microdata import KeyVariable
from sdcgate.methods.risk.not_given import RULE_SETS, SCENARIOS, SENSITIVE
from sdcgate.methods.risk.risk_factors import final_risk
from sdcgate.methods.risk.small_weights import small_weights
from sdcgate.methods.risk.wildcards import compatible_frequencies

NEEDS_RECORDS = "only the keys of so large a file are counted: take a sample of its records for this measure"
LEFT_OUT = (
    "theta_U by the design",
    "smoothing",
    "recommended estimate",
    "log-linear models",
    "household risk",
    "threshold rule",
    "special uniques",
    "worst table",
    "weights as a channel",
)


@dataclass(frozen=True, slots=True, eq=False)
class CountedKeys:
    """The distinct keys of a file, each record a unit."""

    keys: tuple[KeyVariable, ...]
    codes: IntArray = field(repr=False)
    """Codes of each distinct key, -1 where missing, shape (K, keys)."""
    counts: IntArray = field(repr=False)
    """Records that have it, shape (K,)."""
    weight_sums: FloatArray | None = field(repr=False)
    """Sum of their weights, shape (K,); None where nothing tells how many people stand for a unit."""
    weighted: bool
    """Whether weights are the file's own, not those of a sampling fraction."""
    first: IntArray = field(repr=False)
    """The first record of each key, from 0, shape (K,)."""

    @property
    def records(self) -> int:
        """Records of the file."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, eq=False)
class KeyRisks:
    """Frequency, weight sum and risk of each distinct key, each of shape (K,)."""

    f: IntArray
    """Records that agree with it; with wildcards more than have exactly this key."""
    weight_sums: FloatArray
    risks: FloatArray


def key_risks(counted: CountedKeys, options: Options) -> KeyRisks:
    """Individual risk of each key by the design. Raises ValueError where nothing tells the population."""
    if counted.weight_sums is None:
        raise ValueError(NO_WEIGHTS)
    f, sums = _agreeing(counted, options.missing)
    risks = final_risk(individual_risk(f, sampling_probabilities(f, sums)), options.factors)
    return KeyRisks(f, sums, risks)


def assess_counted_keys(counted: CountedKeys, options: Options | None = None) -> FileAssessment:
    """Assess a file by the frequencies of its keys.

    In the section of individual risks these are by key, shape (K,), not by unit. Raises ValueError where the
    options are wrong.
    """
    options = options or Options()
    options.check()
    missing: list[NotComputed] = []
    facts = _facts(counted)
    individual, models = None, None
    try:
        individual = _individual(counted, options)
    except ValueError as error:
        missing.append(NotComputed("individual risk", str(error)))
    if facts.fraction is not None:
        models = UniquenessSection(None, uniqueness_models(_as_keys(counted), facts.fraction, missing))
    missing += [NotComputed(", ".join(LEFT_OUT), NEEDS_RECORDS), SENSITIVE, SCENARIOS, RULE_SETS]
    return FileAssessment(
        facts=facts,
        key_cells=_key_cells(counted, options.missing),
        individual=individual,
        recommended=None,
        uniqueness=models,
        log_linear=(),
        households=None,
        threshold=None,
        special_uniques=None,
        sensitive=(),
        recodings=None,
        not_computed=tuple(missing),
        warnings=_warnings(counted, options.missing),
    )


def _warnings(counted: CountedKeys, missing: Missing) -> tuple[str, ...]:
    if not counted.weighted:
        return ()
    f, sums = _agreeing(counted, missing)
    return small_weights(f, sums, counted.counts)


def _agreeing(counted: CountedKeys, missing: Missing) -> tuple[IntArray, FloatArray]:
    """Frequencies and sums of weights, with missing values as they are asked for."""
    sums = counted.counts.astype(np.float64) if counted.weight_sums is None else counted.weight_sums
    if missing is Missing.CATEGORY:
        return counted.counts, sums
    return compatible_frequencies(counted.codes, counted.counts, sums)


def _as_keys(counted: CountedKeys) -> Keys:
    every = np.arange(len(counted.counts))
    return Keys(every, every, counted.counts)


def _facts(counted: CountedKeys) -> FileFacts:
    sums, records = counted.weight_sums, counted.records
    population = None if sums is None else float(sums.sum())
    several = len(counted.keys) > 1
    return FileFacts(
        records=records,
        units=records,
        most_records=1,
        weighted=counted.weighted,
        fraction=None if population is None else min(1.0, records / population),
        population=population,
        keys=tuple(
            KeyFacts(
                key=key,
                categories=len(np.unique(own[own >= 0])),
                missing=int(counted.counts[own < 0].sum()),
                uniques_without=_uniques_without(counted, position) if several else None,
            )
            for position, (key, own) in enumerate(zip(counted.keys, counted.codes.T, strict=True))
        ),
    )


def _uniques_without(counted: CountedKeys, position: int) -> int:
    coarser = group_keys(np.delete(counted.codes, position, axis=1))
    return int((np.bincount(coarser.group, counted.counts, len(coarser)) == 1).sum())


def _key_cells(counted: CountedKeys, missing: Missing) -> KeyCells:
    f, _ = _agreeing(counted, missing)
    sizes = np.bincount(np.minimum(counted.counts, 6), minlength=7)

    def units(agreeing: BoolArray) -> int:
        return int(counted.counts[agreeing].sum())

    return KeyCells(
        cells=len(f),
        sample_uniques=units(f == 1),
        smallest=int(f.min()),
        below_three=units(f < 3),
        below_five=units(f < 5),
        sizes=tuple(sizes[1:6].tolist()),
    )


def _individual(counted: CountedKeys, options: Options) -> IndividualSection:
    found, n = key_risks(counted, options), counted.counts
    riskiest = np.argsort(-found.risks, kind="stable")[: options.riskiest]
    return IndividualSection(
        risk=replace(file_risk(found.f, found.risks, n), key_cells=len(n)),
        histogram=risk_histogram(found.risks, n),
        threshold=rate_for_threshold(found.risks, n, options.risk_threshold),
        target=target_threshold(found.risks, n, options.target_rate),
        riskiest=counted.first[riskiest] + 1,
        risks=found.risks,
    )
