"""What an attack is, and when it has succeeded."""

from collections.abc import Callable
from dataclasses import dataclass

from attack.hearing import Needs
from attack.publishers import Api, Careless
from attack.world import Box, World

COUNT_WIDTH = 10.0
"""How far apart two tables must lie in a withheld count that the bundled policy calls proved."""
SUM_WIDTH = 0.1
"""The same of a sum, as a share of it: also the p% that nobody may come near the largest."""
ONE_ANSWER = Needs()
COUNT, SUM, PRESENCE = "count", "sum", "presence"


@dataclass(frozen=True)
class Claim:
    """What the intruder is certain of: that the value lies between two others.

    `box`: whose number it is, where he chooses himself whom he attacks.
    """

    low: float = float("-inf")
    high: float = float("inf")
    box: Box | None = None

    @property
    def width(self) -> float:
        """Nothing known is infinitely wide."""
        return self.high - self.low


NOTHING = Claim()


def exactly(value: float | None) -> Claim:
    """One value, or nothing where there is none."""
    return NOTHING if value is None else Claim(value, value)


@dataclass(frozen=True)
class Attack:
    """An automated intruder and what he is after.

    He has succeeded if the truth lies within his claim, and the claim is narrower than the policy's own
    required width. Presence is one value or nothing.
    """

    name: str
    family: str
    tries: str
    world: Callable[[], World]
    truth: Callable[[World], float]
    run: Callable[[Api], Claim]
    of: str = COUNT
    """What he is after: a count, a sum or a mean, or whether there is somebody."""
    narrowest: float | None = None
    """The width that is left by design, where that is below the required one."""
    exception: str = ""
    """Why it is."""
    needs: Needs = ONE_ANSWER
    """What the house must have answered for the attack to count."""
    careless: Callable[[World], Api] = Careless
    """Who falls for it."""
    later: Callable[[World], World] | None = None
    """What the file is a year later."""
    open: str = ""
    """Why it succeeds against sdcgate today."""
    closed_by: str = ""
    """The setting of `protection` under which it learns nothing, where the default lets it."""
    not_acro: str = ""
    """Why it cannot be tried on ACRO."""

    def on(self, api: Api) -> Claim:
        """Runs it."""
        if self.later is not None:
            api.later = self.later(api.later)
        return self.run(api)

    def required(self, world: World) -> float | None:
        """How wide the policy says that a claim must be left; None where a width says nothing."""
        if self.of == PRESENCE:
            return None
        return COUNT_WIDTH if self.of == COUNT else SUM_WIDTH * abs(self.truth(world))

    def is_right(self, world: World, claim: Claim) -> bool:
        """Whether the truth lies within the claim."""
        truth = self.truth(world) if claim.box is None else float(len(world.where(claim.box)))
        return claim.low - 1e-6 <= truth <= claim.high + 1e-6

    def succeeded(self, world: World, claim: Claim) -> bool:
        """Compares the claim with the truth, and its width with the required one."""
        required = self.required(world) if self.narrowest is None else self.narrowest
        narrow = claim.width == 0 if required is None else claim.width < required - 1e-6
        return narrow and self.is_right(world, claim)


REGISTRY: list[Attack] = []


def attack(
    name: str, world: Callable[[], World], truth: Callable[[World], float], **options: object
) -> Callable[[Callable[[Api], Claim]], Callable[[Api], Claim]]:
    """Puts a function among the attacks; its docstring says what it tries."""

    def register(run: Callable[[Api], Claim]) -> Callable[[Api], Claim]:
        family = run.__module__.rpartition(".")[2].replace("_", " ")
        tries = " ".join((run.__doc__ or "").split())
        REGISTRY.append(Attack(name, family, tries, world, truth, run, **options))  # type: ignore[arg-type]
        return run

    return register
