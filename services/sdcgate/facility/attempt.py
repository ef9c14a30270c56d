"""Steps 5 to 7 for one table at one head of the ledger: from findings to what may be decided."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.queries import Computed
from sdcgate.facility.beside_deciding import beside_deciding
from sdcgate.facility.boxes import as_if_published, having_variable, of_occurring_codes, parted
from sdcgate.facility.costs import costs
from sdcgate.facility.decided_sums import beside_decided, in_play, spanning_decided, told_of
from sdcgate.facility.differencing import TooManyDifferences, differences_within, unsafe_differences
from sdcgate.facility.figures import denominators
from sdcgate.facility.findings import (
    OF_CELLS,
    consequence_of,
    told_codes,
    unsafe_cells,
    unsafe_difference,
)
from sdcgate.facility.implied_measures import NOTHING_IMPLIED, Implied
from sdcgate.facility.inspector import Inspector
from sdcgate.facility.joint_look import UNKNOWN, JointlyUnproved, Truth
from sdcgate.facility.joint_sums import plain
from sdcgate.facility.knowledge import (
    COUNTS,
    NOTHING_TOLD,
    Knowledge,
    KnownQuantity,
    ReleasedTable,
    Told,
)
from sdcgate.facility.known_bounds import with_bounds
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.plan import Plan
from sdcgate.facility.population_limits import PopulationLimit
from sdcgate.facility.ports import ProtectionService
from sdcgate.facility.protection import Protected, as_before, make_problem, protect
from sdcgate.facility.region_records import without_measures
from sdcgate.facility.taken_for_known import deciding_weights, few_have_both, takes_secrets_for_known
from sdcgate.facility.telling import told_figures, told_ratios
from sdcgate.facility.told_extremes import narrowing, with_narrowed
from sdcgate.facility.told_together import Together
from sdcgate.facility.weight_classes import NO_WEIGHT_CLASSES, WeightClasses
from sdcgate.facility.weights import WEIGHTED_PREFIX, judged_by, sums_not_judged, with_weights
from sdcgate.methods.cells import BoolArray, Facts, IntArray, State
from sdcgate.methods.rules import Consequence, Finding, ReasonCode
from sdcgate.methods.tables.assessment import Assessment
from sdcgate.methods.tables.attrition import attrition_within
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.cell_costs import CostKind, cell_costs
from sdcgate.methods.tables.combined_sums import Decided
from sdcgate.methods.tables.empty_cells import empty_beside_few
from sdcgate.methods.tables.joint_boxes import PERHAPS, RECORDS, UNITS
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.span import SpanBudgetExceeded

KEPT_BACK = (1, 1, 1, 2, 2, 3, 4, 6, 8, 12)
"""How many cells are withheld for each one that would be revealed together with earlier releases, turn by
turn. Where one hides little, as a filter leaves most of what has left, it takes a good part of a line."""


@dataclass(frozen=True, slots=True, eq=False)
class FromVersions:
    """What other versions of the dataset ask of a table."""

    withheld: BoolArray = field(repr=False)
    """Cells that must not leave."""
    by_filter: BoolArray = field(repr=False)
    """Cells that were asked to be subtracted from others, and would tell what few changed."""
    own: Knowledge
    """What left of the table's own version: only that is recorded as known of it."""


