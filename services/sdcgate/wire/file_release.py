"""Scenarios, worst tables, weights and rule sets of a file's assessment as messages."""

from dataclasses import asdict

from sdcgate.methods.risk.file_release import RuleSet, WeightsSection, WorstTablesSection
from sdcgate.methods.risk.file_report import FileAssessment
from sdcgate.methods.risk.release_rules import Outcome
from sdcgate.methods.risk.scenarios import ScenarioKind, ScenarioRisk, ScenarioTarget, Together
from sdcgate.methods.risk.several_files import LinkedReleases
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

KINDS = {
    ScenarioKind.NOSY_NEIGHBOUR: pb.SCENARIO_KIND_NOSY_NEIGHBOUR,
    ScenarioKind.INDIVIDUAL_ARCHIVE: pb.SCENARIO_KIND_INDIVIDUAL_ARCHIVE,
    ScenarioKind.HOUSEHOLD_ARCHIVE: pb.SCENARIO_KIND_HOUSEHOLD_ARCHIVE,
}
TARGETS = {
    ScenarioTarget.INDIVIDUAL: pb.SCENARIO_TARGET_INDIVIDUAL,
    ScenarioTarget.HOUSEHOLD: pb.SCENARIO_TARGET_HOUSEHOLD,
}
OUTCOMES = {
    Outcome.MET: pb.RULE_OUTCOME_MET,
    Outcome.VIOLATED: pb.RULE_OUTCOME_VIOLATED,
    Outcome.UNDECIDED: pb.RULE_OUTCOME_UNDECIDED,
}


def add_release(message: pb.AssessMicrodataResponse, found: FileAssessment) -> None:
    """Write these sections of an assessment into its message."""
    message.scenarios.extend(scenario_to_message(one) for one in found.scenarios)
    if found.scenarios_together is not None:
        message.scenarios_together.CopyFrom(together_to_message(found.scenarios_together))
    if found.worst_tables is not None:
        message.worst_tables.CopyFrom(worst_tables_to_message(found.worst_tables))
    if found.weights is not None:
        message.weights.CopyFrom(_weights(found.weights))
    if found.strata is not None:
        message.strata.CopyFrom(_weights(found.strata))
    if found.psu_labels is not None:
        message.psu_labels.CopyFrom(_weights(found.psu_labels))
    if found.psus is not None:
        message.psus.CopyFrom(pb.PsuRisk(**asdict(found.psus)))
    message.rule_sets.extend(rule_set_to_message(one) for one in found.rule_sets)


def scenario_to_message(found: ScenarioRisk) -> pb.ScenarioRisk:
    """The risk under one scenario as a message; numbers of records are left out."""
    scenario, worst = found.scenario, found.worst
    return pb.ScenarioRisk(
        name=scenario.name,
        kind=None if scenario.kind is None else KINDS[scenario.kind],
        keys=[key.title for key in found.keys],
        response_known=scenario.response_known,
        target=TARGETS[scenario.target],
        units=found.units,
        key_cells=found.key_cells,
        sample_uniques=found.sample_uniques,
        expected_matches=found.expected_matches,
        reidentification_rate=found.reidentification_rate,
        maximum=found.maximum,
        threshold=found.threshold,
        unsafe_units=found.unsafe_units,
        unsafe_households=found.unsafe_households,
        worst_units=worst.units,
        worst_key_cells=worst.key_cells,
        worst_frequency=worst.frequency,
        worst_population=worst.population,
    )


def together_to_message(found: Together) -> pb.ScenariosTogether:
    """All scenarios at once as a message."""
    return pb.ScenariosTogether(
        expected_matches=found.expected_matches,
        reidentification_rate=found.reidentification_rate,
        maximum=found.maximum,
        unsafe_units=found.unsafe_units,
    )


def linked_to_message(linked: LinkedReleases) -> pb.LinkedReleases:
    """What two releases tell together as a message."""
    found = linked.found
    risk, links = found.risk, found.links
    message = pb.LinkedReleases(
        other=linked.other,
        shared=[
            pb.SharedVariable(
                name=name,
                codes=one.first_codes,
                other_codes=one.second_codes,
                joint_codes=one.joint_codes,
                coherent=one.coherent,
            )
            for name, one in zip(linked.variables, found.coherence, strict=True)
        ],
        units=linked.units[0],
        other_units=linked.units[1],
        single_links=links.single,
        one_to_one=links.one_to_one,
        expected_links=links.expected,
    )
    if risk is not None:
        message.common_units = risk.common
        message.expected_matches = risk.first.expected_matches
        message.expected_matches_shared = risk.shared.expected_matches
        message.expected_matches_other = risk.second.expected_matches
        message.expected_matches_union = risk.union.expected_matches
        message.expected_matches_through_links = risk.through_links
    return message


def worst_tables_to_message(found: WorstTablesSection) -> pb.WorstTables:
    """The worst tables as a message."""
    return pb.WorstTables(
        tables=[
            pb.WorstTable(
                keys=one.variables,
                expected_matches=one.expected_matches,
                sample_uniques=one.sample_uniques,
                key_cells=one.key_cells,
            )
            for one in found.tables
        ],
        looked_at=found.looked_at,
        file_matches=found.file_matches,
    )


def _weights(found: WeightsSection) -> pb.WeightsChannel:
    return pb.WeightsChannel(
        values=found.values,
        classes=found.classes,
        variables=[
            pb.ToldByWeight(
                variable=one.name,
                share_told=one.prediction.share_told,
                guessed=one.prediction.guessed,
                guessed_without=one.prediction.guessed_without,
            )
            for one in found.variables
        ],
        expected_matches=found.risk.without.expected_matches,
        expected_matches_with_weight=found.risk.with_label.expected_matches,
    )


def rule_set_to_message(found: RuleSet) -> pb.RuleSet:
    """What a set of rules finds as a message; values are left out."""
    return pb.RuleSet(
        name=found.name,
        rules=[
            pb.RuleFinding(
                rule=one.rule,
                requirement=one.requirement,
                outcome=OUTCOMES[one.outcome],
                explanation=one.explanation,
            )
            for one in found.findings.rules
        ],
    )
