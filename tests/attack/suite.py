"""All attacks, and how one of them is run."""

import importlib
import time
from dataclasses import dataclass

from attack.claims import REGISTRY, Attack
from attack.publishers import Api
from attack.world import World

FAMILIES = ("subtracting", "reconstructing", "magnitudes", "histories", "modelling", "oracles", "known_gaps")
for _family in FAMILIES:
    importlib.import_module(f"attack.{_family}")

ATTACKS = tuple(REGISTRY)
CLOSED = tuple(one for one in ATTACKS if not one.open)
OPEN = tuple(one for one in ATTACKS if one.open)


@dataclass(frozen=True)
class Outcome:
    """What came of one attack on one publisher."""

    success: bool
    requests: int
    seconds: float


def outcome(attack: Attack, world: World, api: Api) -> Outcome:
    """Runs an attack and compares what the intruder is certain of with the truth."""
    began = time.perf_counter()
    claim = attack.on(api)
    return Outcome(attack.succeeded(world, claim), api.requests, time.perf_counter() - began)
