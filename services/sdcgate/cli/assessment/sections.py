"""The report on a file in words that an agency can read: a function for each section."""

from itertools import pairwise

from sdcgate.cli.assessment.estimates import estimates_section, log_linear_section, uniqueness_section
from sdcgate.cli.assessment.numbers import numbers_section
from sdcgate.cli.assessment.parts import Bars, Section, Table, count, one_in, percent, plural
from sdcgate.cli.assessment.recodings import recoding_section
from sdcgate.cli.assessment.release import release_sections
from sdcgate.cli.assessment.threshold import threshold_section
from sdcgate.methods.risk.file_level import FileRisk, RiskThreshold
from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.file_report import (
    FileAssessment,
    FileFacts,
    HouseholdSection,
    IndividualSection,
    KeyCells,
    NotComputed,
    SensitiveVariable,
    SpecialUniquesSection,
)
from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.recommendation import Recommendation

MANY = 1000
"""Values of a key variable above which it looks like a measured number."""


def report_sections(found: FileAssessment, options: Options) -> tuple[Section, ...]:
    """All sections of the report, in their order."""
    titles = tuple(one.key.title for one in found.facts.keys)
    sections = [
        file_section(found.facts, found.warnings),
        keys_section(found.facts, found.key_cells, options),
    ]
    if found.individual is not None:
        sections.append(individual_section(found.individual, found.facts, options, found.recommended))
    if found.individual is not None or found.log_linear or found.uniqueness is not None:
        sections.append(estimates_section(found))
    if found.uniqueness is not None:
        sections.append(uniqueness_section(found.uniqueness, found.key_cells))
    if found.log_linear:
        sections.append(log_linear_section(found.log_linear))
    if found.households is not None:
        sections.append(household_section(found.households, options))
    if found.threshold is not None:
        sections.append(threshold_section(found.threshold, titles))
    if found.special_uniques is not None:
        sections.append(special_uniques_section(found.special_uniques, found))
    if found.sensitive:
        sections.append(sensitive_section(found.sensitive, found.facts, found.key_cells))
    sections += release_sections(found, titles)
    if found.numbers is not None:
        sections.append(numbers_section(found.numbers, found.facts))
    if found.recodings is not None:
        sections.append(recoding_section(found.recodings))
    if found.not_computed:
        sections.append(not_computed_section(found.not_computed))
    return tuple(sections)


def file_section(facts: FileFacts, warnings: tuple[str, ...] = ()) -> Section:
    """What the file is, and what is odd about it."""
    words = [f"{plural(facts.records, 'record')} of {plural(facts.units, 'unit')}."]
    if facts.most_records > 1:
        words.append(
            f"A unit has up to {facts.most_records} records. It is recognised by all of them: what varies "
            "between its records counts as one key variable a wave, and a wave that it has no record in as "
            "a missing value."
        )
    if facts.fraction is None or facts.population is None:
        words.append("Nothing tells how many people a unit stands for.")
    elif facts.weighted:
        words.append(
            f"The weights add up to a population of {count(facts.population)}: "
            f"{one_in(facts.fraction)} is in the file."
        )
    elif facts.fraction < 1:
        words.append(
            f"By the sampling fraction of {percent(facts.fraction)} the population has "
            f"{count(facts.population)} units."
        )
    else:
        words.append("The file is a census: every unit of the population is in it.")
    words += [f"Warning: {one}" for one in warnings]
    many = [one.key.title for one in facts.keys if one.categories > MANY]
    if many:
        words.append(f"{', '.join(many)}: more than {MANY:,} values. Is that a number? Put it into bands.")
    rows = tuple(
        (
            one.key.title,
            count(one.categories),
            count(one.missing),
            "-" if one.uniques_without is None else count(one.uniques_without),
        )
        for one in facts.keys
    )
    headers = ("key variable", "values", "units without", "sample uniques without it")
    return Section("The file", tuple(words), (Table(headers, rows),))


