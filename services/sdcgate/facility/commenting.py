"""Comments of output checkers on referred queries: who may write them, and who reads which."""

from datetime import datetime

from sdcgate.facility.access import require
from sdcgate.facility.errors import Conflict, Forbidden, NotFound
from sdcgate.facility.scope import within
from sdcgate.ledger.comments import Comment, Comments
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.records import StoredQuery
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


class Commenting:
    """Writes comments to the ledger and shows them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._comments = Comments(ledger)

    def write(self, caller: Caller, request: pb.CommentQueryRequest) -> pb.CommentQueryResponse:
        """Record a comment on a referred query; one that comes again is not recorded again.

        Raises:
            NotFound: there is no such query.
            Forbidden: who comments asked it himself, or his key is for other datasets.
            Conflict: it is decided.
            TooManyComments: it has as many as it may have.
        """
        require(caller, "review")
        stored = self._ledger.query(request.query)
        if stored is None:
            raise NotFound(f"There is no query {request.query}.")
        within(caller, stored.dataset)
        if caller.is_who(stored.researcher, stored.author):
            raise Forbidden("Nobody comments on his own query as a checker.")
        comment = Comment(
            request.query, caller.researcher, caller.key_id, request.text, request.to_researcher
        )
        written = self._comments.written(comment)
        if written is not None:
            return pb.CommentQueryResponse(comment=_message(comment, written))
        if stored.verdict != "REFERRED":
            raise Conflict(f"The query is {stored.verdict}; only referred queries are commented on.")
        return pb.CommentQueryResponse(comment=_message(comment, self._comments.append(comment)))

    def seen(self, caller: Caller, stored: StoredQuery) -> list[pb.Comment]:
        """What a caller reads: a checker all but those on his own query, others what is for them."""
        found = self._comments.of(stored.query_id)
        if looks_as_checker(caller, stored):
            return [_message(comment, written) for comment, written in found]
        told = [_message(comment, written) for comment, written in found if comment.to_researcher]
        for message in told:
            message.author = ""
        return told


def looks_as_checker(caller: Caller, stored: StoredQuery) -> bool:
    """Whether a caller looks at a query as a checker: nobody does at his own."""
    return caller.role == Role.CHECKER and not caller.is_who(stored.researcher, stored.author)


def _message(comment: Comment, written: datetime) -> pb.Comment:
    message = pb.Comment(author=comment.reviewer, text=comment.text, to_researcher=comment.to_researcher)
    message.written.FromDatetime(written)
    return message
