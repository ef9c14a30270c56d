"""What is done with a file in words: scenarios, tables built from it, its weights, rules for its release."""

from sdcgate.cli.assessment.parts import Bars, Section, Table, count, one_in, percent, plural
from sdcgate.methods.risk.file_release import RuleSet, WeightsSection, WorstTablesSection
from sdcgate.methods.risk.file_report import FileAssessment, PsuSection
from sdcgate.methods.risk.release_rules import Outcome, RuleFinding
from sdcgate.methods.risk.scenarios import Measure, ScenarioRisk, ScenarioTarget, Together

OUTCOMES = {Outcome.MET: "met", Outcome.VIOLATED: "VIOLATED", Outcome.UNDECIDED: "undecided"}


def release_sections(found: FileAssessment, titles: tuple[str, ...]) -> list[Section]:
    """Those of these sections that the assessment has."""
    sections = []
    if found.scenarios:
        sections.append(scenarios_section(found.scenarios, found.scenarios_together))
    if found.worst_tables is not None:
        sections.append(worst_tables_section(found.worst_tables, titles))
    if found.weights is not None:
        sections.append(weights_section(found.weights))
    if found.strata is not None:
        sections.append(label_section(found.strata, "stratum", "Strata as a channel"))
    if found.psu_labels is not None:
        sections.append(label_section(found.psu_labels, "PSU", "PSUs as a channel"))
    if found.psus is not None:
        sections.append(psu_section(found.psus))
    if found.rule_sets:
        sections.append(rule_sets_section(found.rule_sets))
    return sections


def scenarios_section(found: tuple[ScenarioRisk, ...], all_of_them: Together | None) -> Section:
    """Scenarios side by side."""
    words = [
        "What an intruder is taken to know and to do. Each scenario has its own key, and its figures hold if "
        "he has these variables for everybody without other errors than d tells. A scenario that is not "
        "declared is not judged."
    ]
    if all_of_them is not None:
        words.append(
            "All together, each unit at its largest risk: "
            f"{count(all_of_them.expected_matches)} expected correct matches "
            f"({percent(all_of_them.reidentification_rate)} of the units), the largest risk "
            f"{all_of_them.maximum:.4g}, {plural(all_of_them.unsafe_units, 'unit')} at the threshold of a "
            "scenario."
        )
    figures = Table(
        ("scenario", "keys", "uniques", "matches", "rate", "largest risk", "threshold", "units at it"),
        tuple(
            (
                one.scenario.name,
                count(one.key_cells),
                count(one.sample_uniques),
                count(one.expected_matches),
                percent(one.reidentification_rate),
                f"{one.maximum:.4g}",
                f"{one.threshold:g}",
                count(one.unsafe_units),
            )
            for one in found
        ),
    )
    taken = Table(
        ("scenario", "kind", "knows", "finds", "d, e, t"),
        tuple((one.scenario.name, _kind(one), *_taken(one)) for one in found),
        prose=True,
    )
    worst = Table(
        ("scenario", "the units with the largest risk"),
        tuple((one.scenario.name, _worst(one)) for one in found),
        prose=True,
    )
    bars = Bars(
        "Expected correct matches by scenario",
        tuple(one.scenario.name for one in found),
        tuple(one.expected_matches for one in found),
        tuple(count(one.expected_matches) for one in found),
    )
    return Section("Scenarios", tuple(words), (figures, bars, taken, worst))


def worst_tables_section(found: WorstTablesSection, titles: tuple[str, ...]) -> Section:
    """The worst table beside the file."""
    words = (
        "If tables can be built from the file, the worst of them counts, not the file: the one with the most "
        f"expected correct matches of sample uniques, of {plural(found.looked_at, 'table')} of up to "
        f"{plural(len(found.tables), 'dimension')}. It does not apply where no cell of so few units leaves; "
        "estimated by the design, it is rather too low.",
    )
    rows = [
        (
            " x ".join(titles[key] for key in one.variables),
            count(one.key_cells),
            count(one.sample_uniques),
            count(one.expected_matches),
        )
        for one in found.tables
    ]
    rows.append(("the file: all key variables", "", "", count(found.file_matches)))
    return Section("The worst table", words, (Table(("table", "cells", "uniques", "tau_2"), tuple(rows)),))


