"""The way of a model query: its tables judged as tables are, then fitted, checked and decided."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.facility.charges import cells_told
from sdcgate.facility.coded_measures import CodedMeasures
from sdcgate.facility.deciding_variables import DecidingVariables
from sdcgate.facility.errors import Unavailable
from sdcgate.facility.few_valued import FewValued
from sdcgate.facility.findings import consequence_of
from sdcgate.facility.fitting_room import FittingRoom, nothing
from sdcgate.facility.idle_columns import IdleColumns
from sdcgate.facility.judging import Computation, Judge
from sdcgate.facility.knowledge import NOTHING_DRAWN, Drawn, Knowledge, ReleasedTable
from sdcgate.facility.left_out import without_some
from sdcgate.facility.model_equations import equations_of
from sdcgate.facility.model_fitting import Fitted, NotEstimable, Task, fit
from sdcgate.facility.model_plan import ImpliedTable, Level, ModelPlan, implied_tables
from sdcgate.facility.model_powers import audited_categories, audited_powers
from sdcgate.facility.model_products import told_products
from sdcgate.facility.model_records import Population, read_population
from sdcgate.facility.model_suggestions import model_suggestion
from sdcgate.facility.model_sums import fit_by_sums
from sdcgate.facility.model_tables import (
    JudgedTable,
    choose_references,
    codes_taken_together,
    codes_told,
    compute_tables,
    hidden_apart,
    judge_tables,
    only_differencing,
    population_of,
    with_judged_table,
    withheld_columns,
    withholds_all,
)
from sdcgate.facility.model_vocabulary import vocabulary
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.pace import still_time
from sdcgate.facility.plan import Plan
from sdcgate.facility.population_moments import PopulationMoments
from sdcgate.facility.ports import RiskService
from sdcgate.facility.refusals import Refusal, kind_refused, names_refused, refuse_without_data
from sdcgate.facility.released_equations import ReleasedEquations, too_many
from sdcgate.facility.statistic_power_audit import UNPROVED
from sdcgate.facility.told_by_factors import told_by_factors
from sdcgate.facility.watching import Stage, watcher
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.model_checks import ModelFinding, assess_model
from sdcgate.methods.outputs.problems import ModelProblem
from sdcgate.methods.rules import Consequence, ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

SAME_MAXIMUM = 1e-3
"""So far below the largest logarithm of the likelihood a search may stop; usual ones stop within 1e-4."""
OF_SIZE = frozenset({ReasonCode.MAXIMUM_CELLS, ReasonCode.MAXIMUM_DIMENSIONS})
"""Reasons against a table whose dimensions nobody asked for as such."""


@dataclass(slots=True, eq=False)
class ModelInHand:
    """A model query on its way: what is computed once, whatever the head of the ledger."""

    plan: ModelPlan
    tables: list[tuple[ImpliedTable, Computation]] = field(repr=False)
    people: Population | None = field(default=None, repr=False)
    fits: dict[Hashable, Fitted | NotEstimable] = field(default_factory=dict, repr=False)
    """By the references and codes of its factors."""
    coding: "_Coding | None" = field(default=None, repr=False)
    """That of the latest fit."""
    coarser: dict[bytes, "ModelInHand"] = field(default_factory=dict, repr=False)
    """Models that were tried in its place, by their canonical requests."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutcome:
    """What may be decided about a model at one head of the ledger."""

    consequence: Consequence | None
    """None: released as asked or protected; otherwise refer or refuse."""
    codes: tuple[ReasonCode, ...]
    outcomes: tuple[Outcome, ...] = field(repr=False)
    """Of its tables."""
    about: ImpliedTable | None = None
    """The table that it is held for."""
    fitted: Fitted | None = field(default=None, repr=False)
    withheld: BoolArray | None = field(default=None, repr=False)
    """Coefficients of the estimate that are, shape (parameters,)."""
    not_estimated: tuple[str, ...] = field(default=(), repr=False)
    """Names of withheld coefficients of codes that are fitted as one with another, which stands for them."""
    not_estimable: tuple[ModelProblem, ...] = ()
    """Why the model cannot be estimated; nothing of records or codes."""
    findings: tuple[ModelFinding, ...] = field(default=(), repr=False)
    left_out: bool = False
    """Whether some units were left out, so that nothing of the tables is known exactly."""
    drawn: Drawn = NOTHING_DRAWN
    """What is known then beside other models that leave without the same units."""
    powers: tuple[ReleasedTable, ...] = field(default=(), repr=False)
    """The sums of powers that become known."""
    equations: tuple[ReleasedEquations, ...] = field(default=(), repr=False)
    """What becomes known of the outcome's values."""
    together: bool = False
    """Whether it is held for what other models told beside it."""
    before_fit: bool = False
    """Whether it is held for its tables alone, so that nothing depends on a fit."""

    @property
    def held_fit(self) -> tuple[ReleasedTable, ...]:
        """The tables of a model that is held for what its fit is like: that tells of its people."""
        if self.consequence is None or self.about is not None or self.before_fit:
            return ()
        return tuple(part for table in self.outcomes for part in table.released)

    @property
    def known_tables(self) -> tuple[tuple[ReleasedTable, ...], ...]:
        """What becomes known by its answer, table after table; nothing where it is held.

        A refusal names a rule that fails and has no figure: what is asked of the same people afterwards must
        not be refused as though it had.
        """
        if self.consequence is not None:
            return ()
        tables = [table.released for table in self.outcomes if table.released]
        if tables:
            # They are of boxes of which the first table has the total.
            tables[0] = (*tables[0], *self.powers)
        return tuple(tables)


