"""The assessment of files, and the individual risk of keys, between messages and the methods' shapes."""

from collections.abc import Iterable
from typing import Any

from sdcgate.methods.risk.file_level import FileRisk
from sdcgate.methods.risk.file_numbers import NumbersSection, NumberWidth
from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.file_report import (
    FileAssessment,
    FileFacts,
    HouseholdSection,
    IndividualSection,
    LogLinearSection,
    SmoothingSection,
    SpecialUniquesSection,
    ThresholdSection,
    UniquenessSection,
)
from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.recommendation import Recommendation
from sdcgate.methods.risk.risk_factors import Factors
from sdcgate.methods.risk.threshold import ClassMinimum, Identifying
from sdcgate.wire.file_release import add_release
from sdcgate.wire.problems import FieldProblem, InvalidMessageError
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

MISSING = {
    pb.MISSING_VALUES_UNSPECIFIED: Missing.CATEGORY,
    pb.MISSING_VALUES_CATEGORY: Missing.CATEGORY,
    pb.MISSING_VALUES_WILDCARD: Missing.WILDCARD,
}
CLASSES = {
    pb.IDENTIFYING_CLASS_YES: Identifying.YES,
    pb.IDENTIFYING_CLASS_VERY: Identifying.VERY,
    pb.IDENTIFYING_CLASS_EXTREMELY: Identifying.EXTREMELY,
}
LARGEST_TABLE = 2_000_000
"""Possible keys of a log-linear model that is fitted for a caller who waits: seconds, not minutes."""
MOST_PAIRS = 2.5e9
"""Pairs of records with the same key whose numbers are compared meanwhile."""
MOST_VISITS = 2e9
"""Cells that each fit may visit meanwhile: some seconds."""


def factors_from_message(message: pb.MicrodataOptions | pb.EstimateIndividualRiskRequest) -> Factors:
    """The factors d, e and t; 1 where they were not given."""
    return Factors(*(given(message, name, 1.0) for name in ("quality", "coverage", "attempt")))


def options_from_message(message: pb.MicrodataOptions) -> Options:
    """What was chosen, of a message whose constraints hold."""
    usual = Options()
    return Options(
        missing=MISSING[message.missing],
        factors=factors_from_message(message),
        risk_threshold=given(message, "risk_threshold", usual.risk_threshold),
        target_rate=given(message, "target_rate", None),
        minimum=given(message, "minimum", usual.minimum),
        minimums=tuple(message.minimums),
        class_minimums=tuple(
            ClassMinimum(tuple(CLASSES[wanted] for wanted in one.classes), one.minimum)
            for one in message.class_minimums
        ),
        dimensions=given(message, "dimensions", usual.dimensions),
        suda_size=given(message, "suda_size", None),
        largest_table=LARGEST_TABLE,
        most_visits=MOST_VISITS,
        most_pairs=MOST_PAIRS,
        neighbours=given(message, "neighbours", usual.neighbours),
        ordinal=tuple(message.ordinal),
        models=tuple(
            tuple(tuple(interaction.keys) for interaction in model.interactions) for model in message.models
        ),
    )


def check_key_names(message: pb.MicrodataOptions) -> None:
    """Raises InvalidMessageError for each name that should be a key variable and is none."""
    named = [(f"options.ordinal[{place}]", name) for place, name in enumerate(message.ordinal)]
    problems = []
    for at, model in enumerate(message.models):
        for place, interaction in enumerate(model.interactions):
            path = f"options.models[{at}].interactions[{place}]"
            named += [(f"{path}.keys[{number}]", name) for number, name in enumerate(interaction.keys)]
            if len(set(interaction.keys)) < len(interaction.keys):
                problems.append(FieldProblem(f"{path}.keys", "a key variable stands more than once"))
    known = ", ".join(message.keys)
    problems += [
        FieldProblem(path, f"{name!r} is no key variable; they are {known}")
        for path, name in named
        if name not in message.keys
    ]
    if problems:
        raise InvalidMessageError(problems)


