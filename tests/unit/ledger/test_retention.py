"""What goes after its period, what never goes, and that the rest proves as much as before."""

import json
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, text
from sqlalchemy.exc import DBAPIError

from sdcgate.ledger import retention
from sdcgate.ledger.admissions import AdmissionRequest, Admissions
from sdcgate.ledger.bundle_verification import verify_bundle
from sdcgate.ledger.bundles import Selection, export
from sdcgate.ledger.comments import Comment, Comments
from sdcgate.ledger.copying import copy_database
from sdcgate.ledger.errors import ContentRemoved, HoldsChanged, LedgerDamaged, UnknownHold
from sdcgate.ledger.events import RegistrationEvent
from sdcgate.ledger.holds import Holds, Subject
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.removable import Content
from sdcgate.ledger.retention import apply, plan
from sdcgate.ledger.schema import blobs, releases, removals
from sdcgate.ledger.signing import KeyRing

WHO = {"author": "olga", "note": "yearly"}
ALL_OF_TIME = Selection(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC), confidential=True)
AT_ONCE = dict.fromkeys(Content, 0)


def later(days=0):
    return datetime.now(UTC) + timedelta(days=days)


def what(planned):
    return {(item.sequence, item.name) for item in planned.items}


def removed_at_once(ledger):
    return apply(ledger, plan(ledger, AT_ONCE, later()), AT_ONCE, **WHO)


def digest_of(ledger, sequence, name):
    (event,) = ledger.events_after(sequence - 1, 1)
    return bytes.fromhex(event.body["attachments"][name]["digest"])


def registered(ledger, version):
    ledger.append_registration(
        RegistrationEvent(
            source="households",
            dataset="survey",
            version=version,
            descriptor=b"name: survey",
            content_hash=f"sha256:{version}",
            author="key of the steward",
        )
    )


@pytest.fixture
def one_version(ledger, make_decision, make_referral, make_review):
    """A release, a referral that was commented on and approved, and one that waits."""
    registered(ledger, 1)
    ledger.append_decision(make_decision(checker=b"TRUE CELLS OF 1"), 1)
    ledger.append_decision(make_referral(checker=b"TRUE CELLS OF 2"), None)
    Comments(ledger).append(Comment("q-0002", "carla", "key of carla", "why so fine?"))
    ledger.append_review(make_review("q-0002", checker=b"TRUE CELLS AS REVIEWED"), 2)
    ledger.append_decision(make_referral(checker=b"TRUE CELLS OF 3"), None)
    return ledger


@pytest.fixture
def two_versions(one_version, make_decision):
    """As well a release of a second version: the first answers nothing any more."""
    registered(one_version, 2)
    one_version.append_decision(make_decision(version=2, checker=b"TRUE CELLS OF 4"), 7)
    return one_version


def test_everything_is_kept_for_ever_unless_settings_say_otherwise(two_versions):
    assert plan(two_versions, dict.fromkeys(Content), later(100_000)).items == ()


def test_what_checkers_saw_and_wrote_goes_after_its_period_and_no_sooner(one_version):
    periods = {Content.CHECKER_VIEWS: 30, Content.NOTES: 90}
    assert what(plan(one_version, periods, later(29))) == set()
    views = {(2, "checker"), (3, "checker"), (5, "checker")}
    assert what(plan(one_version, periods, later(31))) == views
    assert what(plan(one_version, periods, later(91))) == views | {(4, "text"), (5, "note")}


def test_answers_stay_while_they_can_be_asked_for_again(one_version, make_decision):
    assert {name for _, name in what(plan(one_version, AT_ONCE, later(10_000)))} == {
        "checker",
        "text",
        "note",
    }
    # A newer version alone changes nothing: the only one of which something has left may answer for it.
    registered(one_version, 2)
    assert "answer" not in {name for _, name in what(plan(one_version, AT_ONCE, later(10_000)))}
    removed_at_once(one_version)
    stored = one_version.query("q-0001")
    asked = make_decision(canonical=b"table 1")
    again = one_version.find_answer("households", 1, stored_hash(asked), asked.policy_hash, asked.scope)
    assert (stored.answer, again.answer) == (b"the answer 1", b"the answer 1")
    assert (stored.checker, stored.checker_removed_by) == (None, 8)


