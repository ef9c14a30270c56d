"""Comments on referred queries are kept in order, and read back only as they were signed."""

import pytest
from sqlalchemy import update

from sdcgate.ledger import comments
from sdcgate.ledger.comments import Comment, Comments
from sdcgate.ledger.errors import LedgerDamaged, NotReferred, TooManyComments
from sdcgate.ledger.schema import comments as rows


def of_carla(text, query="q-0001", **changes):
    return Comment(query, "carla", "key of carla", text, **changes)


def texts(ledger, query="q-0001"):
    return [comment.text for comment, _ in Comments(ledger).of(query)]


def test_comments_are_read_back_in_order_with_who_wrote_them_and_when(ledger, make_referral):
    ledger.append_decision(make_referral(), None)
    first, second = of_carla("why so fine?\n=1+1"), of_carla("ask age:broad", to_researcher=True)
    moments = [Comments(ledger).append(comment) for comment in (first, second)]
    Comments(ledger).append(of_carla("of another", "q-0002"))
    assert Comments(ledger).of("q-0001") == [(first, moments[0]), (second, moments[1])]
    assert ledger.verify().ok


def test_a_comment_changes_nothing_of_the_query_and_moves_no_head_of_a_source(ledger, make_referral):
    ledger.append_decision(make_referral(), None)
    before, head = ledger.query("q-0001"), ledger.source_sequence("households")
    Comments(ledger).append(of_carla("seen"))
    assert (ledger.query("q-0001"), ledger.source_sequence("households")) == (before, head)


def test_what_was_reviewed_has_no_further_comments(ledger, make_referral, make_review):
    ledger.append_decision(make_referral(), None)
    Comments(ledger).append(of_carla("before"))
    ledger.append_review(make_review("q-0001"), 0)
    with pytest.raises(NotReferred):
        Comments(ledger).append(of_carla("after"))
    assert texts(ledger) == ["before"]


def test_a_query_has_so_many_comments_and_no_more(ledger, make_referral, monkeypatch):
    monkeypatch.setattr(comments, "MOST", 3)
    ledger.append_decision(make_referral(), None)
    for number in range(3):
        Comments(ledger).append(of_carla(str(number)))
    with pytest.raises(TooManyComments, match="3 comments"):
        Comments(ledger).append(of_carla("one more"))
    Comments(ledger).append(of_carla("of another", "q-0002"))
    assert texts(ledger) == ["0", "1", "2"]


def test_a_row_that_points_to_another_query_is_not_believed(ledger, make_referral, tampering):
    ledger.append_decision(make_referral(), None)
    Comments(ledger).append(of_carla("seen"))
    with tampering(ledger) as connection:
        connection.execute(update(rows).values(query_id="q-0009"))
    with pytest.raises(LedgerDamaged, match="on another query"):
        texts(ledger, "q-0009")
    assert [fault.place for fault in ledger.verify().faults] == ["comments.query_id"]