def weights_section(found: WeightsSection) -> Section:
    """Weights as a channel."""
    without, with_label = found.risk.without.expected_matches, found.risk.with_label.expected_matches
    compared = (
        "Units with the same weight were compared."
        if found.classes is None
        else f"Nearly all differ, as after calibration: they were compared in {found.classes} classes."
    )
    words = (
        "Where groups were sampled at different rates, the weight tells the group, also where the variable "
        "is left out or coarser. It does not apply where weights are not released, and says nothing about "
        f"variables that the file does not have. There are {plural(found.values, 'different weight')}. "
        f"{compared}",
        f"Who knows everybody's weight beside the key is expected to match {count(with_label)} units "
        f"correctly in place of {count(without)}.",
    )
    return Section("Weights as a channel", words, (_told(found, "weight"),))


def label_section(found: WeightsSection, label: str, title: str) -> Section:
    """Strata or PSUs as a channel."""
    without, with_label = found.risk.without.expected_matches, found.risk.with_label.expected_matches
    words = (
        f"Where the file shows the {label}, as a label or by who has the same one, it tells what its units "
        f"have in common, also what is left out or coarser. There are {count(found.values)} of them. It says "
        "nothing about variables that the file does not have.",
        f"Who knows everybody's {label} beside the key is expected to match {count(with_label)} units "
        f"correctly in place of {count(without)}.",
    )
    return Section(title, words, (_told(found, label),))


def psu_section(found: PsuSection) -> Section:
    """PSUs as a level above units."""
    words = (
        f"{plural(found.psus, 'PSU')} of {count(found.smallest)} to {count(found.largest)} units. Who "
        "matches one unit of a PSU knows the area of all its units, which is a key variable more. It does "
        "not apply where the file does not show which units are of one PSU.",
        f"By the individual risks {count(found.located)} PSUs are expected to be found through one unit at "
        f"least, one of them with probability {found.maximum:.4g}. Where all areas are known, "
        f"{count(found.expected_matches_known)} units are expected to be matched correctly in place of "
        f"{count(found.expected_matches)}.",
    )
    return Section("PSUs", words, ())


def _told(found: WeightsSection, label: str) -> Table:
    rows = tuple(
        (
            one.name,
            percent(one.prediction.share_told),
            percent(one.prediction.guessed),
            percent(one.prediction.guessed_without),
        )
        for one in found.variables
    )
    return Table(("variable", "told for certain", "guessed right", f"without the {label}"), rows)


def rule_sets_section(found: tuple[RuleSet, ...]) -> Section:
    """Rules for the release of the file, a table a set."""
    words = [
        "Statistics Netherlands' rules for microdata about persons, judged by what the descriptor declares. "
        "Only a rule that is met is no reason to hold the file back; undecided says what to declare. They do "
        "not apply to businesses, and they look at three variables together at most."
    ]
    tables = []
    for one in found:
        rules = one.findings.rules
        met = sum(rule.outcome is Outcome.MET for rule in rules)
        words.append(f"For {one.name}: {met} of {len(rules)} rules are met.")
        rows = tuple((str(rule.rule), OUTCOMES[rule.outcome], _rule(rule)) for rule in rules)
        tables.append(Table(("rule", "outcome", "why"), rows, f"For {one.name}", prose=True))
    return Section("Rules for release", tuple(words), tuple(tables))


def _kind(one: ScenarioRisk) -> str:
    return "" if one.scenario.kind is None else one.scenario.kind.value


def _taken(one: ScenarioRisk) -> tuple[str, str, str]:
    """What the intruder is taken to know, to find, and with which probabilities."""
    factors = one.scenario.factors
    known = ", ".join(key.title for key in one.keys)
    if one.measure is Measure.RESPONSE:
        known += "; who took part"
    finds = "households" if one.scenario.target is ScenarioTarget.HOUSEHOLD else "persons"
    return known, finds, f"{factors.quality:g}, {factors.coverage:g}, {factors.attempt:g}"


def _worst(one: ScenarioRisk) -> str:
    """The worst group in words; values are not told."""
    worst = one.worst
    text = f"{plural(worst.units, 'unit')} with {plural(worst.key_cells, 'key')}: {one_in(one.maximum)}"
    text += f"; the rarest key has {plural(worst.frequency, 'unit')} of the file"
    if worst.population is not None and one.measure is Measure.POPULATION:
        text += f" and about {count(worst.population)} of the population"
    if one.unsafe_households is not None:
        text += f"; {plural(one.unsafe_households, 'household')} at the threshold"
    if len(worst.first_records):
        text += f"; records {', '.join(str(number) for number in worst.first_records.tolist())}"
    return text


def _rule(finding: RuleFinding) -> str:
    return f"{finding.requirement} {finding.explanation}"