def number_widths(numbers: Iterable[pb.NumberWidth], path: str) -> tuple[NumberWidth, ...]:
    """The numbers that identify; `path` is where they stand.

    Raises InvalidMessageError where one has no width, or two.
    """
    problems, found = [], []
    for position, one in enumerate(numbers):
        relative = one.HasField("relative")
        if relative == one.HasField("width"):
            problems.append(FieldProblem(f"{path}[{position}]", "give a width or a relative one"))
        found.append(NumberWidth(one.column, one.relative if relative else one.width, relative))
    if problems:
        raise InvalidMessageError(problems)
    return tuple(found)


def given(message: Any, name: str, otherwise: Any) -> Any:
    """The value of an optional field, or what holds where it is not set."""
    return getattr(message, name) if message.HasField(name) else otherwise


def assessment_to_message(found: FileAssessment) -> pb.AssessMicrodataResponse:
    """The report as a message."""
    cells = found.key_cells
    message = pb.AssessMicrodataResponse(
        file=_file(found.facts),
        key_cells=pb.KeyCells(
            cells=cells.cells,
            sample_uniques=cells.sample_uniques,
            below_three=cells.below_three,
            below_five=cells.below_five,
            sizes=cells.sizes,
            smallest=cells.smallest,
        ),
        individual=_individual(found.individual) if found.individual is not None else None,
        uniqueness=_uniqueness(found.uniqueness) if found.uniqueness is not None else None,
        log_linear=[_log_linear(one) for one in found.log_linear],
        households=_households(found.households) if found.households is not None else None,
        threshold_rule=_threshold(found.threshold) if found.threshold is not None else None,
        special_uniques=_special(found.special_uniques) if found.special_uniques is not None else None,
        not_computed=[pb.NotComputed(what=one.what, reason=one.reason) for one in found.not_computed],
        recommended=_recommended(found.recommended) if found.recommended is not None else None,
        smoothed=_smoothed(found.smoothing) if found.smoothing is not None else None,
        warnings=found.warnings,
        numbers=numbers_to_message(found.numbers) if found.numbers is not None else None,
        sensitive=[
            pb.SensitiveVariable(
                name=one.name,
                alike=one.alike,
                smallest_entropy=one.smallest_entropy,
                farthest=one.farthest,
                distinct=one.distinct,
                recursive=one.recursive,
            )
            for one in found.sensitive
        ],
    )
    add_release(message, found)
    return message


def file_risk_to_message(risk: FileRisk) -> pb.FileRisk:
    """The risk of a file as a message."""
    return pb.FileRisk(
        units=risk.units,
        key_cells=risk.key_cells,
        sample_uniques=risk.sample_uniques,
        expected_matches=risk.expected_matches,
        expected_matches_uniques=risk.expected_matches_uniques,
        reidentification_rate=risk.reidentification_rate,
        uniques_share=risk.uniques_share,
        uniques_rate=risk.uniques_rate,
        maximum=risk.maximum,
    )


def _file(facts: FileFacts) -> pb.FileFacts:
    return pb.FileFacts(
        records=facts.records,
        units=facts.units,
        most_records=facts.most_records,
        fraction=facts.fraction,
        population=facts.population,
        keys=[
            pb.KeyVariable(
                name=one.key.name,
                wave=one.key.wave,
                categories=one.categories,
                missing=one.missing,
                uniques_without=one.uniques_without,
            )
            for one in facts.keys
        ],
    )


def _individual(found: IndividualSection) -> pb.IndividualRisks:
    return pb.IndividualRisks(
        risk=file_risk_to_message(found.risk),
        edges=found.histogram.edges.tolist(),
        units=found.histogram.units.tolist(),
        threshold=found.threshold.risk,
        unsafe_units=found.threshold.unsafe_units,
        rate=found.threshold.rate,
        target=None
        if found.target is None
        else pb.TargetThreshold(
            rate=found.target.rate,
            threshold=found.target.risk,
            unsafe_units=found.target.unsafe_units,
        ),
    )


