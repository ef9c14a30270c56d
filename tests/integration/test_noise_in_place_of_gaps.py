"""A policy that protects by cell keys: every answer has noise, and what left is proved together."""

from itertools import product

import numpy as np
import pytest

from census_people import REGIONS, census, counted, with_census
from house import build, cells, person, reasons, table_request, verdict, with_randhie
from sdcgate.cli.ledger_audit import describe
from sdcgate.facility.errors import Conflict
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies, parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

PEOPLE = census()
D = 15
CENSUS = {"dataset": "census"}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return with_census(tmp_path_factory.mktemp("census"), PEOPLE)


def with_policy(tmp_path, engine=None, **changes):
    """A house under the bundled policy with other numbers of the noise."""
    text = (BUNDLED / "cell-key.yaml").read_text()
    for name, value in changes.items():
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{name}:"))
        text = text.replace(line, f"{line.partition(':')[0]}: {value}")
    policy = parse_policy(text)
    policies = {**load_policies(), "cell-key": policy}
    return with_census(tmp_path, PEOPLE, policies=policies, engine=engine)


def regions_by_sex(house, **more):
    return house.ask(**CENSUS, rows=["region"], columns=["sex"], **more)


def test_every_cell_has_the_one_mark_whether_noise_changed_it_or_not(house):
    answer = regions_by_sex(house)
    assert verdict(answer) == "RELEASED_PROTECTED"
    assert reasons(answer) == ["PERTURBED"]
    assert not answer.decision.alternatives
    table = answer.decision.table
    assert set(table.statuses) == {table_pb2.CELL_STATUS_PERTURBED}
    shown = cells(answer)
    true = {
        (region, sex): counted(PEOPLE, lambda p, r=region, s=sex: (p["region"], p["sex"]) == (r, s))
        for region, sex in product(REGIONS, "fm")
    }
    changes = {codes: shown[codes][0] - count for codes, count in true.items()}
    assert any(changes.values())
    assert all(abs(change) <= D for change in changes.values())
    assert all(shown[region, "_U"] == (0,) for region in REGIONS)


def test_no_count_leaves_as_one_or_two_and_nobody_stays_nobody(house):
    answer = house.ask(**CENSUS, rows=["region"], columns=["age"], layers=["job"])
    figures = {count for (count,) in cells(answer).values()}
    assert not figures & {1, 2}
    assert 0 in figures


def test_totals_have_noise_of_their_own(house):
    shown = cells(regions_by_sex(house))
    assert any(shown[r, "f"][0] + shown[r, "m"][0] != shown[r, "_T"][0] for r in REGIONS)


def test_the_same_people_have_the_same_noise_under_any_description(tmp_path):
    house = with_policy(tmp_path, maximum_answers="null")
    crossed = cells(regions_by_sex(house))
    filtered = cells(house.ask(**CENSUS, rows=["region"], sex=["f"]))
    level = cells(house.ask(**CENSUS, rows=["region"], age__halves=["young", "old", "_U"], sex=["f"]))
    without_missing = cells(
        house.ask(**CENSUS, rows=["region"], sex=["f"], job=["farm", "office", "shop", "none"])
    )
    for region in REGIONS:
        same = {one[region,] for one in (filtered, level, without_missing)}
        assert same == {crossed[region, "f"]}


def test_the_same_question_is_answered_from_the_ledger(house):
    first, again = regions_by_sex(house), regions_by_sex(house)
    assert again.repeated
    assert cells(first) == cells(again)


def test_a_mean_is_the_noisy_sum_over_the_noisy_count(house):
    answer = house.ask(
        **CENSUS, rows=["region"], figures=["UNITS", "SUM:income", "MEAN:income", "COLUMN_PERCENT"]
    )
    assert verdict(answer) == "RELEASED_PROTECTED"
    shown, true = cells(answer), 0
    for region in "abcd":
        units, total, mean, percent = shown[region,]
        assert percent == pytest.approx(100 * units / shown["_T",][0], abs=0.005)
        having = total / mean
        assert having == pytest.approx(round(having), abs=0.01)
        incomes = [int(p["income"]) for p in PEOPLE if p["region"] == region and p["income"]]
        true += total == sum(incomes) or mean == round(sum(incomes) / len(incomes), 2)
        assert abs(total - sum(incomes)) <= 0.6 * max(incomes)
    assert not true