@dataclass(frozen=True, slots=True)
class _Coding:
    """How the factors of a model become columns."""

    references: dict[Level, str]
    codes: dict[Level, tuple[str, ...]]
    together: dict[Level, tuple[str, ...]]
    """Codes that are fitted as one."""

    def key(self) -> Hashable:
        """Equal for equal codings."""
        return tuple(tuple(sorted(chosen.items())) for chosen in (self.references, self.codes, self.together))


class ModelWay:
    """Steps 2 to 7 for models. Stateless: what is known comes in, what may be decided goes out."""

    def __init__(
        self,
        engine: Engine,
        judge: Judge,
        whole: Judge,
        risk: RiskService,
        room: FittingRoom,
        coded: CodedMeasures,
    ) -> None:
        """`whole` is a judge that refuses what would have to be protected."""
        self._engine = engine
        self._idle = IdleColumns(engine)
        self._coded = coded
        self._deciding = DecidingVariables(engine)
        self._few_valued = FewValued(engine)
        self._moments = PopulationMoments(engine)
        self._judge = judge
        self._whole = whole
        self._risk = risk
        self._room = room

    def warm_up(self) -> None:
        """Start the processes in which models are fitted."""
        with suppress(Unavailable):
            self._room.run(nothing, seconds=self._room.limits.seconds)

    def close(self) -> None:
        """End the processes in which models are fitted."""
        self._room.close()

    def refuse_without_data(self, plan: ModelPlan) -> Refusal | None:
        """Judge a model by the policy alone; None where nothing speaks against it."""
        refused = kind_refused("Models", plan.kind, plan.policy.models.kinds)
        if refused is not None:
            return refused
        names = names_refused(plan.everything)
        if names:
            return Refusal(Consequence.REFUSE, tuple(names), ())
        for table in _asked_tables(plan):
            refusal = refuse_without_data(table)
            if refusal is not None:
                return Refusal(refusal.consequence, _of_model(refusal.reasons, plan), ())
        known = self._idle.reasons(plan.dataset, plan.valid, plan.levels) or self._deciding.reasons(plan)
        if known:
            return Refusal(Consequence.REFUSE, tuple(known), ())
        return self._coded.refusal(plan.dataset, plan.policy, plan.valid)

    def compute(self, plan: ModelPlan) -> ModelInHand:
        """Step 3: the tables that the model implies."""
        return ModelInHand(plan, compute_tables(self._engine, self._judge, plan))

    def judge(
        self, hand: ModelInHand, known: Knowledge, left: Callable[[], float], approved: bool = False
    ) -> ModelOutcome:
        """Steps 4 to 7 at one head: the tables first, so that a fit tells of no table that is held."""
        known = known.with_fits()
        outcomes, judged = judge_tables(self._judge, self._whole, hand.tables, known, left, approved)
        last = outcomes[-1]
        if last.consequence is not None:
            about = hand.tables[len(outcomes) - 1][0]
            held = ModelOutcome(last.consequence, last.codes, tuple(outcomes), about)
            if last.judgement is not None and last.judgement.findings:
                return held  # a rule speaks against the table itself, whatever else has left
            return self._without_some(hand, known, left) or held
        outcome = self._judged(hand, outcomes, judged, left, approved)
        if outcome.consequence is None:
            outcome = _beside_others(hand.plan, outcome, known, approved)
        return outcome if outcome.consequence is not None else self._audited(hand, outcome, known, left)

    def _audited(
        self, hand: ModelInHand, outcome: ModelOutcome, known: Knowledge, left: Callable[[], float]
    ) -> ModelOutcome:
        """The model, unless its sums of powers tell too much, beside all that has left."""
        found = self._with_powers(hand, outcome, known, left)
        beside = ReasonCode.DIFFERENCING in found.codes
        return (self._without_some(hand, known, left) if beside else None) or found

    def _with_powers(
        self, hand: ModelInHand, outcome: ModelOutcome, known: Knowledge, left: Callable[[], float]
    ) -> ModelOutcome:
        """The model with the sums of powers that become known, or held for them."""
        outcomes = outcome.outcomes
        try:
            # What was fitted by sums is audited by sums, too, but for those of functions.
            people = self._people(hand) if told_products(hand.plan).functions else hand.people
            weighted = self._judge.weights_tell(hand.plan.dataset, hand.plan.weighted)
            with watcher().stage(Stage.PROOF):
                why, powers = audited_powers(
                    self._engine,
                    self._moments,
                    hand.plan,
                    people,
                    outcomes,
                    known,
                    still_time(left),
                    left,
                    weighted,
                )
                if why is None:
                    why, more = audited_categories(
                        self._engine,
                        hand.plan,
                        people,
                        hand.tables,
                        outcomes,
                        known.grown(powers),
                        still_time(left),
                        left,
                        weighted,
                    )
                    powers = (*powers, *more)
        except UNPROVED:
            return ModelOutcome(Consequence.REFER, (ReasonCode.UNPROVED,), outcomes)
        if why is None:
            return replace(outcome, powers=powers)
        return ModelOutcome(Consequence.REFUSE, (why,), outcomes, fitted=outcome.fitted)

    def _without_some(
        self, hand: ModelInHand, known: Knowledge, left: Callable[[], float]
    ) -> ModelOutcome | None:
        """The model with some units left out, where only earlier answers speak against all of them."""
        plan = hand.plan
        share, rule = plan.policy.models.left_out_share, plan.policy.rules.minimum_units
        if not share or rule is None:
            return None
        tables = [only_differencing(self._whole, table, known, left) for table in hand.tables]
        if None in tables:
            return None
        dimensions = [implied.plan.dimensions for implied, _ in hand.tables]
        people = without_some(self._people(hand), dimensions, share, rule.units)
        if people is None:
            return None
        part = ModelInHand(plan, hand.tables, people)
        of_terms = [table for table in tables if table is not None and not table.implied.crossed]
        outcome = self._judged(part, [], of_terms, left, False)
        drawn = self._drawn(hand, outcome, known, left) if outcome.consequence is None else None
        return None if drawn is None else replace(outcome, left_out=True, drawn=drawn)

    def _drawn(
        self, hand: ModelInHand, outcome: ModelOutcome, known: Knowledge, left: Callable[[], float]
    ) -> Drawn | None:
        """What a model tells that leaves without some units; None where it may not, beside others like it.

        Models of the same people leave without the same units: beside each other they tell what they would
        tell of all of them, so they are judged as though all of them had left, and nothing else had.
        """
        same = known.of_drawn(population_of(hand.tables[0]))
        outcomes, _ = judge_tables(self._whole, self._whole, hand.tables, same, left, False)
        if outcomes[-1].consequence is not None:
            return None
        of_all = _beside_others(hand.plan, replace(outcome, outcomes=tuple(outcomes)), same, False)
        if of_all.consequence is None:
            of_all = self._with_powers(hand, of_all, same, left)
        if of_all.consequence is not None:
            return None
        return Drawn(tuple(part for table in of_all.known_tables for part in table), of_all.equations)

    def _judged(
        self,
        hand: ModelInHand,
        outcomes: list[Outcome],
        judged: list[JudgedTable],
        left: Callable[[], float],
        approved: bool,
    ) -> ModelOutcome:
        """Steps 5 to 7 for a model whose tables may leave."""
        named = {(f.variable, f.level): f.reference for f in hand.plan.factors if f.reference}
        references = choose_references(judged, named)
        together = codes_taken_together(judged, references)
        if hidden_apart(judged, together):
            codes = (ReasonCode.MINIMUM_UNITS,)
            return ModelOutcome(Consequence.REFUSE, codes, tuple(outcomes), before_fit=True)
        fitted = self._fitted(hand, _Coding(references, codes_told(judged), together), left)
        if isinstance(fitted, NotEstimable):
            if told_by_factors(self._engine, hand.plan, still_time(left)):
                return ModelOutcome(Consequence.REFUSE, (ReasonCode.MINIMUM_UNITS,), tuple(outcomes))
            if fitted.separated and _discloses_groups(hand.plan):
                return ModelOutcome(Consequence.REFUSE, (ReasonCode.OUTCOME_CLASS,), tuple(outcomes))
            codes = (ReasonCode.NOT_ESTIMABLE,)
            return ModelOutcome(Consequence.REFUSE, codes, tuple(outcomes), not_estimable=fitted.problems)
        return self._checked(hand.plan, fitted, judged, references, outcomes, left, approved)

    def _fitted(self, hand: ModelInHand, coding: _Coding, left: Callable[[], float]) -> Fitted | NotEstimable:
        key, hand.coding = coding.key(), coding
        if key not in hand.fits:
            hand.fits[key] = self._by_sums(hand, coding, left) or self._by_records(hand, coding, left)
        return hand.fits[key]

    def _by_sums(
        self, hand: ModelInHand, coding: _Coding, left: Callable[[], float]
    ) -> Fitted | NotEstimable | None:
        """The fit where the data lie, unless somebody is left out or codes are fitted as one."""
        plan, engine = hand.plan, self._engine
        if hand.people is not None or coding.together or not engine.sums_rather_than_records(plan.dataset):
            return None
        ends = monotonic() + min(left(), self._room.limits.seconds)
        rules = plan.policy.models.rules
        with watcher().stage(Stage.FIT):
            plan = replace(plan, options=self._options(plan))
            return fit_by_sums(
                engine,
                plan,
                coding.references,
                coding.codes,
                rules.largest,
                lambda: ends - monotonic(),
                rules.enough_apart,
            )

    def usually_fitted(
        self, hand: ModelInHand, outcome: ModelOutcome, left: Callable[[], float]
    ) -> ModelOutcome | None:
        """A mixed model as statsmodels' own search has it, which jobs print; None where that is another one.

        It stops before the largest likelihood, where we go on, so that right figures of both differ. One that
        stops far from it tells of other sums than those that are judged.
        """
        of_all = outcome.consequence is None and outcome.fitted is not None and not outcome.left_out
        if not of_all or hand.plan.options.family is not Family.MIXED or hand.coding is None:
            return None
        fitted = self._by_records(hand, hand.coding, left, usual_search=True)
        if isinstance(fitted, NotEstimable) or outcome.fitted is None:
            return None
        largest, there = (one.estimate.fit["log_likelihood"] for one in (outcome.fitted, fitted))
        return replace(outcome, fitted=fitted) if largest - there < SAME_MAXIMUM else None

    def _by_records(
        self, hand: ModelInHand, coding: _Coding, left: Callable[[], float], usual_search: bool = False
    ) -> Fitted | NotEstimable:
        plan = hand.plan
        task = Task(
            replace(self._options(plan), window=_window(plan), usual_search=usual_search),
            plan.formula,
            plan.instruments,
            vocabulary(plan.dataset),
            coding.references,
            coding.codes,
            coding.together,
            self._people(hand),
            plan.policy.models.rules.largest,
        )
        with watcher().stage(Stage.FIT):
            return self._room.run(fit, task, seconds=left())

    def _options(self, plan: ModelPlan) -> FitOptions:
        """What is fitted, with what only the whole dataset says of the outcome. Raises ComputationFailed."""
        return replace(plan.options, outcome_of_classes=self._few_valued.outcome(plan))

    def _people(self, hand: ModelInHand) -> Population:
        if hand.people is None:
            with watcher().stage(Stage.COMPUTE):
                hand.people = read_population(self._engine, hand.plan)
        return hand.people

    def _checked(
        self,
        plan: ModelPlan,
        fitted: Fitted,
        judged: list[JudgedTable],
        references: dict[Level, str],
        outcomes: list[Outcome],
        left: Callable[[], float],
        approved: bool,
    ) -> ModelOutcome:
        """By the rules on models, of the risk service and our own: its silence releases nothing."""
        rules, facts = plan.policy.models.rules, with_judged_table(plan, fitted.facts, judged)
        with watcher().stage(Stage.ASSESS):
            said = self._risk.assess_model(facts, rules, left())
        findings = tuple(dict.fromkeys((*said, *assess_model(facts, rules))))
        hidden = withheld_columns(fitted.design.columns, judged, references)
        by_name = dict(zip(fitted.design.names, hidden.tolist(), strict=True))
        estimated = set(fitted.estimate.names)
        # An equation for each class has the columns anew; thresholds are of all categories together.
        withheld = np.array([by_name.get(name, False) for name in fitted.estimate.names], dtype=np.bool_)
        worst = Consequence.PROTECT
        for finding in findings:
            withheld[list(finding.columns)] |= finding.consequence is Consequence.PROTECT
            worst = max(worst, consequence_of(finding))
        codes = tuple(sorted({finding.rule for finding in findings if consequence_of(finding) is worst}))
        constant = fitted.design.constant
        if (constant is not None and hidden[constant]) or any(map(withholds_all, judged)):
            worst, codes = Consequence.REFUSE, (ReasonCode.MINIMUM_UNITS,)
        held = worst is Consequence.REFUSE or (worst is Consequence.REFER and not approved)
        return ModelOutcome(
            worst if held else None,
            codes if held else (),
            tuple(outcomes),
            fitted=fitted,
            withheld=withheld,
            not_estimated=tuple(name for name, no in by_name.items() if no and name not in estimated),
            findings=findings,
        )


