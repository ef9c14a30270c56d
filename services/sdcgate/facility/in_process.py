"""A whole facility in one process: the methods behind risk and protection are called directly.

For trying policies, and for tests. What is decided here is decided by the same code, in a ledger of its own.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.facility.facility import Facility
from sdcgate.facility.ports import Pattern, answered_in
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing
from sdcgate.methods.cells import Axis, BoolArray, Facts
from sdcgate.methods.outputs.model_checks import ModelFinding, assess_model
from sdcgate.methods.outputs.model_facts import ModelFacts
from sdcgate.methods.outputs.model_rules import ModelRules
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment, assess_statistic
from sdcgate.methods.outputs.statistic_facts import Statistic, StatisticFacts
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.assessment import Assessment, Key, assess_table
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.suppression import protect
from sdcgate.methods.tables.witnesses import Witnesses
from sdcgate.policy.model import Policy

SECRET_BYTES = 32


class LocalRisk:
    """The risk service's methods, called directly."""

    def assess_table(
        self,
        axes: tuple[Axis, ...],
        facts: Facts,
        rules: Rules,
        base_units: int,
        key: Key | None,
        timeout: float,  # noqa: ARG002
    ) -> Assessment:
        """Findings, and the risk of the key where one is given."""
        return assess_table(axes, facts, rules, base_units, key)

    def assess_model(
        self,
        facts: ModelFacts,
        rules: ModelRules,
        timeout: float,  # noqa: ARG002
    ) -> tuple[ModelFinding, ...]:
        """Findings on a model."""
        return assess_model(facts, rules)

    def assess_statistic(
        self,
        statistic: Statistic,
        facts: StatisticFacts,
        rules: StatisticRules,
        errors: bool,
        timeout: float,  # noqa: ARG002
    ) -> StatisticAssessment:
        """Findings on a statistic."""
        return assess_statistic(statistic, facts, rules, errors)


class LocalProtection:
    """The protection service's methods, called directly."""

    def protect_table(
        self,
        problem: Problem,
        unsafe: BoolArray,
        time_limit: float,
        timeout: float,
        known: Witnesses | None = None,
        effort: int = 0,
    ) -> Pattern:
        """A pattern that withholds the unsafe cells and others that would reveal them."""
        found = protect(problem, unsafe, time_limit, known, left=answered_in(timeout), effort=effort)
        return Pattern(np.asarray(found.withheld), found.proof, found.witnesses, found.in_time)


@contextmanager
def scratch_facility(
    folder: Path, engine: Engine, policies: Mapping[str, Policy], default_policy: str
) -> Iterator[Facility]:
    """A facility whose ledger is empty and lies, with its keys, in an empty folder of the caller's.

    It has no budgets: what was asked in a year may be asked of it in a minute.
    """
    ledger = Ledger.open(
        f"sqlite:///{folder / 'ledger.sqlite'}", KeyRing.open(folder / "keys"), folder / "heads.jsonl"
    )
    try:
        yield Facility(
            engine,
            ledger,
            LocalRisk(),
            LocalProtection(),
            {name: policy.without_budgets() for name, policy in policies.items()},
            default_policy,
            secrets.token_bytes(SECRET_BYTES),
        )
    finally:
        ledger.close()