def keys_section(facts: FileFacts, cells: KeyCells, options: Options) -> Section:
    """Keys, sample uniques, k-anonymity."""
    missing = (
        "A missing value is a value like others."
        if options.missing is Missing.CATEGORY
        else "A missing value agrees with every value."
    )
    share = cells.sample_uniques / facts.units
    words = (
        f"{plural(cells.cells, 'combination')} of values (keys) occur. "
        f"{plural(cells.sample_uniques, 'unit is', 'units are')} alone with theirs: "
        f"{percent(share)} of the file are sample uniques. {missing}",
        f"{percent(cells.below_three / facts.units)} of the units share their key with fewer than two others "
        f"(they violate 3-anonymity), {percent(cells.below_five / facts.units)} with fewer than four "
        "(5-anonymity).",
    )
    sizes = Table(
        ("units with the same key", "keys"),
        tuple((str(size), count(number)) for size, number in enumerate(cells.sizes, start=1)),
    )
    without = [one for one in facts.keys if one.uniques_without is not None]
    bars = Bars(
        f"Sample uniques that are left without a variable (of {cells.sizes[0]:,})",
        tuple(one.key.title for one in without),
        tuple(float(one.uniques_without or 0) for one in without),
        tuple(count(one.uniques_without or 0) for one in without),
        "left out",
    )
    return Section("Keys and sample uniques", words, (sizes, bars) if without else (sizes,))


def individual_section(
    found: IndividualSection, facts: FileFacts, options: Options, recommended: Recommendation | None
) -> Section:
    """Individual risk, histogram, threshold; and the estimate that is to be trusted, where there is one."""
    risk, histogram, threshold = found.risk, found.histogram, found.threshold
    words = [
        "The individual risk of a unit is the probability that a match of its key with the population is "
        "the right person, estimated from the sampling design (Benedetti, Capobianchi and Franconi).",
        f"Of the {facts.units:,} units {count(risk.expected_matches)} are expected to be matched correctly: "
        f"the re-identification rate xi is {risk.reidentification_rate:.6f}, psi {_psi(risk)}.",
        f"{plural(threshold.unsafe_units, 'unit has', 'units have')} a risk of {options.risk_threshold:g} "
        "or more, the threshold.",
    ]
    if recommended is not None:
        least = "at least " if recommended.fewer else ""
        words.append(
            "All figures of this section are by the design, which sees how many people a unit stands for, "
            f"not how rare its key is. The recommended estimate of tau_2 is {least}"
            f"{count(recommended.tau_2)}, see below."
        )
    if threshold.unsafe_units:
        words.append(f"Once they are protected, xi is {threshold.rate:.6f} at most.")
    if found.target is not None:
        words.append(_target(found.target, options.target_rate or 0.0))
    factors = options.factors
    if (factors.quality, factors.coverage, factors.attempt) != (1.0, 1.0, 1.0):
        words.append(
            f"The risks are multiplied by d = {factors.quality:g} (data agree), e = {factors.coverage:g} "
            f"(in the intruder's list), t = {factors.attempt:g} (somebody tries)."
        )
    if len(found.riskiest):
        numbers = ", ".join(str(number) for number in found.riskiest.tolist())
        words.append(f"The riskiest units begin in records {numbers} of the file.")
    figures = Table(
        ("measure", "figure"),
        (
            ("expected correct matches, all units (tau_1)", count(risk.expected_matches)),
            ("expected correct matches, sample uniques (tau_2)", count(risk.expected_matches_uniques)),
            ("tau_2 as a share of the file", percent(risk.uniques_share)),
            ("re-identification rate psi", _psi(risk)),
            ("mean risk of a sample unique", f"{risk.uniques_rate:.4g} ({one_in(risk.uniques_rate)})"),
            ("largest risk", f"{risk.maximum:.4g} ({one_in(risk.maximum)})"),
        ),
    )
    edges = histogram.edges
    bars = Bars(
        "Units by their individual risk",
        tuple(f"{percent(low)} to {percent(high)}" for low, high in pairwise(edges)),
        tuple(float(number) for number in histogram.units),
        tuple(count(float(number)) for number in histogram.units),
        "risk above, up to",
    )
    return Section("Individual risk", tuple(words), (figures, bars))


def _target(found: RiskThreshold, rate: float) -> str:
    """Which threshold keeps the rate that was asked for."""
    if found.risk is None:
        return f"The file keeps the rate xi* = {rate:g} as it is: no unit has to be protected for it."
    units = plural(found.unsafe_units, "unit has", "units have")
    return (
        f"For a rate xi* = {rate:g} the threshold on the risk is {found.risk:.4g}: {units} to be protected "
        "until theirs is below."
    )


