"""Steps 3 to 7 of the way: from a plan to what may be decided, at one head of the ledger."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import CellQuery, Computed, Region
from sdcgate.facility.atoms import reveals_unsafe_atom
from sdcgate.facility.boxes import box_table, expanded, quantities
from sdcgate.facility.costs import costs
from sdcgate.facility.differencing import Inspector, TooManyDifferences, region_axis, unsafe_differences
from sdcgate.facility.errors import TimeOver
from sdcgate.facility.figures import denominators
from sdcgate.facility.knowledge import Knowledge, ReleasedTable
from sdcgate.facility.plan import Plan
from sdcgate.facility.ports import ProtectionService, RiskService
from sdcgate.facility.protection import Protected, empty_codes, make_problem, protect
from sdcgate.facility.sensitive_filters import group_disclosing_filters, sensitive_conditions
from sdcgate.facility.weights import WEIGHTED_PREFIX, with_weights
from sdcgate.methods.cells import Axis, BoolArray, Facts, IntArray, State
from sdcgate.methods.rules import Consequence, Finding, ReasonCode, Rules
from sdcgate.methods.tables.assessment import Assessment, Key, assess_table
from sdcgate.methods.tables.span import SpanBudgetExceeded

RANKS = 3
OF_CELLS = frozenset(
    {
        ReasonCode.MINIMUM_UNITS,
        ReasonCode.MINIMUM_HOUSEHOLDS,
        ReasonCode.DOMINANCE,
        ReasonCode.P_PERCENT,
        ReasonCode.GROUP_DISCLOSURE,
        ReasonCode.EQUAL_VALUES,
    }
)
"""Rules of cells; the others are about the whole table."""


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """What the engine computed for a plan: the table, and the key of its individual risk."""

    table: Computed
    key: Key
    base_units: int
    unfiltered: IntArray | None = field(default=None, repr=False)
    """Units of the cells without the conditions on sensitive variables, where there are any."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What may be decided about a plan at one head."""

    consequence: Consequence | None
    """None: released as asked or protected; otherwise refer or refuse."""
    codes: tuple[ReasonCode, ...]
    states: IntArray = field(repr=False)
    findings: tuple[Finding, ...] = field(default=(), repr=False)
    judgement: Assessment | None = field(default=None, repr=False)
    released: tuple[ReleasedTable, ...] = field(default=(), repr=False)