def stored_hash(event):
    from sdcgate.ledger.events import canonical_hash

    return canonical_hash(event.canonical)


def test_answers_of_a_version_that_answers_nothing_any_more_go(two_versions, make_decision):
    planned = plan(two_versions, AT_ONCE, later())
    assert what(planned) == {
        *((2, name) for name in ("request", "answer", "confidential", "checker")),
        *((3, name) for name in ("request", "answer", "confidential", "checker")),
        *((5, name) for name in ("answer", "confidential", "checker", "note")),
        (4, "text"),
        (8, "checker"),
    }
    assert apply(two_versions, planned, AT_ONCE, **WHO) == [9]
    with pytest.raises(ContentRemoved, match="removed under retention, as event 9 records") as caught:
        two_versions.query("q-0001")
    assert (caught.value.query.researcher, caught.value.query.verdict) == ("anna", "RELEASED")
    first = make_decision(canonical=b"table 1")
    with pytest.raises(ContentRemoved):
        two_versions.find_answer("households", 1, stored_hash(first), first.policy_hash, first.scope)
    assert two_versions.query("q-0004").answer.startswith(b"the answer")
    assert [comment.text for comment, _ in Comments(two_versions).of("q-0002")] == [""]
    assert plan(two_versions, AT_ONCE, later()).items == ()


def test_what_waits_for_a_checker_stays_whole(two_versions):
    removed_at_once(two_versions)
    waiting = two_versions.query("q-0003")
    assert (waiting.request, waiting.checker) == (b"the request", b"TRUE CELLS OF 3")


def test_a_version_that_a_review_may_yet_release_from_keeps_its_answers(ledger, make_decision, make_referral):
    registered(ledger, 1)
    ledger.append_decision(make_decision(verdict="REFUSED", release=None, boxes=()), 1)
    ledger.append_decision(make_referral(), None)
    registered(ledger, 2)
    assert what(plan(ledger, AT_ONCE, later())) == set()


def test_what_left_and_its_boxes_stay_and_later_audits_know_as_much(two_versions):
    def known():
        payloads = [(one.sequence, one.payload) for one in two_versions.releases("households")]
        boxes = two_versions.box_states("households", [b"box a", b"box b", b"box c"])
        return payloads, boxes, two_versions.source_sequence("households")

    before = known()
    removed_at_once(two_versions)
    assert known() == before
    assert len(before[0]) == 3


def test_verification_tells_what_was_removed_and_that_nothing_is_missing(two_versions):
    removed_at_once(two_versions)
    report = two_versions.verify()
    assert (report.ok, report.events, report.faults) == (True, 9, ())
    assert [(one.sequence, one.attachments, one.author) for one in report.removed] == [(9, 14, "olga")]


def test_the_event_lists_what_was_removed_under_which_setting(two_versions):
    removed_at_once(two_versions)
    body = two_versions.events_after(8, 1)[0].body
    assert (body["author"], body["note"], body["periods"]) == (
        "olga",
        "yearly",
        {one.value: 0 for one in Content},
    )
    of_comment = [item for item in body["removed"] if item["sequence"] == 4]
    assert [(item["attachment"], item["setting"]) for item in of_comment] == [("text", "notes_days")]


def test_many_are_removed_by_several_events(two_versions, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 5)
    assert removed_at_once(two_versions) == [9, 10, 11]
    assert two_versions.verify().ok


