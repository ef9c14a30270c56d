"""The populations that are attacked, each with small groups whose truth an intruder wants to know."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels

from attack.world import MISSING, Box, Variable, World

TOWNS = ("t1", "t2", "t3", "t4")
TRADES = ("k1", "k2", "k3", "k4", "k5", "k9")
"""Nobody has k5; four people have k9."""
GRID = {
    ("t1", "k1"): 41, ("t1", "k2"): 38, ("t1", "k3"): 35, ("t1", "k4"): 52, ("t1", "k9"): 4,
    ("t2", "k1"): 44, ("t2", "k2"): 33, ("t2", "k3"): 3, ("t2", "k4"): 47,
    ("t3", "k1"): 36, ("t3", "k2"): 58, ("t3", "k3"): 40, ("t3", "k4"): 31,
    ("t4", "k1"): 50, ("t4", "k2"): 42, ("t4", "k3"): 37, ("t4", "k4"): 45,
}  # fmt: skip
ILLNESSES = ("none", "flu", "gout")
AGES = ("1", "2", "3", "4", "5", "6")
AGE = Variable(
    "age",
    AGES,
    {
        "halves": {"young": AGES[:3], "old": AGES[3:]},
        "pairs": {"p1": AGES[:2], "p2": AGES[2:4], "p3": AGES[4:]},
    },
)
CENSUS = (
    Variable("town", TOWNS, {"province": {"north": TOWNS[:2], "south": TOWNS[2:]}}),
    Variable("trade", TRADES),
    Variable("branch", tuple(code.replace("k", "b") for code in TRADES)),
    Variable("sex", ("f", "m")),
    AGE,
    Variable("stage", ("s1", "s2", "s3")),
    Variable("school", ("e1", "e2", "e3")),
    Variable("illness", ("none", "flu", "gout"), harmless=("none",)),
)


@cache
def census() -> World:
    """636 people by town and trade: three have trade k3 in t2, four k9, five stage s2; one has no school.

    `branch` is the trade under another name; the twelve people of k4 in t2 who are f and old all have gout.
    """
    rng = np.random.default_rng(2024)
    rows = [(town, trade) for (town, trade), number in GRID.items() for _ in range(number)]
    size = len(rows)
    made = pd.DataFrame(rows, columns=["town", "trade"])
    made["branch"] = made["trade"].str.replace("k", "b")
    # In turn within each town and trade, so that no other group is small.
    order = made.groupby(["town", "trade"]).cumcount()
    made["sex"] = np.where(order % 2 == 0, "f", "m")
    made["age"] = [AGES[int(number)] for number in rng.integers(0, 6, size)]
    made["stage"] = np.where(rng.random(size) < 0.5, "s1", "s3")
    made.loc[made.index[::140], "stage"] = "s2"
    made["school"] = rng.choice(["e1", "e2", "e3"], size)
    made.loc[made.index[(made.town == "t3") & (made.trade == "k2")][7], "school"] = MISSING
    made["illness"] = rng.choice(["none", "flu", "gout"], size, p=[0.5, 0.3, 0.2])
    ill = (made.town == "t2") & (made.trade == "k4") & (made.sex == "f") & made.age.isin(AGES[3:])
    made.loc[ill, "illness"] = "gout"
    made["income"] = np.round(rng.uniform(1000, 4000, size), 2)
    made["hours"] = rng.integers(200, 2000, size).astype(float)
    # One person in t4 has not told his hours.
    made.loc[made.index[(made.town == "t4") & (made.trade == "k1")][3], "hours"] = np.nan
    # In t3 nobody with trade k1 but one has told of a bonus.
    made["bonus"] = np.round(rng.uniform(10, 90, size), 2)
    silent = made.index[(made.town == "t3") & (made.trade == "k1")]
    made.loc[silent[silent != silent[5]], "bonus"] = np.nan
    made["weight"] = made["town"].map(dict(zip(TOWNS, (100.0, 110.0, 120.0, 130.0), strict=True)))
    made["id"] = [f"p{number}" for number in range(size)]
    return World(made, CENSUS, ("income", "hours", "bonus"))


DRAWN = {
    ("t1", "k1"): 41, ("t1", "k2"): 38, ("t1", "k3"): 5, ("t2", "k1"): 44, ("t2", "k2"): 33,
    ("t2", "k3"): 13, ("t3", "k1"): 36, ("t3", "k2"): 58, ("t3", "k3"): 40,
}  # fmt: skip


@cache
def drawn() -> World:
    """A sample by town and trade, with a weight that each town has of its own: five of trade k3 are of t1."""
    rows = [cell for cell, number in DRAWN.items() for _ in range(number)]
    made = pd.DataFrame(rows, columns=["town", "trade"])
    made["weight"] = made["town"].map({"t1": 103.37, "t2": 117.91, "t3": 131.05})
    made["id"] = [f"p{number}" for number in range(len(made))]
    return World(made, (Variable("town", ("t1", "t2", "t3")), Variable("trade", ("k1", "k2", "k3"))))


DRAWN_IN_FOUR = {
    "k1": (41, 44, 36, 52), "k2": (38, 33, 58, 47), "k3": (5, 4, 13, 40), "k4": (35, 42, 29, 61),
}  # fmt: skip


@cache
def drawn_in_four() -> World:
    """The same in four towns: nine of trade k3 are of t1 and t2."""
    towns = ("t1", "t2", "t3", "t4")
    rows = [
        (town, trade)
        for trade, counts in DRAWN_IN_FOUR.items()
        for town, count in zip(towns, counts, strict=True)
        for _ in range(count)
    ]
    made = pd.DataFrame(rows, columns=["town", "trade"])
    made["weight"] = made["town"].map(dict(zip(towns, (103.37, 117.91, 131.05, 96.83), strict=True)))
    made["id"] = [f"p{number}" for number in range(len(made))]
    return World(made, (Variable("town", towns), Variable("trade", tuple(DRAWN_IN_FOUR))))


@cache
def drawn_and_paid() -> World:
    """The same with what people earn, and ten more of trade k3 in t1: one of these earns nearly all there."""
    rng = np.random.default_rng(11)
    few = drawn().records.query("town == 't1' and trade == 'k3'")
    made = pd.concat([drawn().records, few.assign(id=few.id + "a"), few.assign(id=few.id + "b")])
    made = made.reset_index(drop=True)
    made["pay"] = np.round(rng.uniform(800, 2400, len(made)), 1)
    those = made.index[(made.town == "t1") & (made.trade == "k3")]
    made.loc[those, "pay"] = np.round(rng.uniform(20, 90, len(those)), 1)
    made.loc[those[0], "pay"] = 19_000.0
    return World(made, drawn().variables, ("pay",), least=0.0, most=20_000.0)


WEEKS = tuple(str(week) for week in range(1, 31))


@cache
def admitted() -> World:
    """Patients by ward and week, a variable and, as `since`, a measure of more than twenty values.

    Six of the east came in the third week.
    """
    counts = [(ward, week, 11 + (3 * place + 5 * at) % 9) for at, ward in enumerate(("east", "west", "north"))
              for place, week in enumerate(WEEKS)]  # fmt: skip
    rows = [
        (ward, week)
        for ward, week, count in counts
        for _ in range(6 if (ward, week) == ("east", "3") else count)
    ]
    made = pd.DataFrame(rows, columns=["ward", "week"])
    made["since"] = made["week"].astype(float)
    made["id"] = [f"p{number}" for number in range(len(made))]
    variables = (Variable("ward", ("east", "west", "north")), Variable("week", WEEKS))
    return World(made, variables, ("since",), least=1.0, most=30.0)


@cache
def paid() -> World:
    """Fourteen of t1 are of kind d, and one of these has nearly all that they earn: by month and by year.

    What somebody has in all is that and, as much as ever, a grant.
    """
    rng = np.random.default_rng(5)
    of_others = [
        (town, "abc"[number % 3]) for town, size in (("t1", 120), ("t2", 150)) for number in range(size)
    ]
    made = pd.DataFrame([*of_others, *[("t1", "d")] * 14], columns=["town", "kind"])
    few = (made.kind == "d").to_numpy()
    made["monthly"] = np.round(
        np.where(few, rng.uniform(100, 200, len(made)), rng.uniform(1000, 4000, len(made))), 2
    )
    made.loc[made.index[few][0], "monthly"] = 90_000.0
    made["yearly"] = np.round(12 * made["monthly"], 2)
    made["earned"] = made["monthly"]
    made["grants"] = np.round(rng.uniform(200, 900, len(made)), 2)
    made["had"] = np.round(made["earned"] + made["grants"], 2)
    made["id"] = [f"p{number}" for number in range(len(made))]
    variables = (Variable("town", ("t1", "t2")), Variable("kind", tuple("abcd")))
    return World(made, variables, ("monthly", "yearly"), most=2e6)


@cache
def granted() -> World:
    """The same people; what they have is what they earn and a grant."""
    return replace(paid(), measures=("earned", "grants", "had"))


CHILDREN = ("0", "1", "2", "3")
FAMILIES = {
    "t1": (8, 12, 13, 30), "t2": (40, 32, 53, 30), "t3": (44, 32, 33, 51),
}  # fmt: skip
"""How many have none, one, two or three children."""


@cache
def parents() -> World:
    """People by town and number of children, which is a variable and, as `offspring`, a measure.

    So is whether they are widowed: five of t1 are, and a third elsewhere.
    """
    rows = [
        (town, children)
        for town, counts in FAMILIES.items()
        for children, count in zip(CHILDREN, counts, strict=True)
        for _ in range(count)
    ]
    made = pd.DataFrame(rows, columns=["town", "children"])
    place = made.groupby("town").cumcount()
    made["widowed"] = np.where(np.where(made.town == "t1", place < 5, place % 3 == 0), "yes", "no")
    made["offspring"] = made["children"].astype(float)
    made["widows"] = (made["widowed"] == "yes").astype(float)
    made["sex"] = np.where(place % 2 == 0, "f", "m")
    made["id"] = [f"p{number}" for number in range(len(made))]
    variables = (
        Variable("town", tuple(FAMILIES)),
        Variable("children", CHILDREN),
        Variable("widowed", ("yes", "no")),
        Variable("sex", ("f", "m")),
    )
    return World(made, variables, ("offspring", "widows"), most=3.0)


def one_more(world: World, **person: object) -> World:
    """The same people and one more: the file a year later."""
    like = world.records.iloc[[0]].assign(**person)
    return replace(world, records=pd.concat([world.records, like], ignore_index=True))


REGIONS, BRANCHES = ("r1", "r2", "r3", "r4"), ("b1", "b2", "b3", "b4")
DOMINATED, COALITION, NEGATIVE, EQUAL = ("r2", "b3"), ("r3", "b2"), ("r1", "b4"), ("r4", "b1")
TURNOVER = {
    DOMINATED: [9000.0, 500.0, *[20.0] * 10],
    COALITION: [1000.0, 480.0, 480.0, *[6.0] * 10],
    NEGATIVE: [8000.0, 400.0, -50.0, *[15.0] * 10],
    EQUAL: [777.0] * 12,
}


@cache
def firms(planted: tuple[tuple[str, str], ...]) -> World:
    """Firms by region and branch, twelve or more in each cell; in planted cells as TURNOVER says."""
    rng = np.random.default_rng(7)
    rows = []
    for region in REGIONS:
        for branch in BRANCHES:
            if (region, branch) in planted:
                values = TURNOVER[region, branch]
            else:
                values = [float(v) for v in np.round(rng.uniform(200, 400, int(rng.integers(14, 25))), 1)]
            rows += [(region, branch, value) for value in values]
    least = -1e6 if any(value < 0 for _, _, value in rows) else 0.0
    return _firms(rows, least)


@cache
def traders() -> World:
    """Traders by town, trade and sex. One woman of t2 has nearly all that the women there turn over."""
    rng = np.random.default_rng(11)
    sizes = {
        ("t1", "k9", "f"): 16, ("t1", "k9", "m"): 12, ("t2", "k1", "f"): 24, ("t2", "k1", "m"): 70,
        ("t3", "k1", "f"): 125, ("t3", "k1", "m"): 30, ("t3", "k2", "f"): 25, ("t3", "k2", "m"): 30,
        ("t4", "k2", "f"): 20, ("t4", "k2", "m"): 30, ("t4", "k9", "f"): 20, ("t4", "k9", "m"): 18,
    }  # fmt: skip
    rows = []
    for (town, trade, sex), size in sizes.items():
        low, high = (5.0, 10.0) if (trade, sex) == ("k9", "m") else (200.0, 400.0)
        values = [float(v) for v in np.round(rng.uniform(low, high, size), 1)]
        if (town, sex) == ("t1", "f"):
            values = [value + 500.0 for value in values]
        elif (town, sex) == ("t2", "f"):
            values = [9000.0, 60.0, *[20.0] * (size - 2)]
        rows += [(town, trade, sex, value) for value in values]
    made = pd.DataFrame(rows, columns=["town", "trade", "sex", "turnover"])
    made["id"] = [f"t{number}" for number in range(len(made))]
    variables = Variable("town", TOWNS), Variable("trade", ("k1", "k2", "k9")), Variable("sex", ("f", "m"))
    return World(made, variables, ("turnover",))


@cache
def singletons() -> World:
    """Two firms are alone in their branches in region r2."""
    rng = np.random.default_rng(8)
    alone = {("r2", "b3"): [612.5], ("r2", "b4"): [388.1]}
    rows = []
    for region in REGIONS:
        for branch in BRANCHES:
            many = [float(v) for v in np.round(rng.uniform(200, 400, 15), 1)]
            rows += [(region, branch, value) for value in alone.get((region, branch), many)]
    return _firms(rows, 0.0)


def _firms(rows: list[tuple[str, str, float]], least: float) -> World:
    made = pd.DataFrame(rows, columns=["region", "branch", "turnover"])
    made["id"] = [f"f{number}" for number in range(len(made))]
    variables = Variable("region", REGIONS), Variable("branch", BRANCHES)
    return World(made, variables, ("turnover",), least=least)


SCORES = {
    ("old", "t1"): (4, 20), ("old", "t2"): (36, 20), ("old", "t3"): (30, 20),
    ("mid", "t1"): (40, 10), ("mid", "t2"): (44, 18), ("mid", "t3"): (60, 17),
    ("young", "t1"): (24, 10), ("young", "t2"): (35, 17), ("young", "t3"): (45, 19),
}  # fmt: skip
"""People by age and town, and what every second of them has: the others have 19 for 20, else half more."""


@cache
def pupils() -> World:
    """People by age and town, with a score that all know to be 10 to 20: nearly 20 of the old, nearly 10 in
    t1, where four are old."""
    rows = []
    for (age, town), (people, score) in SCORES.items():
        apart = -1.0 if score == 20 else 0.5
        rows += [(age, town, score + apart * (number % 2)) for number in range(people)]
    made = pd.DataFrame(rows, columns=["age", "town", "score"])
    made["id"] = [f"p{number}" for number in range(len(made))]
    variables = Variable("age", ("old", "mid", "young")), Variable("town", TOWNS[:3])
    return World(made, variables, ("score",), least=10.0, most=20.0)


@cache
def families() -> World:
    """People by district and faith; the twelve of faith z in d2 are one household with one income."""
    rng = np.random.default_rng(9)
    rows = []
    for district in ("d1", "d2", "d3"):
        for faith in ("x", "y", "z"):
            one_family = (district, faith) == ("d2", "z")
            for number in range(12 if one_family else 30):
                home = "the family" if one_family else f"{district}{faith}{number // 2}"
                income = 333.3 if one_family else float(np.round(rng.uniform(100, 900), 1))
                rows.append((district, faith, home, income))
    made = pd.DataFrame(rows, columns=["district", "faith", "household", "income"])
    made["id"] = [f"p{number}" for number in range(len(made))]
    variables = Variable("district", ("d1", "d2", "d3")), Variable("faith", ("x", "y", "z"))
    return World(made, variables, ("income",))


@cache
def panel() -> World:
    """Six years of people by clinic and drug. Two people make up the twelve records of drug g3 in c2; three
    people left clinic c3 after the first year."""
    rng = np.random.default_rng(10)
    rows, person = [], 0
    for clinic in ("c1", "c2", "c3"):
        for drug in ("g1", "g2", "g3"):
            for number in range(2 if (clinic, drug) == ("c2", "g3") else 20):
                person += 1
                leaves = (clinic, drug) == ("c3", "g1") and number < 3
                for year in ("y1",) if leaves else tuple(f"y{one}" for one in range(1, 7)):
                    cost = float(np.round(rng.uniform(10, 90), 1))
                    rows.append((f"p{person}", clinic, drug, year, cost))
    made = pd.DataFrame(rows, columns=["id", "clinic", "drug", "year", "cost"])
    years = Variable("year", tuple(f"y{one}" for one in range(1, 7)), varies=True)
    variables = Variable("clinic", ("c1", "c2", "c3")), Variable("drug", ("g1", "g2", "g3")), years
    return World(made, variables, ("cost",))


@cache
def flags() -> World:
    """People by town and health, health as three yes-or-no variables of which exactly one is yes, and
    expenses as two parts and their sum; few are of poor health in t2, and few of good health in t1."""
    rng = np.random.default_rng(11)
    numbers: Mapping[tuple[str, str], int] = {("t2", "poor"): 4, ("t1", "poor"): 25, ("t3", "poor"): 31}
    rows = []
    for town in ("t1", "t2", "t3"):
        for health in ("good", "fair", "poor"):
            for _ in range(numbers.get((town, health), 30)):
                parts = np.round(rng.uniform(10, 50, 2), 2)
                if (town, health) == ("t2", "good"):
                    parts[0] = 0.5
                rows.append((town, *("yes" if health == one else "no" for one in HEALTH), *parts))
    made = pd.DataFrame(rows, columns=["town", *HEALTH, "drugs", "visits"])
    made.loc[made.index[(made.town == "t2") & (made.good == "yes")][0], "drugs"] = 900.0
    made["expenses"] = made["drugs"] + made["visits"]
    made["id"] = [f"p{number}" for number in range(len(made))]
    yes_or_no = (Variable(name, ("yes", "no")) for name in HEALTH)
    return World(made, (Variable("town", ("t1", "t2", "t3")), *yes_or_no), ("drugs", "visits", "expenses"))


HEALTH = ("good", "fair", "poor")


SMALL_TOWNS = ((18, 25, 25, 25), (14, 40, 5, 40), (12, 5, 18, 14), (14, 40, 7, 18))
"""People by town and trade; three cells have fewer than ten."""


HIDDEN: Box = {"town": ("t1",), "trade": ("k2",)}
"""Five of them."""


@cache
def small_towns() -> World:
    """Some 320 people of whom nothing is known but town and trade."""
    rows = [
        (f"t{town}", f"k{trade}")
        for town, row in enumerate(SMALL_TOWNS)
        for trade, people in enumerate(row)
        for _ in range(people)
    ]
    made = pd.DataFrame(rows, columns=["town", "trade"])
    made["id"] = [f"p{number}" for number in range(len(made))]
    return World(
        made, (Variable("town", ("t0", "t1", "t2", "t3")), Variable("trade", ("k0", "k1", "k2", "k3")))
    )


RAND_AGES = tuple(str(age) for age in range(65))
SITES = ("s1", "s2", "s3", "s4", "s5", "s6")


def _bands(*starts: int) -> dict[str, tuple[str, ...]]:
    ends = (*starts[1:], 65)
    return {f"a{low}to{high - 1}": RAND_AGES[low:high] for low, high in zip(starts, ends, strict=True)}


@cache
def health_insurance() -> World:
    """The fourth year of the RAND Health Insurance Experiment, as shipped with statsmodels: real people."""
    file = Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv"
    rand = pd.read_csv(file).query("year == 4").reset_index(drop=True)
    made = pd.DataFrame(
        {
            "site": "s" + rand.site.astype(int).astype(str),
            "sex": np.where(rand.female == 1, "f", "m"),
            "age": np.floor(rand.xage).astype(int).astype(str),
            "id": rand.zper.astype(str),
        }
    )
    levels = {
        "ten_years": _bands(*range(0, 65, 10)),
        "twenty_years": _bands(0, 20, 40, 60),
        "broad": _bands(0, 18, 40),
    }
    variables = (
        Variable("site", SITES),
        Variable("sex", ("f", "m")),
        Variable("age", RAND_AGES, levels),
    )
    return World(made, variables)


@cache
def ill() -> World:
    """People by town, age and illness: the fourteen old of t1 all have gout."""
    rows = [
        (town, "young", illness)
        for town in TOWNS[:3]
        for illness in ILLNESSES
        for _ in range(40 + 20 * (illness == "none"))
    ]
    rows += [
        (town, "old", illness)
        for town in TOWNS[1:3]
        for illness in ILLNESSES
        for _ in range(20 + 10 * (illness == "none"))
    ]
    rows += [("t1", "old", "gout")] * 14
    made = pd.DataFrame(rows, columns=["town", "age", "illness"])
    made["id"] = [f"p{number}" for number in range(len(made))]
    illness = Variable("illness", ILLNESSES, harmless=("none",))
    return World(made, (Variable("town", TOWNS[:3]), Variable("age", ("young", "old")), illness))


@cache
def earners() -> World:
    """Sixty people of each trade in each town, but fourteen of k1 in t1, of whom one earns nearly all."""
    rng = np.random.default_rng(1)
    rows = [
        (town, trade)
        for town in TOWNS
        for trade in TRADES[:4]
        for _ in range(14 if (town, trade) == ("t1", "k1") else 60)
    ]
    made = pd.DataFrame(rows, columns=["town", "trade"])
    made["id"] = [f"p{number}" for number in range(len(made))]
    made["income"] = rng.integers(800, 1500, len(made)).astype(float)
    made.loc[0, "income"] = 185_000.0
    return World(made, (Variable("town", TOWNS), Variable("trade", TRADES[:4])), ("income",))


ALL_ILL = ("t2", "k3")
"""Where nobody is well."""


def _patients(variable: str, of_all_ill: tuple[str, ...]) -> World:
    """People by town, trade, age and what they suffer from; in one town and trade all as it is said."""
    usual = ("none", "flu", "none", "gout", "none", "none")
    rows = [
        (town, trade, age, what)
        for town in TOWNS[:3]
        for trade in TRADES[:3]
        for age in ("young", "old")
        for what in (of_all_ill if (town, trade) == ALL_ILL and age == "old" else usual) * 20
    ]
    rows = [row for row in rows if row[:3] != (*ALL_ILL, "young")]
    made = pd.DataFrame(rows, columns=["town", "trade", "age", variable])
    made["id"] = [f"p{number}" for number in range(len(made))]
    status = {"status": {"well": ("none",), "ill": ("flu", "gout")}}
    suffered = Variable(variable, ILLNESSES, status, harmless=("none",))
    places = Variable("town", TOWNS[:3]), Variable("trade", TRADES[:3]), Variable("age", ("young", "old"))
    return World(made, (*places, suffered))


@cache
def patients() -> World:
    """Nobody of k3 in t2, all of whom are old, is well: half have flu, half gout."""
    return _patients("illness", ("flu", "gout"))


@cache
def silent_patients() -> World:
    """Of k3 in t2 half have flu, and the others have not said what they have."""
    return _patients("complaint", ("flu", MISSING))


@cache
def old_patients() -> World:
    """As `patients`, with young people of k3 in t2, most of whom are well."""
    young = patients().records.iloc[:60].assign(town=ALL_ILL[0], trade=ALL_ILL[1], age="young")
    young["id"] = [f"y{number}" for number in range(len(young))]
    return replace(patients(), records=pd.concat([patients().records, young], ignore_index=True))
