"""What an attack is, and when it has succeeded."""

from collections.abc import Callable
from dataclasses import dataclass

from attack.publishers import Api, Careless
from attack.world import Box, World


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

    He has succeeded if the truth lies within his claim, and the claim is no wider than `tolerance`.
    """

    name: str
    family: str
    tries: str
    world: Callable[[], World]
    truth: Callable[[World], float]
    run: Callable[[Api], Claim]
    tolerance: float = 0.5
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

    def succeeded(self, world: World, claim: Claim) -> bool:
        """Compares the claim with the truth."""
        truth = self.truth(world) if claim.box is None else float(len(world.where(claim.box)))
        return claim.width <= self.tolerance and claim.low - 1e-6 <= truth <= claim.high + 1e-6


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