class Judge:
    """Computes and judges plans. Stateless: what is known comes in, what may be decided goes out."""

    def __init__(self, engine: Engine, risk: RiskService, protection: ProtectionService) -> None:
        self._engine = engine
        self._risk = risk
        self._protection = protection

    def compute(self, plan: Plan) -> Computation:
        """Step 3: the cells where the data lie; aggregates only."""
        computed = self._engine.compute(plan.dataset, plan.cells(RANKS))
        base = int(computed.facts.units[-1])
        return Computation(computed, self._key(plan, computed), base, self._unfiltered(plan))

    def _unfiltered(self, plan: Plan) -> IntArray | None:
        conditions = sensitive_conditions(plan)
        if not conditions:
            return None
        others = tuple(condition for condition in plan.filters if condition not in conditions)
        return self._engine.compute(plan.dataset, CellQuery(plan.dimensions, others, (), 1)).facts.units

    def judge(
        self,
        plan: Plan,
        computed: Computation,
        known: Knowledge,
        remaining: Callable[[], float],
        approved: bool = False,
    ) -> Outcome:
        """Steps 4 to 7 at one head. `approved`: an output checker waives what the policy refers to him."""
        facts = computed.table.facts
        judgement = self._assess(
            computed.table.axes, facts, applicable(plan), computed.base_units, computed.key, remaining()
        )
        findings = [*judgement.findings, *group_disclosing_filters(plan, facts, computed.unfiltered)]
        group = facts.records if computed.unfiltered is None else computed.unfiltered
        empty = empty_codes(computed.table.axes, group)

        def still_time() -> None:
            if remaining() <= 0:
                raise TimeOver()

        attempt = _Attempt(plan, computed.table, known, judgement, findings, empty, still_time)
        if judgement.unchecked:
            return attempt.held(plan.policy.unproved_consequence, ReasonCode.UNPROVED)
        if known.other_versions and not approved:
            return attempt.held(Consequence.REFER, ReasonCode.VERSION_DIFFERENCE)
        inspector = self._inspector(plan, remaining, still_time)
        # Differences come first: a refusal for the size of a population would tell its size against them.
        return (
            attempt.without_differences(inspector)
            or attempt.without_findings(approved)
            or attempt.protected(inspector, self._protection, remaining)
        )

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
        said = self._risk.assess_table(axes, facts, rules, base_units, key, timeout)
        own = assess_table(axes, facts, rules, base_units, key)
        return Assessment(
            tuple(dict.fromkeys((*said.findings, *own.findings))),
            own.risk,
            tuple(dict.fromkeys((*said.unchecked, *own.unchecked))),
        )

    def _inspector(
        self, plan: Plan, remaining: Callable[[], float], still_time: Callable[[], None]
    ) -> Inspector:
        rules = _cell_rules(applicable(plan))

        def count(regions: Sequence[Region], measures: Sequence[str]) -> Facts:
            found = [
                Region(
                    tuple(expanded(plan.dataset, box) for box in region.inside),
                    tuple(expanded(plan.dataset, box) for box in region.outside),
                )
                for region in regions
            ]
            return self._engine.region_facts(plan.dataset, found, tuple(measures), RANKS)

        def judge(facts: Facts) -> Sequence[Finding]:
            axes = region_axis(len(facts))
            found = self._assess(axes, facts, rules, 0, None, remaining())
            if found.unchecked:
                return [Finding(ReasonCode.UNPROVED, Consequence.REFUSE, tuple(range(len(facts))))]
            return found.findings

        return Inspector(rules, plan.dataset.records_per_unit, count, judge, still_time)

    def _key(self, plan: Plan, computed: Computed) -> Key:
        """Units and weights of each identifying combination, before any suppression.

        The key is the identifying dimensions and identifying filter variables: a filter on a variable that
        an intruder does not know makes nobody rarer to him.
        """
        dataset = plan.dataset
        filters = tuple(c for c in plan.filters if dataset.identifying(c.variable))
        if len(filters) < len(plan.filters):
            dimensions = tuple(d for d in plan.dimensions if dataset.identifying(d[0]))
            computed = self._engine.compute(dataset, CellQuery(dimensions, filters, (), 1))
        axes, facts = computed.axes, computed.facts
        of_key = _key_cells(computed)
        weights = facts.unit_weight_sums
        if weights is None:
            raise LookupError(f"no weights of the dataset {dataset.name}: {len(axes)} axes")
        return Key(facts.units[of_key], weights[of_key])


