"""Steps 3 to 7 of the way: from a plan to what may be decided, at one head of the ledger."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import CellQuery, Computed, Region
from sdcgate.facility.attempt import Attempt, FromVersions
from sdcgate.facility.boxes import expanded_region
from sdcgate.facility.changed_groups import ChangedGroups
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.disclosed_groups import DisclosedGroups, sensitive_codes
from sdcgate.facility.findings import unsafe_cells
from sdcgate.facility.implied_measures import Implied, judge_implied
from sdcgate.facility.inspector import Inspector, region_axis
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.noise import Noise
from sdcgate.facility.occurring import Occurring
from sdcgate.facility.other_versions import (
    Compared,
    OfChanges,
    OtherVersions,
    few_changed,
    few_changed_cells,
    few_changed_differences,
    rules_of_changes,
)
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.pace import still_time
from sdcgate.facility.perturbing import MIXED, Perturbing
from sdcgate.facility.plan import WEIGHTED, Plan
from sdcgate.facility.ports import ProtectionService, RiskService
from sdcgate.facility.protection import empty_codes
from sdcgate.facility.sensitive_filters import Unfiltered, group_disclosing_filters, unfiltered
from sdcgate.facility.watching import Stage, watcher
from sdcgate.facility.weight_classes import weight_classes
from sdcgate.facility.weights import WEIGHTED_PREFIX
from sdcgate.methods.cells import Axis, BoolArray, Facts, IntArray, MeasureFacts, State
from sdcgate.methods.rules import Consequence, Contributions, Finding, ReasonCode, Rules
from sdcgate.methods.tables.assessment import Assessment, Key, assess_table
from sdcgate.methods.tables.released_cells import RANKS
from sdcgate.methods.tables.span import SpanBudgetExceeded

COUNTED = 500
"""Sets of differences whose facts are kept, those asked last: models of one population ask for the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """What the engine computed for a plan: the table, and the key of its individual risk."""

    table: Computed
    key: Key
    base_units: int
    unfiltered: Unfiltered = field(default=Unfiltered(None, ()), repr=False)
    """The cells without the conditions on sensitive variables, where there are any."""


