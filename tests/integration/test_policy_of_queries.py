"""Policies change while the facility runs: what is asked anew, what stays answered, and what applied when."""

from dataclasses import replace

import pytest
from sqlalchemy import select, text, update

from house import LocalRisk, build, person, verdict, with_randhie
from sdcgate.facility.errors import InvalidRequest, NotFound
from sdcgate.facility.pace import Pace
from sdcgate.ledger.events import POLICY, read_body
from sdcgate.ledger.ledger import LedgerDamaged
from sdcgate.ledger.schema import blobs, events
from sdcgate.policy import PolicyInvalid
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies, parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

TEXT = (BUNDLED / "israel-cbs.yaml").read_text()


def changed(old: str, new: str, name: str = "israel-cbs"):
    """The bundled policies, one of them with a change."""
    assert old in TEXT
    return {**load_policies(), name: parse_policy(TEXT.replace(old, new))}


STRICTER = changed("minimum_units: {units: 10,", "minimum_units: {units: 40,")


@pytest.fixture
def house(tmp_path):
    return with_randhie(tmp_path)


def policy_of(house, caller=None, **named) -> pb.GetPolicyResponse:
    return house.facility.get_policy(caller or house.researcher, pb.GetPolicyRequest(**named))


def setting(shown: pb.GetPolicyResponse, name: str) -> pb.PolicySetting:
    (found,) = [setting for setting in shown.settings if setting.name == name]
    return found


def recorded(house) -> list[str]:
    with house.ledger.reading() as connection:
        bodies = [read_body(row.body) for row in connection.execute(events.select())]
    return [body["policy"]["hash"] for body in bodies if body["kind"] == POLICY]


def drop_triggers(connection) -> None:
    """What somebody who owns the database could do."""
    names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
    for name in names:
        connection.execute(text(f"DROP TRIGGER {name}"))


def test_a_dataset_tells_its_policy_setting_by_setting(house):
    shown = policy_of(house, dataset="randhie")
    assert (shown.policy.name, shown.access_level, shown.dataset) == ("israel-cbs", "remote", "randhie")
    assert shown.policy.hash == house.facility.get_dataset(house.researcher, "randhie").dataset.policy.hash
    assert len(shown.settings) == 71
    units = setting(shown, "rules.minimum_units")
    assert units.value == "{units: 10, consequence: protect}"
    assert units.explanation == "A cell of fewer than 10 units is withheld, unless it is empty."


def test_a_query_tells_the_policy_as_it_was_and_the_next_one_is_decided_by_the_new(house):
    before = house.ask(rows=["site"], columns=["plan"])
    house.facility.replace_policies(STRICTER)
    after = house.ask(rows=["site"], columns=["plan"])
    assert not after.repeated
    assert after.decision.query != before.decision.query
    assert after.decision.policy.hash != before.decision.policy.hash
    old, new = (policy_of(house, query=answered.decision.query) for answered in (before, after))
    assert (old.policy, new.policy) == (before.decision.policy, after.decision.policy)
    assert setting(old, "rules.minimum_units").value == "{units: 10, consequence: protect}"
    assert setting(new, "rules.minimum_units").value == "{units: 40, consequence: protect}"
    assert policy_of(house, dataset="randhie").policy == new.policy
    # What was answered stays answered, and is found again where the old policy comes back.
    assert house.facility.get_query(house.researcher, before.decision.query).decision == before.decision
    house.facility.replace_policies(load_policies())
    assert house.ask(rows=["site"], columns=["plan"]).decision == before.decision
    assert house.ledger.verify().ok


def test_the_policy_of_a_query_is_told_after_a_restart_under_another_policy(house, tmp_path):
    query = house.ask(rows=["site"]).decision.query
    house.ledger.close()
    again = build(tmp_path, engine=house.engine)
    again.facility.replace_policies(STRICTER)
    assert setting(policy_of(again, query=query), "rules.minimum_units").value.startswith("{units: 10,")


def test_a_policy_is_recorded_once_before_its_first_decision_and_not_at_all_if_nothing_is_decided(house):
    policy_of(house, dataset="randhie")
    with pytest.raises(InvalidRequest):
        house.ask(rows=["sight"])
    assert recorded(house) == []
    first = house.ask(rows=["site", "plan"], columns=["female", "year"])
    assert verdict(first) == "REFUSED"
    house.ask(rows=["site"])
    assert recorded(house) == [first.decision.policy.hash]
    assert first.decision.certificate.sequence == 2


