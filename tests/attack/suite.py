"""All attacks, and how one of them is run."""

import importlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from attack.claims import NOTHING, REGISTRY, Attack, Claim
from attack.hearing import RegistrationRefusedError
from attack.publishers import Api
from attack.world import World
from sdcgate.policy.files import BUNDLED

FAMILIES = (
    "subtracting",
    "reconstructing",
    "magnitudes",
    "weighing",
    "several_codes",
    "histories",
    "modelling",
    "oracles",
    "known_gaps",
)
for _family in FAMILIES:
    importlib.import_module(f"attack.{_family}")

ATTACKS = tuple(REGISTRY)
CLOSED = tuple(one for one in ATTACKS if not one.open)
OPEN = tuple(one for one in ATTACKS if one.open)
CLOSABLE = tuple(one for one in OPEN if one.closed_by)
CLOSED_POLICY = "closed"
"""The bundled policy with all settings that close what it leaves open."""


def write_closed_policy(folder: Path) -> None:
    """Puts that policy into a folder of policies."""
    text = (BUNDLED / "israel-cbs.yaml").read_text().replace("name: israel-cbs", f"name: {CLOSED_POLICY}", 1)
    settings = "".join(f"    {attack.closed_by}\n" for attack in CLOSABLE)
    (folder / f"{CLOSED_POLICY}.yaml").write_text(text.replace("    method:", f"{settings}    method:", 1))


@dataclass(frozen=True)
class Outcome:
    """What came of one attack on one publisher."""

    success: bool
    requests: int
    seconds: float
    claim: Claim = NOTHING
    right: bool = True
    invalid: str = ""
    """Why it does not count that nothing was learnt."""

    @property
    def withstood(self) -> bool:
        """Whether nothing was learnt from a house that did answer."""
        return not (self.success or self.invalid)


def outcome(attack: Attack, world: World, api: Api) -> Outcome:
    """Runs an attack and compares what the intruder is certain of with the truth."""
    began = time.perf_counter()
    try:
        claim, broken = attack.on(api), ""
    except (RegistrationRefusedError, httpx.HTTPError, json.JSONDecodeError) as error:
        claim, broken = NOTHING, f"{type(error).__name__} {error}"
    success = attack.succeeded(world, claim)
    invalid = "" if success else broken or attack.needs.unmet(api.answers)
    seconds = time.perf_counter() - began
    return Outcome(success, api.requests, seconds, claim, attack.is_right(world, claim), invalid)