class Judge:
    """Computes and judges plans. Stateless: what is known comes in, what may be decided goes out."""

    def __init__(
        self, engine: Engine, risk: RiskService, protection: ProtectionService, occurring: Occurring
    ) -> None:
        self._engine = engine
        self._risk = risk
        self._protection = protection
        self._occurring = occurring
        self._region_facts = lru_cache(maxsize=COUNTED)(engine.region_facts)

    def weights_tell(self, dataset: Dataset, weighted: bool) -> bool:
        """Whether sums, where they are weighted, less plain ones are sums over people that variables tell.

        They are where variables decide the weights, and these differ.
        """
        return weighted and bool(self._occurring.truth(dataset).decided(WEIGHTED_PREFIX))

    def compute(self, plan: Plan) -> Computation:
        """Step 3: the cells where the data lie; aggregates only."""
        with watcher().stage(Stage.COMPUTE):
            return self._computation(plan, self._engine.compute(plan.dataset, _cells(plan)))

    def compute_together(self, plans: Sequence[Plan]) -> list[Computation]:
        """Step 3 for several tables of one dataset."""
        if not plans:
            return []
        with watcher().stage(Stage.COMPUTE):
            tables = self._engine.compute_together(plans[0].dataset, [_cells(plan) for plan in plans])
            return [self._computation(plan, table) for plan, table in zip(plans, tables, strict=True)]

    def _computation(self, plan: Plan, computed: Computed) -> Computation:
        base = int(computed.facts.units[-1])
        without = unfiltered(plan, lambda query: self._engine.compute(plan.dataset, query))
        return Computation(computed, self._key(plan, computed), base, without)

    def judge(
        self,
        plan: Plan,
        computed: Computation,
        known: Knowledge,
        remaining: Callable[[], float],
        approved: bool = False,
        versions: OtherVersions | None = None,
    ) -> Outcome:
        """Steps 4 to 7 at one head. `approved`: an output checker waives what the policy refers to him.

        Where other versions of the source have left, `versions` compares them; without it, or where they do
        not compare, it is referred, and no approval waives that.
        """
        pulse = still_time(remaining)
        pulse()
        known = known.for_figures(plan.measures)
        facts = computed.table.facts
        judgement = self._assess_both(
            plan, computed.table, applicable(plan), computed.base_units, computed.key, remaining()
        )
        findings = [*judgement.findings, *group_disclosing_filters(plan, computed.table, computed.unfiltered)]
        watcher().judged(plan.dataset.name, judgement.risk)
        group = facts.records if computed.unfiltered.units is None else computed.unfiltered.units
        empty = empty_codes(computed.table.axes, group, facts.structural_zeros)
        had_by_nobody = computed.unfiltered.had_by_nobody(computed.table.axes)
        if had_by_nobody is not None:
            impossible = facts.structural_zeros
            empty &= had_by_nobody if impossible is None else had_by_nobody | impossible
        pulse()
        if plan.policy.cell_keys is not None:
            noise = Noise.of(plan.policy.cell_keys, plan.dataset.records_per_unit)
            own = Perturbing(self._engine, plan, computed.table.axes, facts, known, judgement, pulse)
            return own.outcome(noise)
        truth = self._occurring.truth(plan.dataset)
        attempt = Attempt(
            plan, computed.table, known, judgement, findings, empty, pulse, approved, truth=truth
        )
        if judgement.unchecked:
            return attempt.held(plan.policy.unproved_consequence, ReasonCode.UNPROVED)
        if known.noisy:
            return replace(attempt.held(Consequence.REFER, ReasonCode.UNPROVED), message=MIXED)
        # Before each long stretch: of thousands of cells it would go on for seconds, for nobody.
        pulse()
        inspector = self._inspector(plan, remaining)
        if known.other_versions:
            compared = None if versions is None else versions.compare(plan, known, pulse)
            if compared is None:
                return attempt.held(Consequence.REFER, ReasonCode.VERSION_DIFFERENCE)
            asked = self._asked_by_versions(attempt, compared, remaining)
            if isinstance(asked, Outcome):
                return asked
            attempt = replace(attempt, known=compared.known.for_figures(plan.measures), versions=asked)
            changed = self._also_changed(compared, plan, remaining)
            inspector = replace(inspector, also=_either(inspector.also, changed))
        with watcher().stage(Stage.PROOF):
            outcome = self._proved(attempt, inspector, remaining)
        watcher().audited(plan.dataset.name, ReasonCode.UNPROVED not in outcome.codes, attempt.rounds)
        return outcome

    def findings(
        self, plan: Plan, computed: Computation, remaining: Callable[[], float]
    ) -> tuple[Finding, ...]:
        """What the rules find in a table by itself, for checkers of one that is refused."""
        table, rules = computed.table, applicable(plan)
        found = self._assess_both(plan, table, rules, computed.base_units, computed.key, remaining())
        return tuple(found.findings)

    def _asked_by_versions(
        self, attempt: Attempt, compared: Compared, remaining: Callable[[], float]
    ) -> FromVersions | Outcome:
        """What other versions ask of a table; or held, as it would not have left of one of them."""
        plan, new = attempt.plan, attempt.new
        how = self._of_changes(plan, remaining)
        withheld, by_filter = np.zeros((2, len(attempt.facts)), dtype=np.bool_)
        try:
            for changed in compared.changes:
                withheld |= few_changed_cells(changed, new, how)
                for table in new:
                    left = compared.own.of(table.quantity).published
                    of_filter, of_detail = few_changed_differences(changed, table, left, how)
                    by_filter |= of_filter
                    withheld |= of_detail
        except TooManyDifferences:
            return attempt.held(Consequence.REFER, ReasonCode.VERSION_DIFFERENCE)
        nothing = np.zeros_like(by_filter)
        for earlier, there in compared.others:
            known = there.for_figures(plan.measures)
            asked = FromVersions(withheld, nothing, known)
            outcome = self._on_version(attempt, earlier, known, asked, remaining)
            if outcome.consequence is not None:
                # Large populations and small ones are held alike here: nothing is told of how many there are.
                return replace(attempt.held(outcome.consequence, *outcome.codes), limit=None)
            withheld = withheld | (outcome.states == State.WITHHELD)
        return FromVersions(withheld, by_filter, compared.own)

    def _on_version(
        self,
        attempt: Attempt,
        plan: Plan,
        known: Knowledge,
        asked: FromVersions,
        remaining: Callable[[], float],
    ) -> Outcome:
        """What would be decided about a table as one of an earlier version, by the rules of its cells."""
        table = self._engine.compute(plan.dataset, _cells(plan))
        judgement = self._assess_both(plan, table, cell_rules(applicable(plan)), 0, None, remaining())
        empty = empty_codes(table.axes, table.facts.records, table.facts.structural_zeros)
        own = Attempt(
            plan,
            table,
            known,
            judgement,
            [*judgement.findings],
            empty,
            attempt.still_time,
            attempt.approved,
            asked,
            # What variables decide there they need not decide any more.
            self._occurring.truth(plan.dataset),
        )
        if judgement.unchecked:
            return own.held(plan.policy.unproved_consequence, ReasonCode.UNPROVED)
        return self._proved(own, self._inspector(plan, remaining), remaining, True)

    def _judging_cells(
        self, rules: Rules, remaining: Callable[[], float]
    ) -> Callable[[Facts], Sequence[Finding]]:
        """Judges facts side by side by rules of single cells; what cannot be judged is unsafe."""

        def judge(facts: Facts) -> Sequence[Finding]:
            found = self._assess(region_axis(len(facts)), facts, rules, 0, None, remaining())
            return findings_of_regions(found, len(facts))

        return judge

    def _also_changed(
        self, compared: Compared, plan: Plan, remaining: Callable[[], float]
    ) -> Callable[[Sequence[Region], Sequence[str]], BoolArray]:
        """In which groups of cells too few changed from some other version."""
        how = self._of_changes(plan, remaining)

        def also(regions: Sequence[Region], measures: Sequence[str]) -> BoolArray:
            unsafe = np.zeros(len(regions), dtype=np.bool_)
            for changed in compared.changes:
                unsafe |= few_changed(changed, regions, measures, how)
            return unsafe

        return also

    def _of_changes(self, plan: Plan, remaining: Callable[[], float]) -> OfChanges:
        """By what changes in a plan's cells are judged."""
        applying = applicable(plan)
        rules = rules_of_changes(cell_rules(applying))
        groups = ChangedGroups.under(applying, plan.dataset)
        return OfChanges(rules, self._judging_cells(rules, remaining), groups)

    def _proved(
        self,
        attempt: Attempt,
        inspector: Inspector,
        remaining: Callable[[], float],
        of_other: bool = False,
    ) -> Outcome:
        """Steps 6 and 7 of an attempt that may leave."""
        try:
            implied = self._implied(attempt.plan, attempt.computed, attempt.known, inspector)
            decided = attempt.truth.decided(WEIGHTED_PREFIX) if attempt.plan.with_weights else ()
            attempt.also_weighs(weight_classes(attempt.plan, attempt.new[0], decided, inspector))
        except (SpanBudgetExceeded, TooManyDifferences):
            return attempt.held(Consequence.REFER, ReasonCode.UNPROVED)
        attempt.also_tells(implied)
        # Differences come first: a refusal for the size of a population would tell its size against them.
        # How many the filter leaves is judged on the version that answers, and on no other.
        return (
            attempt.without_secrets_taken_for_known(remaining)
            or attempt.without_differences(inspector)
            or (None if of_other else attempt.without_hidden_population())
            or attempt.without_findings(remaining)
            or attempt.protected(inspector, self._protection, remaining)
        )

    def _implied(self, plan: Plan, computed: Computed, known: Knowledge, inspector: Inspector) -> Implied:
        def beside(measures: Sequence[str]) -> Sequence[MeasureFacts]:
            cells = replace(_cells(plan), measures=tuple(measures))
            return self._engine.compute(plan.dataset, cells).facts.measures

        return judge_implied(plan, computed, beside, known, inspector)

    def _assess_both(
        self, plan: Plan, table: Computed, rules: Rules, base_units: int, key: Key | None, timeout: float
    ) -> Assessment:
        """A table by its rules, and its weighted figures by weighted contributions where others show, too."""
        found = self._assess(table.axes, table.facts, rules, base_units, key, timeout)
        weighted = beside_plain(plan)
        if weighted is None:
            return found
        beside = self._assess(table.axes, table.facts, weighted, 0, None, timeout)
        of_weighted = (replace(one, measure=f"{WEIGHTED_PREFIX}{one.measure}") for one in beside.findings)
        unchecked = tuple(dict.fromkeys((*found.unchecked, *beside.unchecked)))
        return Assessment((*found.findings, *of_weighted), found.risk, unchecked)

    def _assess(
        self,
        axes: tuple[Axis, ...],
        facts: Facts,
        rules: Rules,
        base_units: int,
        key: Key | None,
        timeout: float,
    ) -> Assessment:
        """What the risk service finds and what the facility finds itself: its silence releases nothing."""
        with watcher().stage(Stage.ASSESS):
            said = self._risk.assess_table(axes, facts, rules, base_units, key, timeout)
            own = assess_table(axes, facts, rules, base_units, key)
        return Assessment(
            tuple(dict.fromkeys((*said.findings, *own.findings))),
            own.risk,
            tuple(dict.fromkeys((*said.unchecked, *own.unchecked))),
        )

    def _inspector(self, plan: Plan, remaining: Callable[[], float]) -> Inspector:
        rules, weighted = cell_rules(applicable(plan)), beside_plain(plan)
        ranks, how = _ranks(plan), _contributions(plan)

        def count(regions: Sequence[Region], measures: Sequence[str]) -> Facts:
            found = tuple(expanded_region(plan.dataset, region) for region in regions)
            return self._region_facts(plan.dataset, found, tuple(measures), ranks, how)

        def units(regions: Sequence[Region]) -> IntArray:
            return count(regions, ()).units

        judge, also = self._judging_cells(rules, remaining), None
        if weighted is not None:
            # Nothing bounds differences and unions by plain contributions and weighted ones: all are counted.
            rules = replace(rules, contributions=how)
            also = _breaking(count, self._judging_cells(weighted, remaining))
        pulse = still_time(remaining)
        varying = plan.dataset.varying if plan.policy.attrition_hidden else None
        most, group = plan.dataset.records_per_respondent, plan.policy.rules.group_disclosure
        codes = sensitive_codes(plan.dataset) if group is not None else {}
        groups = DisclosedGroups(group.share, codes, units) if group is not None and codes else None
        return Inspector(rules, most, count, judge, pulse, also, varying or frozenset(), groups)

    def _key(self, plan: Plan, computed: Computed) -> Key:
        """Units and weights of each identifying combination, before any suppression.

        The key is the identifying dimensions and identifying filter variables: a filter on a variable that
        an intruder does not know makes nobody rarer to him.
        """
        dataset = plan.dataset
        filters = tuple(c for c in plan.filters if dataset.identifying(c.variable))
        if len(filters) < len(plan.filters):
            dimensions = tuple(d for d in plan.dimensions if dataset.identifying(d[0]))
            computed = self._engine.compute(dataset, CellQuery(dimensions, filters, (), 1, valid=plan.valid))
        axes, facts = computed.axes, computed.facts
        of_key = _key_cells(computed)
        weights = facts.unit_weight_sums
        if weights is None:
            raise LookupError(f"no weights of the dataset {dataset.name}: {len(axes)} axes")
        return Key(facts.units[of_key], weights[of_key])