def test_labels_and_remarks_of_admissions_go_when_they_are_over(ledger):
    admissions = Admissions(ledger)
    days = {"valid_from": date(2026, 1, 1), "valid_until": date(2026, 12, 31)}
    for name in ("a-1", "a-2"):
        admissions.request(
            AdmissionRequest(
                admission_id=name,
                researchers=("anna",),
                label="Anna Svensson",
                requested_by="p",
                author="k",
                **days,
            )
        )
    admissions.review("a-1", approve=True, reviewer="carla", author="k", note="diploma seen", **days)
    periods = {Content.ADMISSIONS: 365}
    assert what(plan(ledger, periods, datetime(2027, 12, 30, tzinfo=UTC))) == set()
    planned = plan(ledger, periods, datetime(2028, 1, 1, tzinfo=UTC))
    assert what(planned) == {(1, "label"), (2, "label"), (3, "remark")}
    assert (admissions.get("a-1").request.label, admissions.get("a-1").note) == (
        "Anna Svensson",
        "diploma seen",
    )
    apply(ledger, planned, periods, **WHO)
    assert (admissions.get("a-1").request.label, admissions.get("a-1").note) == ("", "")
    assert admissions.get("a-1").in_force(date(2026, 6, 1))
    assert ledger.verify().ok


@pytest.mark.parametrize(
    ("subject", "name", "kept"),
    [
        (Subject.SOURCE, "households", {2, 3, 4, 5, 8}),
        (Subject.RESEARCHER, "anna", {2, 3, 4, 5, 8}),
        (Subject.RESEARCHER, "carla", {3, 4, 5}),
        (Subject.PROJECT, "demo", {2, 3, 4, 5, 8}),
        (Subject.QUERY, "q-0001", {2}),
        (Subject.QUERY, "q-9999", set()),
    ],
)
def test_a_legal_hold_keeps_all_that_it_touches(two_versions, subject, name, kept):
    before = plan(two_versions, AT_ONCE, later())
    hold = Holds(two_versions).add(subject, name, **WHO)
    held = plan(two_versions, AT_ONCE, later())
    assert {item.sequence for item in before.items} - {item.sequence for item in held.items} == kept
    assert sum(held.held.values()) == len(before.items) - len(held.items)
    Holds(two_versions).release(hold, **WHO)
    assert what(plan(two_versions, AT_ONCE, later())) == what(before)


def test_a_hold_that_comes_between_plan_and_removal_stops_it(two_versions):
    planned = plan(two_versions, AT_ONCE, later())
    Holds(two_versions).add(Subject.QUERY, "q-0001", **WHO)
    with pytest.raises(HoldsChanged):
        apply(two_versions, planned, AT_ONCE, **WHO)
    assert two_versions.query("q-0001").answer == b"the answer 1"
    assert two_versions.verify().removed == ()


def test_holds_are_events_with_their_reasons_and_are_released_once(ledger):
    holds = Holds(ledger)
    hold = holds.add(Subject.PROJECT, "demo", author="olga", note="court order 7")
    assert [(one.hold_id, one.subject, one.name, one.note) for one in holds.in_force()] == [
        (hold, Subject.PROJECT, "demo", "court order 7")
    ]
    holds.release(hold, author="olga", note="closed")
    assert holds.in_force() == []
    for unknown in (hold, "h-none"):
        with pytest.raises(UnknownHold):
            holds.release(unknown, **WHO)
    with pytest.raises(ValueError, match="note: must say something"):
        holds.add(Subject.PROJECT, "demo", author="olga", note=" ")
    assert ledger.verify().ok


def test_the_database_lets_nothing_go_that_no_event_lists(two_versions):
    for statement in (delete(blobs), delete(blobs).where(blobs.c.sequence == 2)):
        with pytest.raises(DBAPIError, match="append-only"), two_versions._engine.begin() as connection:
            connection.execute(statement)
    # A row that no event made lists nothing: it names an event that is not there.
    with two_versions.reading() as connection:
        digest = connection.scalar(select(blobs.c.digest).where(blobs.c.sequence == 2))
    with two_versions._engine.connect() as connection:
        connection.execute(insert(removals).values(sequence=999, position=0, digest=digest))
        with pytest.raises(DBAPIError, match="append-only"):
            connection.execute(delete(blobs).where(blobs.c.digest == digest))
    assert two_versions.verify().ok


