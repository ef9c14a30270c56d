from datetime import UTC, datetime, timedelta, timezone

import pytest

from sdcgate.ledger.chain import GENESIS
from sdcgate.ledger.events import BoxRow, canonical_hash
from sdcgate.ledger.ledger import (
    AlreadyAnswered,
    AlreadyRegistered,
    HeadMoved,
    LedgerUnavailable,
    NotReferred,
    SelfReview,
)


def find(ledger, decision, **changes):
    key = {
        "source": decision.source,
        "version": decision.version,
        "canonical_hash": canonical_hash(decision.canonical),
        "policy_hash": decision.policy_hash,
        "scope": decision.scope,
    }
    return ledger.find_answer(**{**key, **changes})


def test_an_empty_ledger_has_a_fixed_head(ledger):
    assert (ledger.head().sequence, ledger.head().hash) == (0, GENESIS.hex())
    assert ledger.source_sequence("households") == 0
    assert ledger.verify().ok


def test_a_decision_is_recorded_and_read_back_exactly(ledger, make_decision):
    decision = make_decision()
    recorded = ledger.append_decision(decision, 0)
    assert (recorded.sequence, recorded.query_id) == (1, "q-0001")
    assert (ledger.head().sequence, ledger.head().hash) == (1, recorded.head_hash)
    assert recorded.certificate.head == recorded.head_hash
    stored = ledger.query("q-0001")
    for name in ("query_id", "source", "dataset", "version", "policy_name", "policy_hash", "scope"):
        assert getattr(stored, name) == getattr(decision, name)
    for name in ("researcher", "project", "verdict", "request", "answer", "confidential", "author"):
        assert getattr(stored, name) == getattr(decision, name)
    assert stored.certificate == recorded.certificate
    assert stored.decided_at == recorded.recorded_at
    assert (stored.first_verdict, stored.review) == ("RELEASED", None)