@dataclass(slots=True, eq=False)
class _Attempt:
    """One table at one head of the ledger, on its way from findings to an outcome."""

    plan: Plan
    computed: Computed
    known: Knowledge
    judgement: Assessment
    findings: list[Finding]
    empty: BoolArray = field(repr=False)
    """Cells of codes that nobody has; they stay zeros that everybody sees."""
    still_time: Callable[[], None]
    """Raises TimeOver once the caller has gone: long work for nobody would be in the way of the others."""
    facts: Facts = field(init=False, repr=False)
    new: list[ReleasedTable] = field(init=False, repr=False)
    """The table as the quantities that it shows, as though all of it left."""
    before: BoolArray = field(init=False, repr=False)
    """Cells that were withheld before."""
    unsafe: BoolArray = field(init=False, repr=False)
    """Cells that must not leave; grows on the way."""

    def __post_init__(self) -> None:
        self.facts = with_weights(self.plan, self.computed.facts)
        # Totals that were not asked for follow from the rest: they are judged and protected as if they left.
        everything = np.full(len(self.facts), State.PUBLISHED, dtype=np.int64)
        table = box_table(self.plan, self.computed.axes, self.facts, everything)
        self.new = quantities(table, self.facts)
        before = [self.known.of(quantity.quantity).withheld_before(quantity) for quantity in self.new]
        self.before = np.any(before, axis=0)
        self.unsafe = _unsafe(self.findings, len(self.facts)) & ~self.empty

    def held(self, consequence: Consequence, *codes: ReasonCode) -> Outcome:
        """Nothing leaves: referred or refused."""
        unique = tuple(dict.fromkeys(codes))
        nothing = np.full(len(self.facts), State.ABSENT, dtype=np.int64)
        return Outcome(consequence, unique, nothing, tuple(self.findings), self.judgement)

    def without_differences(self, inspector: Inspector) -> Outcome | None:
        """Held where the table was asked to be subtracted from another; notes what is unsafe by detail."""
        try:
            by_filter, by_detail = self._differences(self.new, inspector)
        except TooManyDifferences:
            return self.held(Consequence.REFER, ReasonCode.UNPROVED)
        subtracted = by_filter & ~self.unsafe & ~self.before
        self.unsafe |= by_detail | by_filter
        if subtracted.any():
            consequence = self.plan.policy.differencing_consequence
            self.findings.append(_difference(subtracted, consequence))
            if consequence is not Consequence.PROTECT:
                return self.held(consequence, ReasonCode.DIFFERENCING)
        return None

    def without_findings(self, approved: bool) -> Outcome | None:
        """Held where a rule that failed has that consequence; a checker waives what is referred to him."""
        worst = max((_read(finding) for finding in self.findings), default=Consequence.PROTECT)
        if worst is Consequence.PROTECT or (worst is Consequence.REFER and approved):
            return None
        # The rule that failed could count a cell that is withheld: then it is the difference that is refused.
        try:
            told = self._would_tell()
        except SpanBudgetExceeded:
            told = True
        if told:
            return self.held(worst, ReasonCode.DIFFERENCING)
        return self.held(worst, *_told({f.rule for f in self.findings if _read(f) is worst}))

    def _would_tell(self) -> bool:
        """Whether the table as it is would make a withheld cell computable."""
        left = [quantity.with_states(_states(self.unsafe | self.before)) for quantity in self.new]
        return any(self._derivable(quantity.quantity, left) for quantity in self.new)

    def protected(
        self, inspector: Inspector, service: ProtectionService, remaining: Callable[[], float]
    ) -> Outcome:
        """Withhold what is unsafe or was withheld before; prove the rest against all that has left."""
        must, nowhere = self.unsafe | self.before, np.zeros(len(self.facts), dtype=np.bool_)
        found = Protected(nowhere, nowhere, proved=True)
        known = {quantity.quantity: nowhere for quantity in self.new}
        if must.any():
            try:
                known = self._known(self.new)
            except SpanBudgetExceeded:
                return self.held(Consequence.REFER, ReasonCode.UNPROVED)
            sums = {q.quantity: self.known.of(q.quantity).released_sums(q.table) for q in reversed(self.new)}
            seen = {quantity: cells | self.empty for quantity, cells in known.items()}
            shares = denominators(self.computed.axes, self.plan.layout)
            prices = costs(self.facts.records, shares)
            problem = make_problem(self.plan, self.computed, self.facts, seen, nowhere, sums, prices)
            found = protect(self.plan, problem, must, service, inspector, remaining)
        if not found.proved or (self.unsafe & ~(found.secret & found.marked)).any():
            return self.held(self.plan.policy.unproved_consequence, ReasonCode.UNPROVED)
        return self._against_all_releases(known, found, inspector)

    def _known(self, new: list[ReleasedTable]) -> dict[str, BoolArray]:
        """Cells of which a quantity can be computed from what has left.

        Raises:
            SpanBudgetExceeded: it cannot be told in time.
        """
        known: dict[str, BoolArray] = {}
        for quantity in new:
            before = self.known.of(quantity.quantity)
            # The first table of a quantity has its own population; those that follow are parts of it.
            if quantity.quantity in known:
                continue
            known[quantity.quantity] = before.published.among(quantity.boxes)
            if not before.empty:
                known[quantity.quantity] |= before.derivable(quantity, self.still_time)
        return known

    def _differences(self, new: list[ReleasedTable], inspector: Inspector) -> tuple[BoolArray, BoolArray]:
        """Cells in unsafe differences with earlier releases: by filters only, and by detail."""
        found = [
            unsafe_differences(quantity, self.known.of(quantity.quantity).published, inspector)
            for quantity in new
            if not quantity.quantity.startswith(WEIGHTED_PREFIX)
        ]
        by_filter = np.any([differences.by_filter for differences in found], axis=0)
        by_detail = np.any([differences.by_detail for differences in found], axis=0)
        return by_filter, by_detail

    def _against_all_releases(
        self, known: Mapping[str, BoolArray], found: Protected, inspector: Inspector
    ) -> Outcome:
        """Refuse where an unsafe or withheld cell lies in the exact linear span of all that has left."""
        # What is withheld now and is known from before, or is withheld as a share only, counts as known.
        left = [q.with_states(_states(found.secret & ~known[q.quantity])) for q in self.new]
        try:
            derivable = any(self._derivable(quantity, left) for quantity in known)
            derivable = derivable or self._unsafe_atoms(left, inspector)
        except (SpanBudgetExceeded, TooManyDifferences):
            return self.held(Consequence.REFER, ReasonCode.UNPROVED)
        if derivable:
            consequence = self.plan.policy.differencing_consequence
            self.findings.append(_difference(~found.marked, consequence))
            # There is no cell to withhold in place of the table.
            held = Consequence.REFER if consequence is Consequence.REFER else Consequence.REFUSE
            return self.held(held, ReasonCode.DIFFERENCING)
        codes = (ReasonCode.MINIMUM_UNITS,) if found.marked.any() else ()
        return Outcome(None, codes, _states(found.marked), tuple(self.findings), self.judgement, tuple(left))

    def _derivable(self, quantity: str, left: list[ReleasedTable]) -> bool:
        """Whether of a quantity a withheld box is in the span of what has left and is about to."""
        tables = [table for table in left if table.quantity == quantity]
        return self.known.of(quantity).reveals(tables, self.still_time)

    def _unsafe_atoms(self, left: list[ReleasedTable], inspector: Inspector) -> bool:
        """Whether counts of an unsafe group that several filters cut out are in the span."""
        counts, *others = [table for table in left if table.quantity == left[0].quantity]
        known = self.known.of(counts.quantity)
        if known.empty:
            return False
        span = known.with_tables([counts, *others], self.still_time)
        return reveals_unsafe_atom(counts, known, span, inspector)