def _discloses_groups(plan: ModelPlan) -> bool:
    """Whether it may do harm to be told that the terms foretell the outcome of some people completely.

    If all of the ill are younger than any of the healthy, whoever is as young as most of them is ill: that is
    not told apart from classes that are small, or nearly foretold.
    """
    disclosing = plan.policy.rules.group_disclosure is not None
    return disclosing and any(plan.dataset.sensitive(variable) for variable, _ in plan.levels)


def _beside_others(plan: ModelPlan, outcome: ModelOutcome, known: Knowledge, approved: bool) -> ModelOutcome:
    """The model, unless it and those that left tell too many equations about values of its outcome."""
    rule = plan.policy.models.rules.parameters
    if outcome.fitted is None or rule is None:
        return outcome
    new = equations_of(plan, outcome.fitted, outcome.outcomes)
    waived = approved and rule.consequence is Consequence.REFER
    if waived or not any(too_many(rule, one, known.equations) for one in new):
        return replace(outcome, equations=new)
    held, codes = max(rule.consequence, Consequence.REFER), (ReasonCode.SATURATED,)
    return ModelOutcome(held, codes, outcome.outcomes, fitted=outcome.fitted, together=True)


def _of_model(reasons: Sequence[pb.Reason], plan: ModelPlan) -> tuple[pb.Reason, ...]:
    """Reasons against a table that a model implies, with what can be done with the model."""
    found = []
    for one in reasons:
        told = pb.Reason()
        told.CopyFrom(one)
        code = ReasonCode(one.code)
        told.suggestion = model_suggestion(code, plan) if code in OF_SIZE else one.suggestion
        found.append(told)
    return tuple(found)


def cells_of(plan: ModelPlan) -> int:
    """Cells of the tables that a model says something of."""
    return sum(map(cells_told, _asked_tables(plan)))


def _window(plan: ModelPlan) -> int:
    """Units that stand behind a quantile: as many as a cell must have."""
    rule = plan.policy.rules.minimum_units
    return rule.units if rule is not None else 1


def _asked_tables(plan: ModelPlan) -> list[Plan]:
    """The tables of a model without the conditions on missing values, which nobody asked for."""
    return [replace(table.plan, filters=plan.filters) for table in implied_tables(plan, ())]
