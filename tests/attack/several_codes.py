"""Attacks on groups of whom nobody is well, though no single illness is that of nearly all."""

from typing import Any

from attack.claims import Claim, attack
from attack.populations import ALL_ILL, old_patients, patients, silent_patients
from attack.publishers import Api
from attack.subtracting import listen, number
from attack.world import Box

GROUP: Box = {"town": ALL_ILL[:1], "trade": ALL_ILL[1:]}
WELL: Box = {**GROUP, "illness": ("none",)}
WITHOUT_COMPLAINT: Box = {**GROUP, "complaint": ("none",)}
OLD_AND_WELL: Box = {**WELL, "age": ("old",)}
GROUPS: dict[str, Any] = {"rows": ["town"], "columns": ["trade"]}


@attack("None healthy, by one table", patients, number(WELL))
def one_table(api: Api) -> Claim:
    """As many have flu or gout as there are."""
    return listen(api, {**GROUPS, "layers": ["illness"]}).count(WELL)


@attack("None healthy, by three tables", patients, number(WELL))
def three_tables(api: Api) -> Claim:
    """Everybody, those with flu and those with gout."""
    filters = ({}, {"illness": ["flu"]}, {"illness": ["gout"]})
    return listen(api, *({**GROUPS, "filter": one} for one in filters)).count(WELL)


@attack("None healthy, by filters for pairs of codes", patients, number(WELL))
def pairs_of_codes(api: Api) -> Claim:
    """All who have no gout, all who have no flu, and everybody: who is well is in the first two."""
    filters = ({"illness": ["none", "flu"]}, {"illness": ["none", "gout"]}, {})
    return listen(api, *({**GROUPS, "filter": one} for one in filters)).count(WELL)


@attack("The finer level before the coarse one", patients, number(WELL))
def finer_first(api: Api) -> Claim:
    """Whether people are ill is withheld; of what, asked for before, tells it."""
    return listen(api, *({**GROUPS, "layers": [level]} for level in ("illness", "illness:status"))).count(
        WELL
    )


@attack("All who answered have it", silent_patients, number(WITHOUT_COMPLAINT))
def all_who_answered(api: Api) -> Claim:
    """Half of a group have not answered, so that no complaint is that of nearly all."""
    return listen(api, {**GROUPS, "layers": ["complaint"]}).count(WITHOUT_COMPLAINT)


@attack("None healthy, by subtraction", old_patients, number(OLD_AND_WELL))
def by_subtraction(api: Api) -> Claim:
    """The well of all ages and the well who are young; everybody, and the young."""
    ages: tuple[dict[str, Any], ...] = ({}, {"age": ["young"]})
    well = ({**GROUPS, "filter": {**one, "illness": ["none"]}} for one in ages)
    return listen(api, *({**GROUPS, "filter": one} for one in ages), *well).count(OLD_AND_WELL)