def household_section(found: HouseholdSection, options: Options) -> Section:
    """Household risk."""
    risk = found.risk
    words = [
        f"{plural(risk.households, 'household')}, the largest with {plural(found.largest, 'member')}. Who "
        "finds one member finds them all.",
        f"{count(risk.expected_matches)} units are expected to be re-identified with their households: a "
        f"rate of {percent(risk.reidentification_rate)}. The largest household risk is {risk.maximum:.4g}.",
        f"{plural(found.unsafe_households, 'household is', 'households are')} at the threshold "
        f"{options.risk_threshold:g} or above; {plural(found.unsafe_units, 'member')} of them would have to "
        "be protected.",
    ]
    sizes = found.sizes
    if sizes is None:
        return Section("Households", tuple(words))
    if sizes.unsafe.any():
        recognised = ", ".join(str(size) for size in sizes.sizes[sizes.unsafe].tolist())
        words.append(f"Households of {recognised} members are recognised by their size alone.")
    rows = tuple(
        (str(size), count(number), f"{risk:.4g}")
        for size, number, risk in zip(
            sizes.sizes.tolist(), sizes.households.tolist(), sizes.risks.tolist(), strict=True
        )
    )
    table = Table(("members", "households", "risk by size alone"), rows)
    return Section("Households", tuple(words), (table,))


def special_uniques_section(found: SpecialUniquesSection, whole: FileAssessment) -> Section:
    """SUDA and DIS."""
    keys = whole.facts.keys
    words = [
        f"{plural(found.units, 'unit is', 'units are')} unique on {found.maximum_size} variables or fewer "
        "(SUDA). Who is unique on few variables is likely to be unique in the population."
    ]
    if found.dis is not None:
        words.append(
            f"DIS: a unique match with the file is correct with probability {found.dis:.4g} "
            f"({one_in(found.dis)})."
        )
    if found.largest_dis_suda is not None:
        words.append(
            f"DIS-SUDA shares that out by the scores: {plural(sum(found.dis_suda[2:]), 'unit')} above 0.1, "
            f"{count(sum(found.dis_suda[6:]))} above 0.5, the largest {found.largest_dis_suda:.4g}. Scores "
            "rank the units of one file; they are no probabilities, and not for comparing files."
        )
    smallest = Table(
        ("variables that are enough", "units"),
        tuple((str(size), count(number)) for size, number in enumerate(found.smallest, start=1)),
    )
    bars = Bars(
        "Share of all SUDA scores from combinations with the variable",
        tuple(one.key.title for one in keys),
        found.variables,
        tuple(percent(share) for share in found.variables),
    )
    values = Table(
        ("value", "units", "share of scores"),
        tuple(
            (
                _value(whole, one.key, one.code),
                count(one.units),
                percent(one.share),
            )
            for one in found.values
        ),
        "Values with the largest share, of those that ten units or more have.",
    )
    return Section(
        "Special uniques", tuple(words), (smallest, bars, values) if found.values else (smallest, bars)
    )


def sensitive_section(variables: tuple[SensitiveVariable, ...], facts: FileFacts, cells: KeyCells) -> Section:
    """k-anonymity, l-diversity and t-closeness."""
    words = (
        "Who finds somebody's key learns a sensitive value where all units of the key have the same one. "
        f"Every key has {plural(cells.smallest, 'unit')} or more (k-anonymity). l-diversity counts the "
        "values within a key: as they are, by their entropy, or so that the most frequent one has less than "
        "twice what is left from the l-th on; t-closeness says how far their shares are from the file's.",
        "All of these take the intruder to know that the person is in the file, and do not see that two "
        "values mean nearly the same: with a small sample they ask too much, with values alike too little.",
    )
    rows = tuple(
        (
            one.name,
            f"{count(one.alike)} ({percent(one.alike / facts.units)})",
            count(one.distinct),
            f"{one.smallest_entropy:.2f}",
            count(one.recursive),
            f"{one.farthest:.3f}",
        )
        for one in variables
    )
    headers = ("sensitive variable", "units told by their key", "distinct l", "entropy l", "recursive l", "t")
    return Section("Sensitive variables", words, (Table(headers, rows),))


def not_computed_section(missing: tuple[NotComputed, ...]) -> Section:
    """What could not be computed, and why."""
    rows = tuple((one.what, one.reason) for one in missing)
    return Section("Not computed", (), (Table(("measure", "why"), rows, prose=True),))


def _value(found: FileAssessment, key: int, code: int) -> str:
    variable = found.facts.keys[key].key
    name = variable.categories[code] if code < len(variable.categories) else str(code)
    return f"{variable.title} = {name}"


def _psi(risk: FileRisk) -> str:
    return percent(risk.reidentification_rate)
