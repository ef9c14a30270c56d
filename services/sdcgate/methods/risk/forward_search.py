"""Forward search for a log-linear model, which ends in one by itself.

From independence, which fits too little and overstates the risk, interactions are added one at a time: the
one under which Skinner and Shlomo's criterion B_2, standardised, is nearest to 0; first of two variables, and
when these bring it no nearer to 0, of three whose pairs are all in. Only interactions with enough records for
their margin are looked at: the criterion takes fitted means for given, and trusts a model that has as many
margins as records. Which one comes next is told by one step of a fit, see `interaction_trials`; the five that
promise most are fitted, in a large table only up to the first that brings the criterion nearer to 0. The
search ends when the criterion no longer sees a bias, or when no interaction brings it nearer to 0. Sources:
Skinner and Shlomo (2008); Handbook on SDC, 3.3.6. They add terms until the test accepts the model; which term
comes next, and from how many records, are our own rules.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import comb, prod

from sdcgate.methods.risk.interaction_trials import CRITERION_VISITS, Trials
from sdcgate.methods.risk.loglinear import (
    TOLERANCE,
    Criteria,
    Generator,
    KeyTable,
    LogLinear,
    criteria,
    fit,
    hierarchical,
    main_effects,
)
from sdcgate.methods.risk.proportional_fitting import MOST_VISITS

FITTED = 5
"""Interactions that are fitted for a step: the most promising ones."""
LARGE = 2_000_000
"""Possible keys above which the first of them that brings the criterion nearer to 0 is taken."""
LARGEST_ORDER = 3
LEAST_FILLED = 5.0
"""Records for each cell of the margin that an interaction must have on average."""


class Ended(StrEnum):
    """Why a search ended."""

    FITS = "the criterion sees no bias"
    NO_BETTER = "no further interaction brings the criterion nearer to 0"
    ALL_IN = "all interactions are in"
    WORK = "the work that it may take is done"


@dataclass(frozen=True, slots=True)
class Step:
    """A model on the way."""

    added: Generator
    """The interaction that was added; () for independence."""
    generators: tuple[Generator, ...]
    criterion: float
    """B_2, standardised."""


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Where a search ended, and how it came there."""

    model: LogLinear
    criteria: Criteria
    steps: tuple[Step, ...]
    """Independence first, the model last."""
    ended: Ended
    visits: float
    """Cells that were visited, about."""

    @property
    def interactions(self) -> tuple[Generator, ...]:
        """Those of the model that no other implies."""
        return tuple(one for one in self.model.generators if len(one) > 1)


def forward_search(
    table: KeyTable,
    *,
    order: int = LARGEST_ORDER,
    pseudo: bool = False,
    start: LogLinear | None = None,
    most_visits: float = MOST_VISITS,
) -> Search:
    """Search for a model, from independence, with interactions of up to `order` variables.

    `pseudo`: fits of weighted counts, see `fit`. `start`: the fit of independence, where it is there. No
    step is begun after `most_visits` cells were visited. Raises ValueError where `order` is below 2, or
    `start` another model.
    """
    if order < 2:
        raise ValueError("order must be at least 2")
    if start is not None and (start.generators != main_effects(len(table.shape)) or start.pseudo != pseudo):
        raise ValueError("start must be the fit of independence to the same counts")
    return _Walk(table, order, pseudo, start, most_visits).search()


class _Walk:
    def __init__(
        self, table: KeyTable, order: int, pseudo: bool, start: LogLinear | None, most_visits: float
    ) -> None:
        self._table, self._order, self._pseudo, self._most = table, order, pseudo, most_visits
        self._variables, self._visits = len(table.shape), 0.0
        self._model = start or fit(table, main_effects(self._variables), pseudo=pseudo)
        self._criteria = criteria(table, self._model)
        self._in: set[Generator] = set(main_effects(self._variables))
        self._steps = [Step((), self._model.generators, self._criteria.standardised_2)]

    def search(self) -> Search:
        """Steps until one of the ends is met."""
        size, ended = 2, self._ended()
        while ended is None and size <= min(self._order, self._variables):
            if not self._add(self._best(size)):
                size += 1
            ended = self._ended()
        if ended is None:
            whole = len(self._in) == sum(comb(self._variables, one) for one in range(1, size))
            ended = Ended.ALL_IN if whole else Ended.NO_BETTER
        return Search(self._model, self._criteria, tuple(self._steps), ended, self._visits)

    def _ended(self) -> Ended | None:
        if self._criteria.fits:
            return Ended.FITS
        return Ended.WORK if self._visits >= self._most else None

    def _best(self, size: int) -> list[Generator]:
        """The interactions of `size` variables that promise to bring the criterion nearest to 0, best first.

        None of them where no work is left to try them all.
        """
        trials, found = Trials(self._table, self._model), list[tuple[float, Generator]]()
        before = self._visits
        for one in combinations(range(self._variables), size):
            if one in self._in or not self._possible(one):
                continue
            if self._visits >= self._most:
                return []
            found.append((abs(trials.standardised(one)), one))
            self._visits = before + trials.visits
        return [one for _, one in sorted(found)[:FITTED]]

    def _possible(self, one: Generator) -> bool:
        """Whether all its parts are in, and its margin is well filled."""
        cells = prod(self._table.shape[variable] for variable in one)
        filled = float(self._table.keys.counts.sum()) >= LEAST_FILLED * cells
        return filled and self._in.issuperset(combinations(one, len(one) - 1))

    def _add(self, promising: list[Generator]) -> bool:
        """Go on to the model with the one of them that brings the criterion nearest to 0, if one does."""
        best: tuple[Generator, LogLinear, Criteria] | None = None
        nearest = abs(self._criteria.standardised_2)
        for one in promising:
            if self._visits >= self._most:
                break
            model = self._fit((*self._in, one))
            found = criteria(self._table, model)
            self._visits += CRITERION_VISITS * prod(self._table.shape)
            if model.converged and abs(found.standardised_2) < nearest:
                best, nearest = (one, model, found), abs(found.standardised_2)
                if len(model.table) > LARGE:
                    break
        if best is None:
            return False
        one, self._model, self._criteria = best
        self._in.add(one)
        self._steps.append(Step(one, self._model.generators, self._criteria.standardised_2))
        return True

    def _fit(self, generators: tuple[Generator, ...]) -> LogLinear:
        named = hierarchical(generators, self._variables)
        left = max(0.0, self._most - self._visits)
        model = fit(
            self._table,
            named,
            pseudo=self._pseudo,
            start=self._model,
            tolerance=TOLERANCE,
            most_visits=left,
        )
        self._visits += model.visits
        return model