def applicable(plan: Plan) -> Rules:
    """The rules that mean something for the dataset and the figures asked.

    Without households there is no minimum of them; weighted contributions are those to weighted figures.
    """
    rules = plan.policy.rules
    if not plan.dataset.household:
        rules = replace(rules, minimum_households=None)
    if rules.contributions.weighted and not plan.only_weighted:
        rules = replace(rules, contributions=replace(rules.contributions, weighted=False))
    return rules


def beside_plain(plan: Plan) -> Rules | None:
    """Rules on the weighted contributions of a table that shows other figures of measures, too.

    None where the policy looks at none, where no sum or mean shows with weights, or where all weigh the same.
    """
    rules, (lowest, highest) = plan.policy.rules, plan.dataset.weight_bounds
    shown = any(figure.statistic in WEIGHTED and figure.measure for figure in plan.figures)
    if not (rules.contributions.weighted and shown and lowest < highest) or plan.only_weighted:
        return None
    return replace(cell_rules(rules), minimum_units=None, minimum_households=None, equal_values=None)


def _contributions(plan: Plan) -> Contributions:
    """Which contributions are counted: weighted ones where any rule looks at them, and plain ones anyway."""
    return (beside_plain(plan) or applicable(plan)).contributions


Unsafe = Callable[[Sequence[Region], Sequence[str]], BoolArray]
"""Says which regions are unsafe, with these measures."""