def _uniqueness(found: UniquenessSection) -> pb.Uniqueness:
    by_design = found.theta_u
    return pb.Uniqueness(
        theta_u=None if by_design is None else by_design.value,
        theta_u_error=None if by_design is None else by_design.standard_error,
        models=[
            pb.UniquenessModel(
                model=one.model,
                theta_u=one.theta_u,
                theta_s=one.theta_s,
                pr_pu_given_su=one.pr_pu_given_su,
                pr_pu=one.pr_pu,
                population_uniques=one.population_uniques,
                expected_sizes=one.expected_sizes,
                log_likelihood=one.log_likelihood,
            )
            for one in found.models
        ],
    )


def _log_linear(found: LogLinearSection) -> pb.LogLinearRisk:
    lower, upper = found.interval
    return pb.LogLinearRisk(
        model=found.name,
        tau_1=found.tau_1,
        tau_2=found.tau_2,
        lower=lower,
        upper=upper,
        tau=found.tau,
        criterion_1=found.criteria.standardised_1,
        criterion_2=found.criteria.standardised_2,
        pseudo=found.pseudo,
        converged=found.converged,
        interactions=[pb.Interaction(keys=one) for one in found.generators if len(one) > 1],
        ended=found.ended,
    )


def _smoothed(found: SmoothingSection) -> pb.SmoothedRisk:
    return pb.SmoothedRisk(
        keys=found.variables,
        bandwidth=found.bandwidth,
        dispersion=found.dispersion,
        tau_1=found.tau_1,
        tau_2=found.tau_2,
        tau=found.tau,
        expected_uniques=found.expected_uniques,
        standardised=found.standardised,
    )


def numbers_to_message(found: NumbersSection) -> pb.NumbersRisk:
    """Records that stand alone with their numbers as a message."""
    return pb.NumbersRisk(
        neighbours=found.minimum,
        isolated=found.isolated,
        outside=found.outside,
        largest=found.largest,
    )


def _recommended(found: Recommendation) -> pb.RecommendedEstimate:
    lower, upper = found.interval
    return pb.RecommendedEstimate(
        tau_2=found.tau_2,
        lower=lower,
        upper=upper,
        doubtful=found.doubtful,
        says=found.says,
        others=[
            pb.OtherEstimate(
                name=one.name,
                tau_2=one.tau_2,
                criterion=None if one.criterion is None else one.criterion.standardised_2,
                converged=one.converged,
            )
            for one in found.candidates
        ],
    )


def _households(found: HouseholdSection) -> pb.HouseholdRisk:
    sizes = found.sizes
    return pb.HouseholdRisk(
        households=found.risk.households,
        largest=found.largest,
        expected_matches=found.risk.expected_matches,
        reidentification_rate=found.risk.reidentification_rate,
        maximum=found.risk.maximum,
        unsafe_households=found.unsafe_households,
        unsafe_units=found.unsafe_units,
        recognised_sizes=[] if sizes is None else sizes.sizes[sizes.unsafe].tolist(),
    )


def _threshold(found: ThresholdSection) -> pb.ThresholdRule:
    return pb.ThresholdRule(
        minimum=max(found.minimums),
        minimums=found.minimums,
        class_minimums=[
            pb.ClassMinimum(
                classes=[kind for wanted in one.classes for kind, own in CLASSES.items() if own is wanted],
                minimum=one.minimum,
            )
            for one in found.class_minimums
        ],
        dimensions=len(found.minimums),
        combinations=found.looked_at,
        unsafe_units=found.unsafe_units,
        worst=[
            pb.UnsafeCombination(
                keys=one.keys,
                cells=one.cells,
                unsafe_cells=one.unsafe_cells,
                unsafe_units=one.unsafe_units,
            )
            for one in found.worst
        ],
    )


def _special(found: SpecialUniquesSection) -> pb.SpecialUniques:
    return pb.SpecialUniques(
        maximum_size=found.maximum_size,
        units=found.units,
        smallest=found.smallest,
        variables=found.variables,
        dis=found.dis,
        dis_suda=found.dis_suda,
        largest_dis_suda=found.largest_dis_suda,
    )
