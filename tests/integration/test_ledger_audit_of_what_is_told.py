"""What the ledger's audit says of withheld cells that are known: by other answers, publications, versions."""

import re

import numpy as np

from attack.told_figures import POLICY
from home_panel import HERS, HOLDINGS, HOUSEHOLDS, Panel
from house import House, build, cells, people_descriptor, verdict
from installation import TEXT
from sdcgate.cli.ledger_audit import describe
from sdcgate.facility.ledger_audit import SourceAudit, audit_source
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.methods.tables.joint_history import Standing
from sdcgate.policy.loading import load_policies, parse_policy
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

STEWARD = Caller("steward key", Role.STEWARD, "stefan")
YEARBOOK = "Yearbook 2024, table 7"
CODES = {"place": "abcd", "job": "vwxyz"}
ILLNESS = {
    "name": "ill",
    "identifying": "NO",
    "sensitive": True,
    "levels": [
        {"name": "illness", "codes": [{"code": "0", "harmless": True}, {"code": "1"}, {"code": "2"}]},
        {
            "name": "status",
            "codes": [
                {"code": "healthy", "parts": ["0"], "harmless": True},
                {"code": "ill", "parts": ["1", "2"]},
            ],
        },
    ],
}


def audited(house: House, name: str = "people") -> SourceAudit:
    policies = Policies(house.ledger, load_policies(), "israel-cbs")
    return audit_source(house.ledger, house.engine, policies, name, 20_000, 60.0)


def standings(audit: SourceAudit, quantity: str, version: int = 1) -> list[Standing]:
    (of_version,) = [
        one for one in audit.quantities if (one.quantity, one.dataset.version) == (quantity, version)
    ]
    return sorted(cell.standing for cell in of_version.cells)


def enter(house: House, *variables: str, figures=("UNITS",)) -> pb.EnterKnowledgeResponse:
    shown = [
        {"statistic": name, "measure": measure} for name, _, measure in (f.partition(":") for f in figures)
    ]
    rows = [{"variable": name} for name in variables]
    asked = {"dataset": "people", "published": YEARBOOK, "rows": rows, "figures": shown}
    return house.facility.enter_knowledge(STEWARD, from_value(asked, pb.EnterKnowledgeRequest), Pace(60.0))