def test_a_sum_is_missing_where_few_seem_to_have_one(house):
    answer = house.ask(**CENSUS, rows=["region", "age"], figures=["UNITS", "SUM:income"])
    table = answer.decision.table
    units, sums = table.figures
    assert verdict(answer) == "RELEASED_PROTECTED"
    few = [count for count, defined in zip(units.values, sums.defined, strict=True) if not defined]
    many = [count for count, defined in zip(units.values, sums.defined, strict=True) if defined]
    assert few
    assert all(count < 40 for count in few)
    # How many people there are, and how many of them have an income, get noise of their own.
    assert np.median(few) < 15 < np.median(many)


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ("RECORDS", "ask UNITS or SUM"),
        ("ROW_PERCENT", "ask UNITS or SUM"),
        ("MEAN:meddol", "ask UNITS or SUM"),
    ],
)
def test_what_counts_records_of_which_some_have_several_is_refused(tmp_path, figure, said):
    house = with_randhie(tmp_path, policy="cell-key")
    refused = house.ask(rows=["site"], columns=["plan"], figures=[figure])
    assert verdict(refused) == "REFUSED"
    assert reasons(refused) == ["NOT_ALLOWED"]
    assert said in refused.decision.reasons[0].message


def test_persons_with_several_records_are_counted_once(tmp_path):
    house = with_randhie(tmp_path, policy="cell-key")
    answer = house.ask(rows=["site"], columns=["year"], figures=["UNITS", "SUM:meddol"])
    assert verdict(answer) == "RELEASED_PROTECTED"
    (tmp_path / "truth").mkdir()
    exact = build(tmp_path / "truth", engine=house.engine)
    shown, persons = cells(answer), cells(exact.ask(rows=["site"], columns=["year"]))
    for codes, (units, _) in shown.items():
        assert abs(units - persons[codes][0]) <= D
    assert shown["_T", "_T"][0] < sum(shown["_T", year][0] for year in "12345") / 2


def test_a_small_population_is_refused_by_its_noisy_count(house):
    refused = house.ask(**CENSUS, rows=["age"], region=["f"])
    assert verdict(refused) == "REFUSED"
    assert reasons(refused) == ["MINIMUM_BASE"]


def test_nobody_is_counted_in_more_noisy_figures_than_the_policy_says(tmp_path):
    house = with_policy(tmp_path, maximum_answers="5")
    assert verdict(regions_by_sex(house)) == "RELEASED_PROTECTED"
    assert verdict(house.ask(**CENSUS, rows=["age"])) == "RELEASED_PROTECTED"
    spent = house.ask(**CENSUS, rows=["age"], columns=["sex"])
    assert verdict(spent) == "REFUSED"
    assert reasons(spent) == ["DIFFERENCING"]
    assert verdict(house.ask(**CENSUS, rows=["region"])) == "RELEASED_PROTECTED"


def test_that_populations_are_too_small_is_told_no_more_often_than_figures_of_them(tmp_path):
    house = with_policy(tmp_path, maximum_answers="5")
    # Whoever is in region f without a job is among all of these, who are a few more each time.
    told = []
    for farm, office, shop in product((False, True), repeat=3):
        jobs = [job for job, there in (("farm", farm), ("office", office), ("shop", shop)) if there]
        told += reasons(house.ask(**CENSUS, rows=["age"], region=["f"], job=[*jobs, "none"]))
    assert told == ["MINIMUM_BASE"] * 4 + ["DIFFERENCING"] * 4
    everybody = house.ask(**CENSUS, rows=["region"])
    assert reasons(everybody) == ["DIFFERENCING"]


def test_noise_does_not_mix_with_gaps(tmp_path):
    exact = build(tmp_path, policy="five-safes", data_root=tmp_path)
    noisy = with_census(tmp_path, PEOPLE, engine=exact.engine)
    assert verdict(exact.ask(**CENSUS, rows=["region"], columns=["age"])) == "RELEASED_PROTECTED"
    held = regions_by_sex(noisy)
    assert verdict(held) == "REFERRED"
    assert reasons(held) == ["UNPROVED"]
    assert "left under another protection before" in held.decision.reasons[0].message


def test_gaps_do_not_mix_with_noise(tmp_path):
    noisy = with_census(tmp_path, PEOPLE)
    exact = build(tmp_path, policy="israel-cbs", engine=noisy.engine)
    regions_by_sex(noisy)
    held = exact.ask(**CENSUS, rows=["age"])
    assert verdict(held) == "REFERRED"
    assert "left under another protection before" in held.decision.reasons[0].message


def test_other_noise_does_not_mix_with_it_either(tmp_path):
    house = with_census(tmp_path, PEOPLE)
    regions_by_sex(house)
    other = with_policy(tmp_path, house.engine, variance="8")
    held = other.ask(**CENSUS, rows=["age"])
    assert verdict(held) == "REFERRED"
    query = pb.ReviewQueryRequest(query=held.decision.query, approve=True, note="looked at it")
    with pytest.raises(Conflict):
        other.facility.review_query(other.checker, query, Pace(60.0))


def entered(house, **request):
    asked = table_request(**CENSUS, **request)
    knowledge = pb.EnterKnowledgeRequest(
        dataset="census", rows=asked.rows, columns=asked.columns, figures=asked.figures, published="Yearbook"
    )
    return house.facility.enter_knowledge(person("steward", "eva"), knowledge, Pace(60.0))


