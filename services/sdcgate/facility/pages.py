"""Lists by pages: a token that no page has given."""

from sdcgate.facility.errors import InvalidRequest
from sdcgate.wire.problems import FieldProblem


def no_such_page() -> InvalidRequest:
    """A token that is mistyped or cut short. An empty page in its place would say that nothing is left."""
    told = "is of no page; take next_page_token of the page before, and leave it out for the first one"
    return InvalidRequest([FieldProblem("page_token", told)])
