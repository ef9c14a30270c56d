import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.ledger.events import (
    BoxRow,
    attachment_digest,
    canonical_hash,
    canonical_json,
    draft_decision,
    draft_review,
    pack_boxes,
    read_body,
    unpack_boxes,
)

MOMENT = "2026-11-21T07:00:00.000000Z"


def test_canonical_json_has_one_spelling():
    assert canonical_json({"b": [1, None], "a": "ü"}) == '{"a":"ü","b":[1,null]}'.encode()


@pytest.mark.parametrize("value", [{"a": 0.5}, {"a": [1, {"b": float("nan")}]}])
def test_floats_are_refused_at_any_depth(value):
    with pytest.raises(TypeError, match="float"):
        canonical_json(value)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"format":1, "a":1}',
        b'{"format":2}',
        b'{"a":0.5,"format":1}',
        b'{"a":NaN,"format":1}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_bytes_that_are_no_event_are_not_read(body):
    with pytest.raises(ValueError, match=r"event|utf-8|Expecting"):
        read_body(body)


def test_the_event_holds_salted_digests_of_its_attachments_and_not_the_attachments(make_decision):
    draft = draft_decision(make_decision(confidential=b"exactly 3 persons"), audited=0)
    body = draft.body(1, MOMENT)
    assert b"3 persons" not in body
    attached = {item.name: item for item in draft.attachments}
    assert set(attached) == {"request", "answer", "confidential", "release", "boxes"}
    for name, signed in read_body(body)["attachments"].items():
        salt = bytes.fromhex(signed["salt"])
        assert len(salt) == 16
        assert attachment_digest(salt, attached[name].data).hex() == signed["digest"]


def test_the_same_decision_never_has_the_same_bytes_so_that_hashes_cannot_be_guessed(make_decision):
    event = make_decision()
    bodies = [draft_decision(event, audited=0).body(1, MOMENT) for _ in range(2)]
    assert bodies[0] != bodies[1]
    salts = {json.loads(body)["attachments"]["confidential"]["salt"] for body in bodies}
    assert len(salts) == 2


def test_the_canonical_hash_is_computed_and_a_wrong_one_refused(make_decision):
    draft = draft_decision(make_decision(canonical=b"abc"), audited=0)
    # FIPS 180-4's example of SHA-256.
    assert draft.fields["canonical_hash"] == canonical_hash(b"abc")
    assert canonical_hash(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(ValueError, match="canonical_hash"):
        draft_decision(make_decision(canonical=b"abc", canonical_hash="00"), audited=0)


def test_all_problems_of_a_decision_are_named_at_once(make_decision):
    wrong = make_decision(researcher="", project="a\0b", scope="\ud800", version=0, verdict="MAYBE", boxes=())
    with pytest.raises(ValueError, match="researcher") as caught:
        draft_decision(wrong, audited=None)
    for name in ("researcher", "project", "scope", "version", "verdict", "expected_source_sequence"):
        assert f"{name}:" in str(caught.value)


@pytest.mark.parametrize("verdict", ["RELEASED", "RELEASED_PROTECTED"])
def test_nothing_is_released_without_saying_what_left(make_decision, verdict):
    with pytest.raises(ValueError, match="release: "):
        draft_decision(make_decision(verdict=verdict, release=None, boxes=()), audited=0)


def test_boxes_belong_to_a_release(make_decision):
    with pytest.raises(ValueError, match="boxes: need a release"):
        draft_decision(make_decision(verdict="REFUSED", release=None), audited=0)


def test_a_review_that_does_not_approve_cannot_release(make_review):
    with pytest.raises(ValueError, match="verdict: "):
        draft_review(make_review("q-1", approve=False), "survey", 1, audited=0)


def test_a_review_cannot_refer_again(make_review):
    with pytest.raises(ValueError, match="verdict: "):
        draft_review(make_review("q-1", verdict="REFERRED"), "survey", 1, audited=0)


def test_reprs_hide_what_may_be_withheld(make_decision, make_review):
    event = make_decision(request=b"SECRET", answer=b"SECRET", confidential=b"SECRET", release=b"SECRET")
    review = make_review("q-1", answer=b"SECRET", confidential=b"SECRET", release=b"SECRET", note="SECRET")
    draft = draft_decision(event, audited=0)
    for shown in (event, review, draft, *draft.attachments):
        assert "SECRET" not in repr(shown)


boxes = st.lists(st.builds(BoxRow, st.binary(min_size=1, max_size=255), st.integers(0, 255)), max_size=20)


@given(boxes)
def test_boxes_survive_packing(rows):
    assert unpack_boxes(pack_boxes(rows)) == rows


@given(boxes.filter(bool), st.data())
def test_packed_boxes_that_end_early_are_refused_or_whole(rows, data):
    packed = pack_boxes(rows)
    cut = data.draw(st.integers(0, len(packed) - 1))
    try:
        found = unpack_boxes(packed[:cut])
    except ValueError:
        return
    assert found == rows[: len(found)]