def test_a_query_under_way_ends_under_the_policy_that_it_began_with(tmp_path):
    class Exchanging(LocalRisk):
        """Exchanges the policies while a query is being judged."""

        def assess_table(self, *arguments, **named):
            house.facility.replace_policies(STRICTER)
            return super().assess_table(*arguments, **named)

    house = with_randhie(tmp_path, risk=Exchanging())
    began = policy_of(house, dataset="randhie").policy
    answered = house.ask(rows=["site"], columns=["plan"])
    assert answered.decision.policy == began
    assert policy_of(house, query=answered.decision.query).policy == began
    assert policy_of(house, dataset="randhie").policy != began


def test_a_reviewed_query_tells_the_policy_of_its_review(house):
    lenient = changed("filters_count: false, consequence: refuse", "filters_count: false, consequence: refer")
    house.facility.replace_policies(lenient)
    referred = house.ask(rows=["site", "plan"], columns=["female", "year"])
    assert verdict(referred) == "REFERRED"
    house.facility.replace_policies(STRICTER)
    review = pb.ReviewQueryRequest(query=referred.decision.query, approve=False, note="too much detail")
    decided = house.facility.review_query(house.checker, review, Pace(30.0))
    assert verdict(decided) == "REFUSED"
    assert policy_of(house, query=decided.query).policy == decided.policy
    assert len(recorded(house)) == 2


def test_a_researcher_is_told_the_policies_of_his_own_queries_only(house):
    query = house.ask(rows=["site"]).decision.query
    for stranger in (person("researcher", "eve"), person("portal", "eve")):
        with pytest.raises(NotFound) as theirs:
            policy_of(house, stranger, query=query)
        with pytest.raises(NotFound) as nobodys:
            policy_of(house, stranger, query="q-0")
        assert str(theirs.value) == str(nobodys.value).replace("q-0", query)
    for role in ("checker", "steward", "operator"):
        assert policy_of(house, person(role, "olga"), query=query).policy.name == "israel-cbs"


def test_exactly_one_of_dataset_and_query_is_named(house):
    for named in ({}, {"dataset": "randhie", "query": "q-0"}):
        with pytest.raises(InvalidRequest, match="a dataset or a query, and not both"):
            policy_of(house, **named)
    with pytest.raises(NotFound):
        policy_of(house, dataset="nobody")


def test_policies_that_would_leave_a_dataset_without_one_are_not_taken(house):
    before = policy_of(house, dataset="randhie").policy
    without = {name: policy for name, policy in load_policies().items() if name != "israel-cbs"}
    with pytest.raises(PolicyInvalid, match="dataset randhie needs the policy israel-cbs"):
        house.facility.replace_policies(without)
    levels = {**load_policies()["israel-cbs"].access_levels}
    levels.pop("remote")
    lacking = replace(load_policies()["israel-cbs"], access_levels=levels)
    with pytest.raises(PolicyInvalid, match="dataset randhie needs the access level remote of israel-cbs"):
        house.facility.replace_policies({**without, "israel-cbs": lacking})
    assert policy_of(house, dataset="randhie").policy == before


def test_a_recorded_policy_that_was_altered_is_not_told(house):
    query = house.ask(rows=["site"]).decision.query
    with house.ledger._engine.begin() as connection:
        drop_triggers(connection)
        kept = connection.execute(select(blobs.c.data).where(blobs.c.sequence == 1)).scalar()
        forged = kept.replace(b'"units":10', b'"units":1')
        assert forged != kept
        connection.execute(update(blobs).where(blobs.c.sequence == 1).values(data=forged))
    with pytest.raises(LedgerDamaged):
        policy_of(house, query=query)
    assert [fault.place for fault in house.ledger.verify().faults] == ["blobs.data (policy)"]


def test_a_query_of_a_ledger_that_kept_no_policies_says_so(house):
    query = house.ask(rows=["site"]).decision.query
    with house.ledger._engine.begin() as connection:
        drop_triggers(connection)
        connection.execute(text("DELETE FROM policies"))
    with pytest.raises(NotFound, match="was not recorded"):
        policy_of(house, query=query)