def test_moments_are_kept_in_utc_to_the_microsecond(open_ledger, make_decision):
    moment = datetime(2026, 11, 21, 1, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    ledger = open_ledger(clock=lambda: moment)
    recorded = ledger.append_decision(make_decision(), 0)
    assert recorded.recorded_at == ledger.query("q-0001").decided_at == moment
    assert recorded.recorded_at.tzinfo is UTC


def test_the_same_canonical_query_finds_its_answer_and_any_other_does_not(ledger, make_decision):
    decision = make_decision()
    ledger.append_decision(decision, 0)
    assert find(ledger, decision).query_id == "q-0001"
    for change in (
        {"source": "other"},
        {"version": 2},
        {"canonical_hash": "0" * 64},
        {"policy_hash": "sha256:13"},
        {"scope": "team"},
    ):
        assert find(ledger, decision, **change) is None


def test_the_second_answer_to_a_query_is_refused_and_names_the_first(ledger, make_decision):
    ledger.append_decision(make_decision(canonical=b"same"), 0)
    with pytest.raises(AlreadyAnswered) as caught:
        ledger.append_decision(make_decision(canonical=b"same"), 0)
    assert caught.value.query_id == "q-0001"
    assert ledger.head().sequence == 1


def test_a_query_id_is_taken_once(ledger, make_decision):
    ledger.append_decision(make_decision(query_id="q-1"), 0)
    with pytest.raises(ValueError, match="query_id: q-1 is taken"):
        ledger.append_decision(make_decision(query_id="q-1"), 1)


def test_what_was_audited_at_an_old_head_is_not_recorded(ledger, make_decision):
    ledger.append_decision(make_decision(), 0)
    with pytest.raises(HeadMoved) as caught:
        ledger.append_decision(make_decision(), 0)
    assert caught.value.current == 1
    assert ledger.append_decision(make_decision(), 1).sequence == 2


def test_another_source_does_not_move_the_head_of_this_one(ledger, make_decision):
    ledger.append_decision(make_decision(source="businesses"), 0)
    assert ledger.append_decision(make_decision(), 0).sequence == 2
    assert (ledger.source_sequence("businesses"), ledger.source_sequence("households")) == (1, 2)


def test_a_refusal_that_says_nothing_of_the_data_does_not_move_the_source(ledger, make_decision):
    silent = make_decision(verdict="REFUSED", release=None, boxes=())
    ledger.append_decision(silent, None)
    assert ledger.source_sequence("households") == 0
    assert ledger.releases("households") == []


def test_a_refusal_that_says_something_is_a_release_of_knowledge(ledger, make_decision):
    ledger.append_decision(make_decision(verdict="REFUSED", release=b"withheld: box b"), 0)
    assert ledger.source_sequence("households") == 1
    assert ledger.releases("households")[0].payload == b"withheld: box b"


def test_releases_are_given_in_order_from_any_sequence(ledger, make_decision):
    for number in range(3):
        ledger.append_decision(make_decision(release=b"blob %d" % number), number)
    ledger.append_decision(make_decision(source="businesses"), 0)
    found = ledger.releases("households", after_sequence=1)
    assert [(each.sequence, each.query_id, each.payload) for each in found] == [
        (2, "q-0002", b"blob 1"),
        (3, "q-0003", b"blob 2"),
    ]
    assert {(each.dataset, each.version) for each in found} == {("survey", 1)}


@pytest.mark.parametrize("number", [3, 700])
def test_what_became_of_boxes_is_known_by_digest(ledger, make_decision, number):
    rows = tuple(BoxRow(b"box %d" % position, 1 + position % 2) for position in range(number))
    ledger.append_decision(make_decision(boxes=rows), 0)
    ledger.append_decision(make_decision(boxes=(BoxRow(b"box 0", 2),)), 1)
    ledger.append_decision(make_decision(source="businesses", boxes=(BoxRow(b"box 1", 1),)), 0)
    wanted = [row.digest for row in rows] + [b"never seen"]
    found = ledger.box_states("households", wanted)
    assert len(found) == number
    assert found[b"box 0"] == {1, 2}
    assert found[b"box 1"] == {2}


def test_a_registration_moves_the_source_and_is_made_once(ledger, make_decision, registration):
    assert ledger.append_registration(registration).sequence == 1
    assert ledger.source_sequence("households") == 1
    with pytest.raises(HeadMoved):
        ledger.append_decision(make_decision(), 0)
    with pytest.raises(AlreadyRegistered, match="version 1 of survey"):
        ledger.append_registration(registration)
    (stored,) = ledger.registrations()
    assert (stored.dataset, stored.version, stored.descriptor) == ("survey", 1, b"name: survey")
    assert stored.content_hash == "sha256:99"


def test_an_approval_replaces_the_referral(ledger, make_referral, make_review):
    referral = make_referral()
    ledger.append_decision(referral, 0)
    review = make_review("q-0001")
    recorded = ledger.append_review(review, 0)
    stored = ledger.query("q-0001")
    assert (stored.verdict, stored.first_verdict) == ("RELEASED", "REFERRED")
    assert (stored.request, stored.answer) == (referral.request, review.answer)
    assert stored.confidential == review.confidential
    assert stored.certificate == recorded.certificate
    assert stored.review.reviewer == "carla"
    assert (stored.review.note, stored.review.approve) == ("harmless", True)
    assert stored.review.reviewed_at >= stored.decided_at
    assert find(ledger, referral) == stored
    assert [each.payload for each in ledger.releases("households")] == [b"what left after review"]
    assert ledger.verify().ok


def test_a_review_may_refuse(ledger, make_referral, make_review):
    ledger.append_decision(make_referral(), 0)
    refusal = make_review("q-0001", approve=False, verdict="REFUSED", release=None, boxes=())
    ledger.append_review(refusal, None)
    assert ledger.query("q-0001").verdict == "REFUSED"
    assert ledger.source_sequence("households") == 0


def test_an_approval_audited_at_an_old_head_is_not_recorded(
    ledger, make_decision, make_referral, make_review
):
    ledger.append_decision(make_referral(), 0)
    ledger.append_decision(make_decision(), 0)
    with pytest.raises(HeadMoved) as caught:
        ledger.append_review(make_review("q-0001"), 0)
    assert caught.value.current == 2
    assert ledger.query("q-0001").verdict == "REFERRED"


def test_only_a_referred_query_is_reviewed_and_only_once(ledger, make_decision, make_referral, make_review):
    ledger.append_decision(make_decision(), 0)
    ledger.append_decision(make_referral(), None)
    ledger.append_review(make_review("q-0002"), 1)
    for query in ("q-0001", "q-0002", "q-none"):
        with pytest.raises(NotReferred):
            ledger.append_review(make_review(query), 3)


@pytest.mark.parametrize("change", [{"reviewer": "anna"}, {"author": "key of anna"}])
def test_nobody_reviews_what_he_asked(ledger, make_referral, make_review, change):
    ledger.append_decision(make_referral(), None)
    with pytest.raises(SelfReview):
        ledger.append_review(make_review("q-0001", **change), 0)


def test_queries_are_listed_by_researcher_and_present_verdict_page_by_page(
    ledger, make_decision, make_referral, make_review
):
    ledger.append_decision(make_decision(), 0)
    ledger.append_decision(make_referral(researcher="ben"), None)
    ledger.append_decision(make_referral(), None)
    ledger.append_review(make_review("q-0003"), 1)

    def listed(*arguments):
        return [(query.query_id, query.verdict) for query in ledger.queries(*arguments)]

    everything = [("q-0003", "RELEASED"), ("q-0002", "REFERRED"), ("q-0001", "RELEASED")]
    assert listed(None, set(), 10, None) == everything
    assert listed("anna", set(), 10, None) == [everything[0], everything[2]]
    assert listed(None, {"REFERRED"}, 10, None) == [everything[1]]
    assert listed(None, set(), 2, None) == everything[:2]
    assert listed(None, set(), 2, "q-0002") == everything[2:]
    assert listed(None, set(), 2, "q-none") == []


def test_reprs_and_errors_hide_withheld_values_and_passwords(ledger, make_decision, monkeypatch):
    ledger.append_decision(make_decision(answer=b"SECRET", confidential=b"SECRET", request=b"SECRET"), 0)
    assert "SECRET" not in repr(ledger.query("q-0001"))
    assert "SECRET" not in repr(ledger.releases("households"))
    # A row that the database refuses: the same attachments again, past every check.
    from sdcgate.ledger import appending

    monkeypatch.setattr(appending, "rows_of", lambda *_: {appending.blobs: [(b"1", 1, b"SECRET")] * 2})
    with pytest.raises(LedgerUnavailable) as caught:
        ledger.append_decision(make_decision(), 1)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert ledger.head().sequence == 1
