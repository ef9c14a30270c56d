"""What the facility needs of the stateless services; servers pass in callers of the real ones."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sdcgate.methods.cells import Axis, BoolArray, Facts
from sdcgate.methods.outputs.model_checks import ModelFinding
from sdcgate.methods.outputs.model_facts import ModelFacts
from sdcgate.methods.outputs.model_rules import ModelRules
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistic_facts import Statistic, StatisticFacts
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.assessment import Assessment, Key
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.witnesses import Witnesses


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What the protection service proposes, with the witnesses that prove it."""

    withheld: BoolArray = field(repr=False)
    proof: Proof = Proof.UNSPECIFIED
    witnesses: Witnesses | None = field(default=None, repr=False)
    in_time: bool = True
    """False where the clock ended the search: with more time a pattern may be found."""


class RiskService(Protocol):
    """Judges cells by rules."""

    def assess_table(
        self,
        axes: tuple[Axis, ...],
        facts: Facts,
        rules: Rules,
        base_units: int,
        key: Key | None,
        timeout: float,
    ) -> Assessment:
        """Findings, and the risk of the key where one is given.

        Raises:
            Unavailable: the service did not answer, or not sensibly.
        """

    def assess_model(self, facts: ModelFacts, rules: ModelRules, timeout: float) -> tuple[ModelFinding, ...]:
        """Findings on a fitted model.

        Raises:
            Unavailable: the service did not answer, or not sensibly.
        """

    def assess_statistic(
        self,
        statistic: Statistic,
        facts: StatisticFacts,
        rules: StatisticRules,
        errors: bool,
        timeout: float,
    ) -> StatisticAssessment:
        """Findings on a statistic of groups.

        Raises:
            Unavailable: the service did not answer, or not sensibly.
        """


class ProtectionService(Protocol):
    """Finds patterns and proves them."""

    def protect_table(
        self,
        problem: Problem,
        unsafe: BoolArray,
        time_limit: float,
        timeout: float,
        known: Witnesses | None = None,
        effort: int = 0,
    ) -> Pattern:
        """A pattern that withholds the unsafe cells and others that would reveal them.

        Which one is found depends on `time_limit`, seconds, and on the `effort`, about milliseconds, that is
        spent on a cheaper one, and on nothing else. Where the time, or the `timeout` of the caller, ends the
        search it is not proved, and not `in_time`. What the `known` witnesses of a smaller pattern prove need
        not be proved again.

        Raises:
            Unavailable: the service did not answer, or not sensibly.
        """


def answered_in(timeout: float) -> float:
    """Seconds that a proof may take of a caller's, so that there is time for the answer."""
    return max(timeout - 0.5, 0.05)


def nothing_withheld(cells: int) -> Pattern:
    """The pattern of a table in which nothing is unsafe: there is nothing to prove."""
    return Pattern(np.zeros(cells, dtype=np.bool_), Proof.PROVED)