@dataclass(slots=True, eq=False)
class Attempt:
    """One table at one head of the ledger, on its way from findings to an outcome."""

    plan: Plan
    computed: Computed
    known: Knowledge
    judgement: Assessment
    findings: list[Finding]
    empty: BoolArray = field(repr=False)
    """Cells of codes that nobody has; they stay zeros that everybody sees."""
    still_time: Callable[[], None]
    """Raises TimeOver once the caller has gone."""
    approved: bool = False
    """Whether an output checker waives what the policy refers to him."""
    versions: FromVersions | None = None
    truth: Truth = UNKNOWN
    """The joint audit begins with it."""
    rounds: int = field(init=False, default=0)
    """How often cells were withheld and looked at anew."""
    facts: Facts = field(init=False, repr=False)
    new: list[ReleasedTable] = field(init=False, repr=False)
    """The table as the quantities that it shows, as though all of it left."""
    before: BoolArray = field(init=False, repr=False)
    """Cells that were withheld before."""
    unsafe: BoolArray = field(init=False, repr=False)
    """Cells that must not leave; grows on the way."""
    differs: BoolArray = field(init=False, repr=False)
    """Cells in unsafe differences with earlier releases."""
    together: Together = field(init=False, repr=False)
    """What it tells beside all that has left."""
    implied: Implied = field(init=False, default=NOTHING_IMPLIED)
    """What the table tells of measures that it does not show."""
    weights: WeightClasses = field(init=False, default=NO_WEIGHT_CLASSES, repr=False)
    """The people of one weight in its cells, where weights tell how many these are."""

    def __post_init__(self) -> None:
        self.facts = with_weights(self.plan, self.computed.facts)
        # Totals that were not asked for follow from the rest: they are judged and protected as if they left.
        self.new = as_if_published(self.plan, self.computed.axes, self.facts)
        within = narrowing(self.known.windows, without_measures(self.new[0].boxes[-1]))
        narrower = with_narrowed(self.computed.facts, within)
        if narrower is not self.computed.facts:
            self.facts = with_weights(self.plan, narrower)
            self.new = as_if_published(self.plan, self.computed.axes, self.facts)
        self.still_time()
        counts, decided = self.known.of(COUNTS), self._decided()
        if not counts.empty:
            tables = [quantity.table for quantity in self.new]
            beside = beside_deciding(self.plan.dataset, counts, tables)
            quantities = {**self.known.quantities, COUNTS: beside}
            self.known = replace(
                self.known,
                quantities={
                    name: spanning_decided(
                        beside_decided(known, quantities, told_of(name, decided)),
                        quantities,
                        told_of(name, decided),
                        self.still_time,
                    )
                    for name, known in quantities.items()
                },
            )
        self.together = Together(self.plan, self.known, self.still_time, self.truth, decided)
        before = [self.known.of(quantity.quantity).withheld_before(quantity) for quantity in self.new]
        self.before = np.any(before, axis=0)
        if self.versions is not None:
            self.before |= self.versions.withheld
        self.unsafe = (unsafe_cells(self.findings, len(self.facts)) | self._empty_beside_few()) & ~self.empty
        self.unsafe |= self._few_beside_more() & ~self.empty
        self.differs = np.zeros(len(self.facts), dtype=np.bool_)

    def _decided(self) -> dict[str, list[Decided]]:
        """Quantities that variables decide by which anything is told."""
        names = set(self.known.of(COUNTS).shapes.full).union(*(new.table.full for new in self.new))
        quantities = [*(new.quantity for new in self.new), *self.known.quantities]
        return in_play(self.truth.decided, quantities, names)

    def _empty_beside_few(self) -> BoolArray:
        """Empty cells that would tell where the few of a withheld total are."""
        minimum = self.plan.policy.rules.minimum_units
        if minimum is None or not self.plan.policy.presence_hidden:
            return np.zeros(len(self.facts), dtype=np.bool_)
        return empty_beside_few(self.computed.axes, self.facts.units, self.facts.records, minimum.units)

    def _few_beside_more(self) -> BoolArray:
        """Cells whose units tell, beside those of a larger cell, how few are in that one only."""
        policy = self.plan.policy
        minimum, varying = policy.rules.minimum_units, self.plan.dataset.varying
        if minimum is None or varying is None or not policy.attrition_hidden:
            return np.zeros(len(self.facts), dtype=np.bool_)
        counts = self.new[0]
        held = self.unsafe | self.before
        return attrition_within(counts.table, counts.facts.units, minimum.units, varying, held)

    def also_tells(self, implied: Implied) -> None:
        """Take in what the table tells of measures that it does not show."""
        self.implied = implied
        self.findings += implied.findings
        if implied.unsafe is not None:
            self.unsafe |= implied.unsafe & ~self.empty

    def also_weighs(self, classes: WeightClasses) -> None:
        """Take in what plain and weighted figures tell together."""
        self.weights = classes
        self.unsafe |= classes.unsafe & ~self.empty
        for table in classes.all_tables:
            self.before |= self.known.of(table.quantity).withheld_before(table) & ~self.empty

    def held(self, consequence: Consequence, *codes: ReasonCode) -> Outcome:
        """Nothing leaves: referred or refused."""
        unique = tuple(dict.fromkeys(codes))
        nothing = np.full(len(self.facts), State.ABSENT, dtype=np.int64)
        limit = self._limit() if ReasonCode.MINIMUM_BASE in unique else None
        return Outcome(consequence, unique, nothing, tuple(self.findings), self.judgement, limit=limit)

    def without_secrets_taken_for_known(self, remaining: Callable[[], float]) -> Outcome | None:
        """Held where boxes take for known what it harms to tell: no difference and no proof would show it.

        Differences are not looked at: that one is refused would tell that it is not so. Cells that a rule
        holds look as they do for any other rule.
        """
        if not self._takes_secrets_for_known():
            return None
        unproved = self.held(self.plan.policy.unproved_consequence, ReasonCode.UNPROVED)
        return self.without_findings(remaining) or unproved

    def _takes_secrets_for_known(self) -> bool:
        plan, axes = self.plan, self.computed.axes
        secrets = any(variable.sensitive for variable in plan.dataset.descriptor.variables)
        if plan.policy.rules.group_disclosure is None or not secrets:
            return False
        restricted = {variable for variable, _ in plan.dimensions} | {one.variable for one in plan.filters}
        weights = self.truth.decided(WEIGHTED_PREFIX) if plan.with_weights else ()
        if takes_secrets_for_known(plan.dataset, restricted, deciding_weights(plan.dataset, weights)):
            return True
        minimum = plan.policy.rules.minimum_units
        if minimum is not None and few_have_both(plan.dataset, restricted, minimum.units, self.truth):
            return True
        nobody = np.array([box == NOBODY for box in self.new[0].boxes], dtype=np.bool_)
        secret = self.unsafe & nobody & ~self.empty
        return bool((secret & of_occurring_codes(plan, axes)).any())

    def without_differences(self, inspector: Inspector) -> Outcome | None:
        """Held where the table was asked to be subtracted from another; notes what else is unsafe."""
        if parted(self.plan.dataset, [variable for variable, _ in self.plan.dimensions]):
            return self.held(self.plan.policy.unproved_consequence, ReasonCode.UNPROVED)
        try:
            by_filter, by_detail = self._differences(inspector)
        except TooManyDifferences:
            return self.held(Consequence.REFER, ReasonCode.UNPROVED)
        if self.versions is not None:
            by_filter = by_filter | self.versions.by_filter
        self.differs = by_filter | by_detail
        subtracted = by_filter & ~self.unsafe & ~self.before
        self.unsafe |= by_detail | by_filter
        if subtracted.any():
            policy = self.plan.policy
            consequence = (
                Consequence.PROTECT if policy.subtracted_withheld else policy.differencing_consequence
            )
            self.findings.append(unsafe_difference(subtracted, consequence))
            if consequence is not Consequence.PROTECT:
                return self.held(consequence, ReasonCode.DIFFERENCING)
        return None

    def without_hidden_population(self) -> Outcome | None:
        """Held where how many the filter leaves must not be known, be they few or many.

        Otherwise the rule on the population would count them: who pads a filter with people of known number
        sees at how many the answer changes.
        """
        consequence = self._of_population()
        if consequence is None or not self._population_hidden():
            return None
        return self._population_held(consequence, ReasonCode.DIFFERENCING)

    def _population_held(self, consequence: Consequence, code: ReasonCode) -> Outcome:
        """Held for the total of all cells, which the output checker finds named."""
        total = np.arange(len(self.facts)) == len(self.facts) - 1
        self.findings.append(unsafe_difference(total, consequence))
        return self.held(consequence, code)

    def _of_population(self) -> Consequence | None:
        """What happens to a table on too few units; None where nobody is filtered, or it is waived."""
        rule = self.plan.policy.rules.minimum_base
        if rule is None or not self.plan.filters:
            return None
        refers = rule.consequence is Consequence.REFER
        if refers and self.approved:
            return None
        return Consequence.REFER if refers else Consequence.REFUSE

    def _population_hidden(self) -> bool:
        """Whether the total of all cells was withheld, or would make something withheld computable."""
        if self.before[-1] or self.differs[-1]:
            return True
        states = np.full(len(self.facts), State.ABSENT, dtype=np.int64)
        states[-1] = State.PUBLISHED
        total = [quantity.with_states(states) for quantity in self.new]
        try:
            return self.together.reveals(total)
        except SpanBudgetExceeded:
            return True

    def _limit(self) -> PopulationLimit | None:
        """How many units the filter leaves at most; None where it is said though they may be more."""
        rule, whole = self.plan.policy.rules.minimum_base, self.new[0]
        box = whole.boxes[-1]
        if rule is None or self.facts.units[-1] >= rule.units or box == NOBODY:
            return None
        return PopulationLimit(box, {name: whole.table.full[name] for name, _ in box}, rule.units - 1)

    def without_findings(self, remaining: Callable[[], float]) -> Outcome | None:
        """Held where a rule that failed has that consequence; a checker waives what is referred to him."""
        worst = max((consequence_of(finding) for finding in self.findings), default=Consequence.PROTECT)
        if worst is Consequence.PROTECT or (worst is Consequence.REFER and self.approved):
            return None
        # The rule that failed could count a cell that is withheld: then it is the difference that is refused.
        codes = told_codes({f.rule for f in self.findings if consequence_of(f) is worst})
        left = [quantity.with_states(_states(self.unsafe | self.before)) for quantity in self.new]
        try:
            told = self.together.reveals(left)
        except SpanBudgetExceeded:
            told = True
        limit = self._limit() if ReasonCode.MINIMUM_BASE in codes else None
        try:
            told = told or (limit is not None and self.together.limit_tells(limit, remaining))
        except JointlyUnproved:
            return self.held(self.plan.policy.unproved_consequence, ReasonCode.UNPROVED)
        return self.held(worst, ReasonCode.DIFFERENCING) if told else self.held(worst, *codes)

    def protected(
        self, inspector: Inspector, service: ProtectionService, remaining: Callable[[], float]
    ) -> Outcome:
        """Withhold what is unsafe or was withheld before, and what would reveal it; prove the rest."""
        first = must = self.unsafe | self.before
        nowhere, problem = np.zeros(len(self.facts), dtype=np.bool_), None
        known = {quantity.quantity: nowhere for quantity in self.new}
        found = Protected(nowhere, nowhere, proved=True)
        of_unions = self.weights.judging(inspector)
        for self.rounds, each in enumerate(KEPT_BACK, start=1):
            self.still_time()
            try:
                if problem is None and must.any():
                    known = self.together.known_cells(self.new, self.known)
                    problem = self._problem(known)
                    found = as_before(self.plan, problem, must)
                    left = self._left(known, found)
                    if self._tells_nothing_new(known, found.marked):
                        more = self.together.crossing(left, inspector, self.unsafe)
                        return self._refused(found) if more.any() else self._released(found, left)
                self.still_time()
                if problem is not None:
                    if self.rounds == 2:
                        # Most tables need none of it: it takes time, and costs cells.
                        problem = with_bounds(problem, self.new[0], self.known.of(COUNTS), self.plan)
                    found = protect(self.plan, problem, must, service, of_unions, remaining, found.witnesses)
                    if not found.proved and problem.published:
                        # What they hold back may have been told before: that the joint audit knows.
                        problem = replace(problem, published=())
                        found = protect(self.plan, problem, must, service, of_unions, remaining)
                if not found.proved or (self.unsafe & ~(found.secret & found.marked)).any():
                    break
                left = self._left(known, found)
                decided = self._decided_or_more(found, left, inspector, remaining, each)
                if isinstance(decided, Outcome):
                    return decided
                must = found.secret | decided
            except (SpanBudgetExceeded, JointlyUnproved, TooManyDifferences):
                return self.held(Consequence.REFER, ReasonCode.UNPROVED)
        hopeless = found.impossible and not self.known.of(self.new[0].quantity).empty
        if found.in_time and (hopeless or must is not first):
            return self._refused(found)
        return self.held(self.plan.policy.unproved_consequence, ReasonCode.UNPROVED)

    def _decided_or_more(
        self,
        found: Protected,
        left: list[ReleasedTable],
        inspector: Inspector,
        remaining: Callable[[], float],
        each: int,
    ) -> Outcome | BoolArray:
        """What may be decided about a proved pattern, or cells to withhold as well for what it tells."""
        more = self._telling(left, inspector, remaining, each)
        if not more.any():
            more = self.together.crossing(left, inspector, self.unsafe)
            if more[-1] and self._of_population() is not None:
                # A number that tells a few is refused as any other difference, and not as a few.
                return self._refused(found)
        if not more.any():
            return self._released(found, left)
        if not self.plan.policy.zeros_withheld and (more & (self.facts.units == 0)).any():
            # Everybody takes a withheld cell to have somebody: a zero is told, or the table is not.
            return self._refused(found)
        return more

    def _telling(
        self,
        left: Sequence[ReleasedTable],
        inspector: Inspector,
        remaining: Callable[[], float],
        each: int,
    ) -> BoolArray:
        """Cells without which nothing is told by all that would have left; see `Together`."""
        more = self.together.revealing(left)
        if not more.any():
            more = differences_within(self.computed.axes, left, inspector)
        if not more.any():
            more = self.together.telling(left, remaining, each)
        return more

    def _tells_nothing_new(self, known: Mapping[str, BoolArray], marked: BoolArray) -> bool:
        """Whether each cell is either known or was withheld before, so that the table is an old one anew.

        Nothing need be proved then: whoever gets it knows what he knew. That nobody in the table has a code
        is nothing he knew, unless it has left.
        """
        old = np.logical_and.reduce([*known.values()]) | self._marked_before()
        return bool(old.all()) and not self._tells_first(known, marked)

    def _tells_first(self, known: Mapping[str, BoolArray], marked: BoolArray) -> bool:
        """Whether anything that the table tells of cells was not told for sure, of the same figures.

        What follows from sums that were is no news, but for persons, who do not add up as records do.
        """
        adding = RECORDS if self.plan.dataset.varying is not None else PERHAPS
        for quantity, told in zip(self.new, self._told_figures(marked), strict=True):
            before = self.known.of(quantity.quantity)
            follows = np.where(known[quantity.quantity] & (before.sure is None), adding, 0)
            if (told & PERHAPS & ~(_surely_told(before, quantity) | follows)).any():
                return True
        return False

    def _told_figures(self, marked: BoolArray) -> list[IntArray]:
        """What the answer tells of each quantity, with these cells marked; see `telling`."""
        return told_figures(self.plan, self.computed.axes, self.computed.varying, self.new, marked)

    def _marked_before(self) -> BoolArray:
        """Cells that were withheld before, and of which that tells nothing new.

        The same people may have been withheld as another box. That this one is not empty is new then.
        """
        if self.plan.policy.zeros_withheld:
            return self.before
        boxes = self.known.of(COUNTS).boxes
        counts = [quantity for quantity in self.new if quantity.quantity == COUNTS]
        marked = [[boxes.withheld(box) for box in quantity.boxes] for quantity in counts]
        found: BoolArray = self.before & np.all(marked, axis=0)
        return found

    def _problem(self, known: Mapping[str, BoolArray]) -> Problem:
        """What is to be protected, and what an intruder knows of it."""
        sums = {q.quantity: self.known.of(q.quantity).released_sums(q.table) for q in reversed(self.new)}
        # Who knows which codes go together knows of these, too, whatever the table shows.
        nobody = self.empty | [box == NOBODY for box in self.new[0].boxes]
        seen = {quantity: cells | nobody for quantity, cells in known.items()}
        axes = self.computed.axes
        kind = CostKind[self.plan.policy.protection_costs.upper()]
        own = cell_costs(kind, axes, self.facts, self.unsafe | self.before)
        prices = costs(own, denominators(axes, self.plan.layout))
        problem = make_problem(self.plan, self.computed, self.facts, seen, sums, prices, self.findings)
        return self.implied.widened(problem, self.plan)

    def _differences(self, inspector: Inspector) -> tuple[BoolArray, BoolArray]:
        """Cells in unsafe differences with earlier releases: by filters only, and by detail."""
        tables = [
            (quantity, self.known.of(quantity.quantity).published)
            for quantity in (*self.new, *self.weights.all_tables, *self.implied.tables)
            if judged_by(quantity.quantity, inspector.rules.contributions.weighted)
        ]
        found = unsafe_differences(tables, inspector, self.implied.names)
        by_filter = np.any([differences.by_filter for differences in found], axis=0)
        by_detail = np.any([differences.by_detail for differences in found], axis=0)
        return by_filter, by_detail

    def _left(self, known: Mapping[str, BoolArray], found: Protected) -> list[ReleasedTable]:
        """The table as it would leave, and what that tells.

        What is withheld now and is known from before, or is withheld as a share only, counts as known. Of
        totals that were not asked for, and do not follow, nothing is told; nor of sums that were not judged.
        """
        secret, left = found.secret, list[ReleasedTable]()
        figures_told = self._told_figures(found.marked)
        ratios = told_ratios(self.plan, self.computed.axes, self.new, figures_told, found.marked)
        for quantity, told_now, of_both in zip(self.new, figures_told, ratios, strict=True):
            if quantity.facts.measures and sums_not_judged(self.plan, quantity.quantity):
                continue
            before = secret & known[quantity.quantity]
            # Of records that follow persons do not, and nothing protects them: they count as perhaps told.
            persons = quantity.quantity == COUNTS and self.plan.dataset.varying is not None
            figures = np.where(before & persons, told_now | UNITS, told_now)
            states = np.where((figures != 0) | before, State.PUBLISHED, State.ABSENT)
            states[secret & ~before] = State.WITHHELD
            told = self._told(quantity.quantity, before)
            left.append(replace(quantity.with_states(states), told=told, figures=figures, ratios=of_both))
        shown = {
            (one.quantity, box)
            for one in self.new
            for box, withheld in zip(one.boxes, secret.tolist(), strict=True)
            if not withheld
        }
        return [*left, *(one for side in self.weights.tables for one in self._left_of(side, found, shown))]

    def _left_of(
        self, side: Sequence[ReleasedTable], found: Protected, shown: Set[tuple[str, Box]]
    ) -> list[ReleasedTable]:
        """The people of one weight as they would leave: perhaps told where the figures of the cell are."""
        known, left = self.together.known_cells(side, self.known), list[ReleasedTable]()
        figures = told_figures(
            self.plan, self.computed.axes, self.computed.varying, [self.new[0], *side], found.marked
        )
        for table, told_now in zip(side, figures[1:], strict=True):
            before = found.secret & known[table.quantity]
            perhaps = np.where(told_now != 0, PERHAPS, 0)
            states = np.where((perhaps != 0) | before, State.PUBLISHED, State.ABSENT)
            # Everybody takes what is withheld to have somebody: that nobody weighs so is not hidden.
            hidden = found.secret & ~before & [(table.quantity, box) not in shown for box in table.boxes]
            some = (table.table.records > 0) | (self.plan.policy.count_floor == 0)
            states[hidden] = np.where(some, State.WITHHELD, State.ABSENT)[hidden]
            told = self._told(table.quantity, before)
            left.append(replace(table.with_states(states), told=told, figures=perhaps))
        return left

    def _told(self, quantity: str, cells: BoolArray) -> Told:
        """Cells withheld though they are known, and which of them break a rule in a quantity."""
        if not cells.any():
            return NOTHING_TOLD
        about = {"", quantity, quantity.removeprefix(WEIGHTED_PREFIX)}
        own = [one for one in self.findings if one.rule in OF_CELLS and one.measure in about]
        unsafe = cells & unsafe_cells(own, len(cells))
        return Told(*(tuple(np.flatnonzero(which).tolist()) for which in (cells, unsafe)))

    def _released(self, found: Protected, left: list[ReleasedTable]) -> Outcome:
        """Released, unless its total is withheld."""
        population = self._of_population()
        if population is not None and any(table.table.states[-1] == State.WITHHELD for table in left):
            # As if the population were too small: that it is not would be told of a number that is withheld.
            return self._population_held(population, ReasonCode.MINIMUM_BASE)
        if self.versions is not None:
            left = self._left(self.together.known_cells(self.new, self.versions.own), found)
        codes = (ReasonCode.MINIMUM_UNITS,) if found.marked.any() else ()
        released = tuple(map(self._with_doubts, left))
        return Outcome(None, codes, _states(found.marked), tuple(self.findings), self.judgement, released)

    def _with_doubts(self, table: ReleasedTable) -> ReleasedTable:
        """With what the joint audit has found of its withheld cells to be told before, if only perhaps."""
        found = self.together.doubted.get(table.quantity)
        if not found:
            return table
        boxes = table.boxes
        if table.quantity != COUNTS:
            boxes = tuple(plain(box, having_variable(table.quantity)) for box in boxes)
        withheld = np.flatnonzero(table.table.states == State.WITHHELD).tolist()
        doubted = tuple(cell for cell in withheld if boxes[cell] in found)
        return replace(table, told=replace(table.told, doubted=doubted))

    def _refused(self, found: Protected) -> Outcome:
        """Held, as there is no cell to withhold in place of the table."""
        consequence = self.plan.policy.differencing_consequence
        self.findings.append(unsafe_difference(~found.marked, consequence))
        held = Consequence.REFER if consequence is Consequence.REFER else Consequence.REFUSE
        return self.held(held, ReasonCode.DIFFERENCING)


def _surely_told(known: KnownQuantity, table: ReleasedTable) -> IntArray:
    """What has been told of cells for sure, as flags, shape (cells,)."""
    boxes = known.surely().boxes
    return np.array([boxes.told(box) & PERHAPS for box in table.boxes], dtype=np.int64)


def _states(withheld: BoolArray) -> IntArray:
    """States of cells that are withheld or else published."""
    return np.where(withheld, State.WITHHELD, State.PUBLISHED).astype(np.int64)
