"""Policies that propose something coarser, and what may end a search for it."""

from dataclasses import replace

from sdcgate.facility.errors import Unavailable
from sdcgate.facility.in_process import LocalRisk
from sdcgate.facility.kept_releases import left_of
from sdcgate.methods.tables.solver import Deadline
from sdcgate.policy.loading import load_policies
from sdcgate.policy.model import RedesignProposals


def proposing(limits, consequence="protect", **sections):
    """The bundled policies, with proposals within limits and another consequence of small cells.

    `sections` of the policy have other settings by name.
    """
    policies = dict(load_policies())
    cbs = policies["israel-cbs"]
    redesign = RedesignProposals(**{"proposals": 3, **limits})

    def changed(level):
        units = level.rules.minimum_units.model_copy(update={"consequence": consequence})
        rules = level.rules.model_copy(update={"minimum_units": units})
        others = {name: getattr(level, name).model_copy(update=told) for name, told in sections.items()}
        return level.model_copy(update={"rules": rules, "redesign": redesign, **others})

    levels = {name: changed(level) for name, level in cbs.access_levels.items()}
    policies["israel-cbs"] = replace(cbs, access_levels=levels, datasets={})
    return policies


class Ending(Deadline):
    """Over once it was looked at so often."""

    def __init__(self, looks: int) -> None:
        super().__init__(60.0)
        self._looks = looks

    @property
    def over(self) -> bool:
        self._looks -= 1
        self.missed = self._looks <= 0
        return self.missed


def answering_once(method):
    """A risk service that answers one call of a method, and fails at the next."""
    risk, asked = LocalRisk(), []
    answer = getattr(risk, method)

    def once(*args):
        asked.append(args)
        if len(asked) > 1:
            raise Unavailable("no answer")
        return answer(*args)

    setattr(risk, method, once)
    return risk


def kept(house):
    """What the ledger keeps of randhie that became known, but that answers were held."""
    return [one for one in house.ledger.releases("randhie") if not left_of(one).held]