def _states(withheld: BoolArray) -> IntArray:
    """States of cells that are withheld or else published."""
    return np.where(withheld, State.WITHHELD, State.PUBLISHED).astype(np.int64)


def applicable(plan: Plan) -> Rules:
    """The rules that mean something for the dataset: without households there is no minimum of them."""
    rules = plan.policy.rules
    return rules if plan.dataset.household else replace(rules, minimum_households=None)


def _key_cells(computed: Computed) -> BoolArray:
    """Inner cells along identifying axes, totals along the others."""
    axes = computed.axes
    chosen = np.ones([len(axis.codes) for axis in axes], dtype=np.bool_)
    for position, axis in enumerate(axes):
        total = np.arange(len(axis.codes)) == len(axis.codes) - 1
        keep = ~total if axis.identifying else total
        chosen &= keep.reshape([-1 if other == position else 1 for other in range(len(axes))])
    return chosen.reshape(-1)


def _read(finding: Finding) -> Consequence:
    """Unspecified is refuse, and so is protecting a whole table."""
    if finding.consequence is Consequence.UNSPECIFIED:
        return Consequence.REFUSE
    if not finding.cells and finding.consequence is Consequence.PROTECT:
        return Consequence.REFUSE
    return finding.consequence


def _told(rules: Set[ReasonCode]) -> list[ReasonCode]:
    """What a researcher is told of the rules that failed: those of cells look alike, and the order is fixed.

    Which rule a cell breaks tells something of the figures in it.
    """
    return sorted({ReasonCode.MINIMUM_UNITS if rule in OF_CELLS else rule for rule in rules})


def _unsafe(findings: Sequence[Finding], cells: int) -> BoolArray:
    unsafe = np.zeros(cells, dtype=np.bool_)
    for finding in findings:
        unsafe[list(finding.cells)] = True
    return unsafe


def _difference(cells: BoolArray, consequence: Consequence) -> Finding:
    return Finding(
        rule=ReasonCode.DIFFERENCING,
        consequence=consequence,
        cells=tuple(int(cell) for cell in np.flatnonzero(cells)),
    )


def _cell_rules(rules: Rules) -> Rules:
    """The rules of single cells, for differences."""
    return Rules(
        minimum_units=rules.minimum_units,
        minimum_households=rules.minimum_households,
        dominance=rules.dominance,
        p_percent=rules.p_percent,
        equal_values=rules.equal_values,
    )
