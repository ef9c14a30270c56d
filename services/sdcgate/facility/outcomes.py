"""What may be decided about a table at one head of the ledger, and what becomes known by it."""

from dataclasses import dataclass, field

from sdcgate.facility.knowledge import NoisyRelease, ReleasedTable
from sdcgate.facility.population_limits import PopulationLimit
from sdcgate.methods.cells import Facts, IntArray
from sdcgate.methods.rules import Consequence, Finding, ReasonCode
from sdcgate.methods.tables.assessment import Assessment


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAnswer:
    """Facts of a table with noise, and what becomes known by them."""

    facts: Facts = field(repr=False)
    release: NoisyRelease = field(repr=False)


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
    noisy: NoisyAnswer | None = field(default=None, repr=False)
    """What leaves in place of the true figures, where it has noise."""
    noisy_total: NoisyRelease | None = field(default=None, repr=False)
    """What counts as told of the population by an answer with noise that is held: its noisy count."""
    message: str = ""
    """What is said in place of the usual words; it rests on nothing in the data."""
    limit: PopulationLimit | None = None
    """What is told of the population where it is too small."""