def test_the_database_never_lets_go_what_left(two_versions):
    removed_at_once(two_versions)
    with two_versions.reading() as connection:
        digest = connection.scalar(select(releases.c.digest).limit(1))
    with two_versions._engine.connect() as connection:
        connection.execute(insert(removals).values(sequence=9, position=99, digest=digest))
        with pytest.raises(DBAPIError, match="append-only"):
            connection.execute(delete(blobs).where(blobs.c.digest == digest))


def test_a_row_that_lets_go_more_than_its_event_lists_is_found(two_versions):
    removed_at_once(two_versions)
    digest = digest_of(two_versions, 6, "answer")
    with two_versions._engine.begin() as connection:
        connection.execute(insert(removals).values(sequence=9, position=99, digest=digest))
        connection.execute(delete(blobs).where(blobs.c.digest == digest))
    assert [(fault.sequence, fault.place) for fault in two_versions.verify().faults] == [(9, "removals")]
    # Nor is it told to be removed by an event that does not say so.
    with pytest.raises(LedgerDamaged, match="answer is missing"):
        two_versions.query("q-0003")


def test_what_was_removed_and_is_there_again_is_found(two_versions):
    with two_versions.reading() as connection:
        row = dict(connection.execute(select(blobs).where(blobs.c.sequence == 4)).mappings().one())
    removed_at_once(two_versions)
    with two_versions._engine.begin() as connection:
        connection.execute(insert(blobs).values(row))
    faults = two_versions.verify().faults
    assert [(fault.sequence, fault.message) for fault in faults] == [
        (4, "there, though it was removed under retention")
    ]


def test_what_is_missing_without_an_event_is_still_missing(two_versions, tampering):
    removed_at_once(two_versions)
    with tampering(two_versions) as connection:
        connection.execute(delete(blobs).where(blobs.c.digest == digest_of(two_versions, 8, "answer")))
    faults = two_versions.verify().faults
    assert [(fault.sequence, fault.place) for fault in faults] == [(8, "blobs (answer)")]
    with pytest.raises(LedgerDamaged, match="answer is missing"):
        two_versions.query("q-0004")


def test_nothing_of_it_is_left_in_the_files_of_sqlite(two_versions, tmp_path):
    if not two_versions.serves_one_process:
        return
    path = Path(str(two_versions._engine.url.database))

    def found(secret):
        return any(secret in file.read_bytes() for file in path.parent.glob("ledger.db*"))

    assert found(b"TRUE CELLS OF 1")
    removed_at_once(two_versions)
    assert not found(b"TRUE CELLS OF 1")
    assert found(b"TRUE CELLS OF 3")


def test_a_bundle_of_afterwards_is_verified_and_says_what_was_removed(two_versions, key_ring, tmp_path):
    removed_at_once(two_versions)
    assert export(two_versions, tmp_path / "audit.zip", ALL_OF_TIME) == 9
    report = verify_bundle(tmp_path / "audit.zip", key_ring.public_bundle())
    assert (report.problems, report.removed) == ((), 14)