def test_published_totals_are_reckoned_with(tmp_path):
    house = with_census(tmp_path, PEOPLE)
    entered(house, rows=["sex"])
    assert verdict(house.ask(**CENSUS, rows=["region"], columns=["age"])) == "RELEASED_PROTECTED"


def test_where_small_cells_are_published_elsewhere_noise_hides_nothing(tmp_path):
    house = with_census(tmp_path, PEOPLE)
    entered(house, rows=["region"], columns=["age"])
    assert verdict(house.ask(**CENSUS, rows=["region"], columns=["age"])) == "REFERRED"


def test_another_facility_over_the_same_ledger_goes_on_where_this_one_stopped(tmp_path):
    house = with_policy(tmp_path, maximum_answers="5")
    regions_by_sex(house)
    again = with_policy(tmp_path, house.engine, maximum_answers="5")
    assert regions_by_sex(again).repeated
    assert verdict(again.ask(**CENSUS, rows=["age"])) == "RELEASED_PROTECTED"
    assert verdict(again.ask(**CENSUS, rows=["job"], columns=["sex"])) == "REFUSED"


def test_an_output_with_exact_figures_is_refused(house):
    output = pb.SubmitOutputRequest(dataset="census")
    output.rows.add(variable="sex", codes=["f", "m"], cells=[0, 1])
    true = [counted(PEOPLE, lambda p, s=sex: p["sex"] == s) for sex in "fm"]
    output.facts.units.extend(true)
    output.facts.records.extend(true)
    output.figures.add(statistic=table_pb2.STATISTIC_UNITS)
    portal = person("portal", "carl")
    refused = house.facility.submit_output(portal, output, Pace(60.0))
    assert verdict(refused) == "REFUSED"
    assert reasons(refused) == ["NOT_ALLOWED"]


def test_the_certificate_holds_and_the_ledger_keeps_what_left(house):
    answer = regions_by_sex(house)
    assert answer.decision.certificate.answer_digest
    checker = house.facility.get_query(house.checker, answer.decision.query)
    true = counted(PEOPLE, lambda p: p["region"] == "a" and p["sex"] == "f")
    assert checker.checker.facts.units[0] == true


def test_the_audit_of_the_ledger_proves_what_left_with_noise(tmp_path):
    house = with_census(tmp_path, PEOPLE)
    answer = house.ask(**CENSUS, rows=["region"], columns=["age"], figures=["UNITS", "SUM:income"])
    assert (verdict(answer), reasons(answer)) == ("RELEASED_PROTECTED", ["PERTURBED"])
    policies = Policies(house.ledger, load_policies(), "cell-key")
    audit = audit_source(house.ledger, house.engine, policies, "census", 20_000, 60.0)
    (noise,) = audit.noise
    assert audit.tables == 1
    assert audit.overrides == ()
    assert not audit.refuted
    assert noise.unsafe > 5
    assert noise.unproved == 0
    assert noise.most_answers == 8
    # Of a symmetric distribution with deviation 3 the mean absolute value is 2.4.
    assert 1 < noise.mean_change < 4
    assert abs(noise.bias) < 1.5
    said = describe(audit)
    assert f"{noise.unsafe} must stay uncertain, 0 unproved" in said
    other = Policies(house.ledger, load_policies(), "israel-cbs")
    unknown = audit_source(house.ledger, house.engine, other, "census", 20_000, 60.0)
    assert "not audited: the policy has other noise" in describe(unknown)


def test_an_audit_tells_unsafe_figures_that_nothing_hides_any_more(tmp_path):
    house = with_census(tmp_path, PEOPLE)
    house.ask(**CENSUS, rows=["region"], columns=["age"])
    entered(house, rows=["region"], columns=["age"])
    policies = Policies(house.ledger, load_policies(), "cell-key")
    (noise,) = audit_source(house.ledger, house.engine, policies, "census", 20_000, 60.0).noise
    assert noise.unproved == noise.unsafe > 0


def test_a_sum_need_not_be_uncertain_because_few_lack_it(tmp_path):
    house = with_census(tmp_path, PEOPLE)
    house.ask(**CENSUS, rows=["region"], figures=["UNITS", "SUM:income"])
    policies = Policies(house.ledger, load_policies(), "cell-key")
    (noise,) = audit_source(house.ledger, house.engine, policies, "census", 20_000, 60.0).noise
    lacking = [counted(PEOPLE, lambda p, r=r: p["region"] == r and not p["income"]) for r in REGIONS]
    having = [counted(PEOPLE, lambda p, r=r: p["region"] == r and p["income"] != "") for r in REGIONS]
    assert 0 < min(lacking) < 10 <= min(having)
    assert noise.unsafe == 0