def _breaking(
    count: Callable[[Sequence[Region], Sequence[str]], Facts], judge: Callable[[Facts], Sequence[Finding]]
) -> Unsafe:
    """Says which regions break what a judge looks at."""

    def breaking(regions: Sequence[Region], measures: Sequence[str]) -> BoolArray:
        found = judge(count(regions, measures)) if len(regions) and measures else ()
        return unsafe_cells(found, len(regions))

    return breaking


def _either(first: Unsafe | None, second: Unsafe) -> Unsafe:
    """Says which regions are unsafe by either."""

    def either(regions: Sequence[Region], measures: Sequence[str]) -> BoolArray:
        unsafe = second(regions, measures)
        return unsafe if first is None else unsafe | first(regions, measures)

    return either


def _cells(plan: Plan) -> CellQuery:
    """What the engine is asked for."""
    cells = plan.cells(_ranks(plan), _contributions(plan))
    return cells if plan.policy.cell_keys is None else replace(cells, keyed=True)


def _ranks(plan: Plan) -> int:
    """How many of the largest contributors of a cell its rules look at, or bounds of later differences."""
    noise = plan.policy.cell_keys
    return max(RANKS, plan.policy.rules.ranks, len(noise.sum_shares) if noise is not None else 0)


def _key_cells(computed: Computed) -> BoolArray:
    """Inner cells along identifying axes, totals along the others."""
    axes = computed.axes
    chosen = np.ones([len(axis.codes) for axis in axes], dtype=np.bool_)
    for position, axis in enumerate(axes):
        total = np.arange(len(axis.codes)) == len(axis.codes) - 1
        keep = ~total if axis.identifying else total
        chosen &= keep.reshape([-1 if other == position else 1 for other in range(len(axes))])
    return chosen.reshape(-1)


def findings_of_regions(found: Assessment, regions: int) -> Sequence[Finding]:
    """What rules find in so many regions side by side; where one cannot be judged all of them are unsafe."""
    # A finding about what was not asked says nothing of what was.
    astray = any(not 0 <= cell < regions for finding in found.findings for cell in finding.cells)
    if found.unchecked or astray:
        return [Finding(ReasonCode.UNPROVED, Consequence.REFUSE, tuple(range(regions)))]
    return found.findings


def cell_rules(rules: Rules) -> Rules:
    """The rules of single cells, for differences."""
    return Rules(
        minimum_units=rules.minimum_units,
        minimum_households=rules.minimum_households,
        dominance=rules.dominance,
        p_percent=rules.p_percent,
        prior_posterior=rules.prior_posterior,
        linear_sensitivity=rules.linear_sensitivity,
        contributions=rules.contributions,
        equal_values=rules.equal_values,
    )