def test_a_bundle_whose_removal_no_event_records_is_not_valid(two_versions, key_ring, tmp_path):
    removed_at_once(two_versions)
    export(two_versions, tmp_path / "audit.zip", ALL_OF_TIME)
    with zipfile.ZipFile(tmp_path / "audit.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    # The facility itself, were it to lie: it leaves out another answer, and the keys are its own.
    name = "attachments/6/answer"
    del members[name], manifest["members"][name]
    manifest["removed"][name] = 9
    resign(members, manifest, key_ring)
    with zipfile.ZipFile(tmp_path / "lies.zip", "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    report = verify_bundle(tmp_path / "lies.zip", key_ring.public_bundle())
    assert report.problems == ("attachments/6/answer: event 9 does not say that it was removed",)


def resign(members, manifest, key_ring):
    from sdcgate.ledger.bundles import STATEMENT
    from sdcgate.ledger.events import canonical_json

    members["manifest.json"] = canonical_json(manifest)
    members["manifest.sig"] = key_ring.sign(STATEMENT + members["manifest.json"]).hex().encode()


def test_a_copy_of_afterwards_verifies_like_the_ledger(two_versions, key_ring, heads_path, tmp_path):
    if not two_versions.serves_one_process:
        return
    removed_at_once(two_versions)
    (tmp_path / "backup").mkdir()
    copy = copy_database(str(two_versions._engine.url), tmp_path / "backup")
    report = Ledger(f"sqlite:///{copy}", key_ring, heads_path).verify()
    assert (report.ok, len(report.removed)) == (True, 1)


def test_what_others_read_of_the_events_goes_on_without_what_was_removed(two_versions):
    removed_at_once(two_versions)
    answers = {event.sequence: event.answer for event in two_versions.events_after(0, 100)}
    assert (answers[2], answers[5], len(answers)) == (None, None, 9)
    assert answers[8].startswith(b"the answer")


def test_ledgers_of_before_let_go_what_they_hold_apart(ledger, make_decision):
    # Before, what a checker saw was within the record: it goes with the answer.
    registered(ledger, 1)
    ledger.append_decision(make_decision(), 1)
    assert what(plan(ledger, AT_ONCE, later())) == set()


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    asked=st.lists(
        st.tuples(st.sampled_from([1, 2]), st.sampled_from(["RELEASED", "REFUSED", "REFERRED"])), max_size=8
    ),
    periods=st.fixed_dictionaries({content: st.sampled_from([None, 0, 10]) for content in Content}),
    days=st.sampled_from([0, 5, 20]),
    held=st.sampled_from([None, "anna", "nobody"]),
)
def test_whatever_was_asked_the_rest_proves_as_much_and_what_may_be_asked_again_is_answered(
    asked, periods, days, held, make_decision, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("history")
    ledger = Ledger.open(
        f"sqlite:///{folder / 'ledger.db'}", KeyRing.open(folder / "k"), folder / "heads.jsonl"
    )
    try:
        registered(ledger, 1)
        registered(ledger, 2)
        made = []
        for version, verdict in asked:
            released = {} if verdict == "RELEASED" else {"release": None, "boxes": ()}
            made.append(make_decision(version=version, verdict=verdict, checker=b"seen", **released))
            ledger.append_decision(made[-1], ledger.source_sequence("households"))
        if held:
            Holds(ledger).add(Subject.RESEARCHER, held, **WHO)
        left = [(one.sequence, one.payload) for one in ledger.releases("households")]
        apply(ledger, plan(ledger, periods, later(days)), periods, **WHO)
        assert ledger.verify().ok
        assert [(one.sequence, one.payload) for one in ledger.releases("households")] == left
        # facility.versions: the newest answers, or else the only version of which something has left.
        versions = {event.version for event in made if event.release is not None}
        for event in made:
            if event.version == 2 or versions == {1} or held == "anna" or event.verdict == "REFERRED":
                assert ledger.query(event.query_id).answer == event.answer
    finally:
        ledger.close()


def test_triggers_of_before_are_replaced_once(ledger):
    with ledger.reading() as connection:
        if connection.dialect.name == "sqlite":
            found = connection.execute(
                text("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'blobs'")
            ).scalars()
        else:
            found = connection.execute(
                text("SELECT tgname FROM pg_trigger WHERE tgrelid = 'blobs'::regclass AND NOT tgisinternal")
            ).scalars()
        assert len(set(found)) == 2
