"""Attacks by regressions: their coefficients are means of somebody, and they have residual degrees enough."""

from attack.claims import NOTHING, SUM, Claim, attack
from attack.hearing import Needs
from attack.populations import TOWNS, census
from attack.publishers import Api, Estimated
from attack.subtracting import FEW, NO_SCHOOL, OTHERS, RARE, number
from attack.world import MISSING, Box, World

SCHOOLS = ["e1", "e2", "e3"]
IN_TOWN = {"town": ["t3"]}
TOLERANCE = 20.0
"""An income to within 20 of up to 4,000."""


def income(box: Box):
    """The true income of all in a box together."""
    return lambda world: float(world.where(box)["income"].sum())


def mean_income(box: Box):
    """The true mean income in a box."""
    return lambda world: float(world.where(box)["income"].mean())


def silent_income(world: World) -> float:
    """The income of the one who has not told his hours."""
    return float(world.records[world.records["hours"].isna()]["income"].iloc[0])


def about(value: float | None, width: float = TOLERANCE) -> Claim:
    """A value give or take what rounding takes; nothing where there is none."""
    return NOTHING if value is None else Claim(value - width / 2, value + width / 2)


def total(found: Estimated) -> float | None:
    """Sum of the outcome, from its mean and the number of records."""
    mean = found.coefficients.get("1")
    return None if mean is None or found.records is None else mean * found.records


def fitted(found: Estimated, *names: str) -> float | None:
    """A sum of coefficients; None where one of them is not shown."""
    values = [found.coefficients.get(name) for name in names]
    return None if None in values else sum(value for value in values if value is not None)


def apart(first: float | None, second: float | None) -> float | None:
    """A difference; None where one of the two is not known."""
    return None if first is None or second is None else first - second


@attack("A dummy for one person", census, income(NO_SCHOOL), of=SUM)
def own_dummy(api: Api) -> Claim:
    """A factor of which one category is one person: the constant and its coefficient are his outcome."""
    found = api.fit("income", "school", filter=IN_TOWN)
    own = f"school[{MISSING}]"
    # The first code in the order of a file is what the others are compared with.
    return about(fitted(found, "1", own) if own in found.coefficients else fitted(found, "1"))


@attack("A dummy for a few people", census, mean_income(RARE), of=SUM)
def rare_dummy(api: Api) -> Claim:
    """The constant and the coefficient of a rare category are the mean of the few who have it."""
    return about(fitted(api.fit("income", "trade"), "1", "trade[k9]"))


@attack("A model with all interactions", census, mean_income(FEW), of=SUM)
def saturated(api: Api) -> Claim:
    """With a filter for one factor and the other as a dummy, a regression is a row of the table."""
    return about(fitted(api.fit("income", "trade", filter={"town": ["t2"]}), "1", "trade[k3]"))


@attack("Regressions of nested populations", census, income(NO_SCHOOL), of=SUM)
def nested_models(api: Api) -> Claim:
    """The constant alone, for all and for all but one: means times records, one from the other."""
    every = total(api.fit("income", filter=IN_TOWN))
    return about(apart(every, total(api.fit("income", filter={**IN_TOWN, "school": SCHOOLS}))))


@attack("A regression against a table", census, income(NO_SCHOOL), of=SUM)
def model_and_table(api: Api) -> Claim:
    """The table's sum for all, the regression's for all but one."""
    heard = api.ask(["town"], figures=["UNITS", "SUM:income"])
    rest = total(api.fit("income", filter={**IN_TOWN, "school": SCHOOLS}))
    return about(apart(heard.shown("t3", figure="SUM:income"), rest))


@attack("Records of two regressions", census, number(FEW))
def records_of_models(api: Api) -> Claim:
    """How many records a regression has, with and without the few."""
    every = api.fit("income", filter={"town": ["t2"]}).records
    rest = api.fit("income", filter={"town": ["t2"], "trade": OTHERS}).records
    return about(apart(every, rest), 0.5)


@attack("Who drops out of a regression", census, silent_income, of=SUM, needs=Needs(2))
def incomplete_cases(api: Api) -> Claim:
    """A term that one person lacks leaves him out: the fitted mean against the mean of all."""
    town = {"town": ["t4"]}
    every = api.fit("income", filter=town)
    without = api.fit("income", "hours", filter=town)
    hours = api.ask(["town"], figures=["MEAN:hours"]).shown("t4", figure="MEAN:hours")
    slope, constant = without.coefficients.get("hours"), without.coefficients.get("1")
    if hours is None or slope is None or constant is None or without.records is None:
        return NOTHING
    return about(apart(total(every), (constant + slope * hours) * without.records))


@attack("A total against all other coefficients", census, income(RARE), of=SUM, needs=Needs(3))
def rest_of_coefficients(api: Api) -> Claim:
    """The mean of all, less the means of the categories that are shown, times their records."""
    every = total(api.fit("income"))
    heard = api.ask(["trade"])
    found = api.fit("income", "trade")
    rest = every
    for trade in ("k1", "k2", "k3", "k4"):
        mean = fitted(found, "1") if trade == "k1" else fitted(found, "1", f"trade[{trade}]")
        people = heard.shown(trade)
        rest = apart(rest, None if mean is None or people is None else mean * people)
    return about(rest, 8 * TOLERANCE)


@attack("Every town by a regression of its own", census, income(NO_SCHOOL), of=SUM, needs=Needs(4))
def town_by_town(api: Api) -> Claim:
    """Regressions of all towns together and of each, with and without the one who has no school."""
    sums = [total(api.fit("income", filter={"town": [town]})) for town in TOWNS if town != "t3"]
    every, valid = total(api.fit("income")), total(api.fit("income", filter={"school": SCHOOLS}))
    with_him = every
    for found in sums:
        with_him = apart(with_him, found)
    without = valid
    for found in sums:
        without = apart(without, found)
    return about(apart(with_him, without))