def housed(folder) -> House:
    """Nine hundred people, few of whom have the jobs y and z."""
    rng = np.random.default_rng(7)
    shares = {"place": (0.4, 0.3, 0.2, 0.1), "job": (0.4, 0.3, 0.2, 0.07, 0.03)}
    columns = [rng.choice(list(codes), 900, p=shares[name]) for name, codes in CODES.items()]
    incomes = rng.lognormal(8, 1, 900).astype(int)
    people = zip(*columns, incomes, strict=True)
    lines = ["place,job,income", *(",".join(map(str, one)) for one in people)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    made = build(folder, data_root=folder)
    made.engine.register(people_descriptor(CODES, [{"name": "income", "lower_bound": 0}]))
    return made


def ill(folder) -> House:
    """Two hundred people of each place and job, half of whom are ill; of c in y forty, all of them."""
    lines = ["place,job,ill"]
    for place in CODES["place"]:
        for job in CODES["job"]:
            all_of_them = (place, job) == ("c", "y")
            illnesses = "12" * 20 if all_of_them else "0102" * 50
            lines += [f"{place},{job},{code}" for code in illnesses]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    made = build(folder, data_root=folder)
    made.engine.register(people_descriptor(CODES, variables=[ILLNESS]))
    return made


def test_a_cell_that_was_told_before_it_was_withheld_is_said_to_be_with_the_sum(tmp_path):
    """The first left under a policy that did not ask for group disclosure."""
    house = ill(tmp_path)
    text, found = re.subn(r"^ *group_disclosure: .*\n", "", TEXT, flags=re.MULTILINE)
    assert found
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/israel-cbs.yaml").write_text(text)
    before = build(tmp_path, engine=house.engine, policies=load_policies(tmp_path / "policies"))
    by_all = {"dataset": "people", "rows": ["place", "job"]}
    fine = before.ask(**by_all, columns=["ill:illness"])
    coarse = house.ask(**by_all, columns=["ill:status"])
    assert [verdict(fine), verdict(coarse)] == ["RELEASED", "RELEASED_PROTECTED"]
    audit = audited(house)
    assert standings(audit, "records") == [Standing.TOLD_BEFORE] * 2
    assert (audit.refuted, audit.proved) == (False, False)
    said = describe(audit)
    assert "0 refuted, 0 proved, 0 wide within the variables looked at, 0 unproved, 2 told before" in said
    assert "TOLD BEFORE IT WAS WITHHELD: ill ill, job y, place c lies between 40 and 40" in said
    assert "at least 40 = 20 (ill 1, job y, place c) + 20 (ill 2, job y, place c)" in said


def test_what_a_publication_tells_is_counted_as_known_from_elsewhere_and_shown(tmp_path):
    house = housed(tmp_path)
    assert verdict(house.ask(dataset="people", rows=["place"], columns=["job"])) == "RELEASED_PROTECTED"
    before = standings(audited(house), "records")
    assert set(before) == {Standing.PROVED}
    told = enter(house, "place", "job")
    audit = audited(house)
    assert standings(audit, "records") == [Standing.ELSEWHERE] * len(before)
    assert (audit.refuted, audit.proved) == (False, True)
    assert describe(audit).count(f"entered: {YEARBOOK}") == len(before) == told.told
    assert f"{len(before)} known from elsewhere" in describe(audit)


def test_margins_published_elsewhere_tell_what_follows_from_them_and_no_more(tmp_path):
    """Sums of a measure stay withheld where the yearbook shows counts."""
    house = housed(tmp_path)
    both = {"rows": ["place"], "columns": ["job"], "figures": ["UNITS", "SUM:income"]}
    assert verdict(house.ask(dataset="people", **both)) == "RELEASED_PROTECTED"
    sums = standings(audited(house), "income")
    enter(house, "place", "job")
    audit = audited(house)
    assert set(standings(audit, "records")) == {Standing.ELSEWHERE}
    assert len(standings(audit, "income")) == len(sums)
    assert Standing.ELSEWHERE not in standings(audit, "income")


def test_a_cell_withheld_though_a_publication_had_told_it_is_known_from_elsewhere(tmp_path):
    house = housed(tmp_path)
    enter(house, "place", "job")
    assert verdict(house.ask(dataset="people", rows=["place"], columns=["job"])) == "RELEASED_PROTECTED"
    found = standings(audited(house), "records")
    assert found
    assert set(found) == {Standing.ELSEWHERE}


def test_sums_of_values_without_bounds_are_not_called_proved(tmp_path, monkeypatch):
    """The road holds such a table today; a ledger may have one of an older policy."""
    house = housed(tmp_path)
    both = {"rows": ["place"], "columns": ["job"], "figures": ["UNITS", "SUM:income"]}
    assert verdict(house.ask(dataset="people", **both)) == "RELEASED_PROTECTED"
    monkeypatch.setattr("sdcgate.facility.audited_quantities.bounds_of", lambda *_: (None, None))
    audit = audited(house)
    assert set(standings(audit, "income")) == {Standing.NOT_COMPUTABLE}
    assert (audit.refuted, audit.proved) == (False, False)
    assert "of no bounds, so that nothing more is proved" in describe(audit)


def test_versions_that_could_not_be_compared_are_not_proved_and_the_exception_is_listed(tmp_path):
    panel = Panel(tmp_path, **HOLDINGS)
    panel.register()
    panel.ask()
    assert audited(panel.house).proved
    panel.register(joined=1)
    query = panel.ask().decision.query
    panel.approve(query, exception=True)
    audit = audited(panel.house)
    assert (audit.proved, audit.overrides) == (False, (query,))
    assert "people version 2 beside people version 1: unproved, as not all of it" in describe(audit)
    assert f"by exception, on a checker's responsibility: {query}" in describe(audit)


def test_what_she_earns_who_joined_is_refuted_with_the_subtraction(tmp_path):
    """A yearbook shows of the second version what an answer showed of the first."""
    panel = Panel(tmp_path, **HOUSEHOLDS)
    panel.register()
    panel.ask()
    panel.register(joined=1)
    enter(panel.house, "sex", figures=("UNITS", "SUM:income"))
    audit = audited(panel.house)
    assert audit.refuted
    (pair,) = audit.versions
    assert pair.of(Standing.REFUTED) == 4, "women and all: how many they are, and what they earn"
    assert {cell.now - cell.was for cell in pair.cells} == {1, HERS}
    assert f" = {HERS}, of too few who changed" in describe(audit)


def test_versions_in_which_enough_changed_are_proved(tmp_path):
    panel = Panel(tmp_path, **HOUSEHOLDS)
    panel.register()
    panel.ask()
    panel.register(joined=12, homes=12)
    assert panel.ask().decision.version == 2
    audit = audited(panel.house)
    assert (audit.refuted, audit.proved) == (False, True)
    assert [(pair.compared, pair.cells) for pair in audit.versions] == [(True, ())]


def test_a_figure_of_one_version_that_the_other_withholds_is_not_said_to_tell_who_changed(tmp_path):
    panel = Panel(tmp_path, **HOUSEHOLDS)
    panel.register()
    table = {"columns": ["place"], "figures": ["UNITS"]}
    assert cells(panel.ask(**table))["f", "a"] == (148,)
    panel.register(joined=12, homes=12, far=4)
    assert cells(panel.ask(**table))["f", "a"] == (None,), "eight of those who came are women of a"
    audit = audited(panel.house)
    assert not audit.refuted
    told = [line for line in describe(audit).splitlines() if line.startswith("  UNPROVED: ")]
    why = "too few changed; it is known of one version only, and withheld of the other"
    assert told == [f"  UNPROVED: counts of {cell}: {why}" for cell in ("place a", "place a, sex f")]


def test_what_a_publication_of_the_next_version_tells_of_the_one_before_is_said(tmp_path):
    """Where nobody changed the yearbook's figures are those of the version before as well."""
    panel = Panel(tmp_path, **HOUSEHOLDS)
    panel.register()
    assert verdict(panel.ask(columns=["place"], figures=["UNITS"])) == "RELEASED_PROTECTED"
    assert set(standings(audited(panel.house), "records")) == {Standing.PROVED}
    panel.register(joined=12, homes=12)
    enter(panel.house, "sex", "place")
    found = standings(audited(panel.house), "records", version=1)
    assert Standing.ELSEWHERE in found
    assert Standing.REFUTED not in found


def test_a_history_that_shows_no_variable_whole_is_audited(tmp_path):
    """The number of everybody is withheld beside the one woman: nothing is known of any joint code."""
    lines = [f"{'f' if n == 0 else 'm'},{n % 2},{'y' if n % 3 else 'n'}" for n in range(77)]
    (tmp_path / "people.csv").write_text("\n".join(["s,r,a", *lines]))
    house = build(tmp_path, policies={"tiny": parse_policy(POLICY)}, policy="tiny")
    house.engine.register(people_descriptor({"s": "fm", "r": "01", "a": "yn"}))
    assert verdict(house.ask(dataset="people", rows=["r"], s=["m"])) == "RELEASED"
    assert verdict(house.ask(dataset="people", rows=["a"])) == "RELEASED_PROTECTED"
    policies = Policies(house.ledger, {"tiny": parse_policy(POLICY)}, "tiny")
    assert audit_source(house.ledger, house.engine, policies, "people", 20_000, 60.0).proved


def test_an_earlier_version_is_audited_by_the_policy_of_the_newest_by_which_it_answers(tmp_path):
    """Six people of a withheld row can be told to no less than three, and not to ten as was asked before."""
    policies = {"tiny": parse_policy(POLICY), "israel-cbs": load_policies()["israel-cbs"]}
    made, number = build(tmp_path, policies=policies), {"ax": 4, "ay": 2, "bx": 5, "by": 30, "cx": 60}
    homes = [home for home, people in number.items() for _ in range(people)]

    def register(joined=0, **more):
        lines = ["person,place,job", *(f"p{at},{','.join(home)}" for at, home in enumerate(homes))]
        lines += [f"q{at},c,x" for at in range(joined)]
        (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
        unit = {"column": "person", "label": "person"}
        made.engine.register(people_descriptor({"place": "abc", "job": "xy"}, unit=unit, **more))

    register()
    assert verdict(made.ask(dataset="people", rows=["job"])) == "RELEASED"
    register(joined=1, policy="tiny")
    answered = made.ask(dataset="people", rows=["place"], columns=["job"])
    assert answered.decision.version == 1
    assert [cells(answered)["a", job] for job in ("x", "y", "_T")] == [(None,), (None,), (6,)]
    known = Policies(made.ledger, policies, "israel-cbs")
    audit = audit_source(made.ledger, made.engine, known, "people", 20_000, 60.0)
    assert [(one.dataset.version, one.width) for one in audit.quantities] == [(1, 3)]
    assert (audit.refuted, audit.proved) == (False, True)


def test_a_sum_that_is_the_same_though_one_came_is_not_known_of_the_version_that_withholds_it(tmp_path):
    """Who came to a has no income: what the first version told of a tells nothing of the second one."""
    policies = {"tiny": parse_policy(POLICY)}
    made = build(tmp_path, policies=policies, policy="tiny")

    def register(*more: str) -> None:
        lines = ["person,job,income", *(f"p{at},{'abcd'[at % 4]},{at % 11 + 1}" for at in range(80)), *more]
        (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
        income = {"name": "income", "decimals": 0, "lower_bound": 0, "upper_bound": 20}
        unit = {"column": "person", "label": "person"}
        made.engine.register(people_descriptor({"job": "abcd"}, [income], unit=unit))

    register()
    table = {"dataset": "people", "rows": ["job"], "figures": ["SUM:income"]}
    assert cells(made.ask(**table))["a",] == (120,)
    register("q0,a,0", *(f"q{at},{'bcd'[at % 3]},{at % 5 + 3}" for at in range(1, 13)))
    answered = made.ask(**table)
    assert (answered.decision.version, cells(answered)["a",]) == (2, (None,))
    known = Policies(made.ledger, policies, "tiny")
    audit = audit_source(made.ledger, made.engine, known, "people", 20_000, 60.0)
    assert not audit.refuted
    (pair,) = audit.versions
    assert {cell.quantity: cell.standing for cell in pair.cells} == {
        "counts": Standing.UNPROVED,
        "income": Standing.UNPROVED,
    }


def test_weights_are_not_refuted_of_people_whose_number_nobody_knows(tmp_path):
    """All of a town weigh the least, of another the most: with that number theirs would be told."""
    rows = ["town,age,weight"]
    for town, weight, people in (("a", 3, (9, 7, 39)), ("b", 10, (40, 50, 30)), ("c", 7, (5, 25, 60))):
        for age, many in zip("ymo", people, strict=True):
            rows += [f"{town},{age},{weight}"] * many
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    house = build(tmp_path)
    house.engine.register(people_descriptor({"town": "abc", "age": "ymo"}, weight={"column": "weight"}))
    both = ["UNITS", "WEIGHTED_UNITS"]
    assert verdict(house.ask(dataset="people", rows=["town"], figures=both)) == "RELEASED"
    crossed = house.ask(dataset="people", rows=["town"], columns=["age"], figures=["WEIGHTED_UNITS"])
    assert verdict(crossed) == "RELEASED_PROTECTED"
    audit = audited(house)
    assert set(standings(audit, "weight:")) == {Standing.PROVED, Standing.UNPROVED}
    assert set(standings(audit, "records")) == {Standing.PROVED}
    enter(house, "town", "age")
    audit = audited(house)
    assert Standing.UNPROVED not in standings(audit, "weight:")
    assert Standing.ELSEWHERE in standings(audit, "weight:")
    assert not audit.refuted


COUNTED = {"y": (0, 0, 1, 2, 1, 2, 6, 4), "m": (2, 1, 1, 2, 1, 4, 4, 8), "o": (0, 3, 2, 3, 9, 6, 7, 4)}
"""People of each age by sex and region: the women of the four regions, then the men."""


def counted(folder) -> House:
    rng = np.random.default_rng(5)
    rows = ["age,sex,region,weight,income"]
    for age, numbers in COUNTED.items():
        for place, number in enumerate(numbers):
            home = f"{age},{'fm'[place // 4]},r{place % 4},{(3, 7, 10, 3)[place % 4]}"
            rows += [f"{home},{income}" for income in rng.integers(1, 21, number)]
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    house = build(folder, policies={"tiny": parse_policy(POLICY)}, policy="tiny")
    income = {"name": "income", "decimals": 0, "lower_bound": 0, "upper_bound": 20}
    codes = {"age": "ymo", "sex": "fm", "region": [f"r{n}" for n in range(4)]}
    house.engine.register(people_descriptor(codes, [income], weight={"column": "weight"}))
    return house


def audited_tiny(house: House) -> SourceAudit:
    policies = Policies(house.ledger, {"tiny": parse_policy(POLICY)}, "tiny")
    return audit_source(house.ledger, house.engine, policies, "people", 20_000, 60.0)


def test_what_a_publication_tells_stays_known_from_elsewhere_whatever_is_withheld_later(tmp_path):
    """That cells would be marked later nobody knew before the publication: no marks told it by then."""
    house = counted(tmp_path)
    assert verdict(house.ask(dataset="people", rows=["region"], columns=["sex"])) == "RELEASED_PROTECTED"
    assert verdict(house.ask(dataset="people", rows=["age"])) == "RELEASED"
    enter(house, "age", "region", "sex")
    before = standings(audited_tiny(house), "records")
    assert set(before) == {Standing.ELSEWHERE}
    # As a later version's answer withheld, which tells that somebody is in each of its gaps.
    finer = house.ask(dataset="people", rows=["age", "region"], columns=["sex"])
    assert verdict(finer) == "RELEASED_PROTECTED"
    audit = audited_tiny(house)
    assert len(standings(audit, "records")) > len(before)
    assert set(standings(audit, "records")) == {Standing.ELSEWHERE}


def test_sums_of_people_who_a_publication_says_are_nobody_are_known_from_elsewhere(tmp_path):
    """By their weights the young of three regions are told in two groups; in one of these no woman is."""
    house = counted(tmp_path)
    enter(house, "age", "region", "sex")
    both = {"figures": ["SUM:income", "WEIGHTED_SUM:income"], "age": ["y"], "region": ["r0", "r1", "r3"]}
    assert verdict(house.ask(dataset="people", rows=["sex"], **both)) == "RELEASED_PROTECTED"
    audit = audited_tiny(house)
    (of_income,) = [one for one in audit.quantities if one.quantity == "income"]
    standing = {of_income.words(cell.box): cell.standing for cell in of_income.cells}
    assert standing["age y, region r1, sex f"] is Standing.ELSEWHERE
    assert not audit.refuted
