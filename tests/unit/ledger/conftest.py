"""The same tests on SQLite and on a real PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from postgresql_server import empty_database, running_server
from sdcgate.ledger import database
from sdcgate.ledger.approvals import Approval, Approvals
from sdcgate.ledger.comments import Comment, Comments
from sdcgate.ledger.credentials import Credentials
from sdcgate.ledger.events import (
    BoxRow,
    DecisionEvent,
    PolicyEvent,
    RegistrationEvent,
    ReviewEvent,
    policy_hash,
)
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with running_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a folder' / 'ledger.db'}"
    return empty_database(request.getfixturevalue("postgresql"))


@pytest.fixture
def key_ring(tmp_path: Path) -> KeyRing:
    return KeyRing.open(tmp_path / "keys")


@pytest.fixture
def heads_path(tmp_path: Path) -> Path:
    return tmp_path / "second place" / "heads.jsonl"


@pytest.fixture
def open_ledger(url: str, key_ring: KeyRing, heads_path: Path) -> Iterator[Callable[..., Ledger]]:
    """Opens the same ledger again and again, as restarts or other processes would."""
    opened = []

    def open_again(**options: object) -> Ledger:
        opened.append(Ledger.open(url, key_ring, heads_path, **options))
        return opened[-1]

    yield open_again
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger()


@pytest.fixture
def make_decision() -> Callable[..., DecisionEvent]:
    """A decision on a query of its own, with changes."""
    numbers = count(1)

    def make(**changes: object) -> DecisionEvent:
        number = next(numbers)
        usual = {
            "query_id": f"q-{number:04}",
            "source": "households",
            "dataset": "survey",
            "version": 1,
            "canonical": b"table %d" % number,
            "policy_name": "israel-cbs",
            "policy_hash": "sha256:12",
            "scope": "all-researchers",
            "researcher": "anna",
            "project": "demo",
            "verdict": "RELEASED",
            "request": b"the request",
            "answer": b"the answer %d" % number,
            "confidential": b"what the checker sees",
            "release": b"what left",
            "boxes": (BoxRow(b"box a", 1), BoxRow(b"box b", 2)),
            "author": "key of anna",
        }
        return DecisionEvent(**{**usual, **changes})

    return make


@pytest.fixture
def make_referral(make_decision: Callable[..., DecisionEvent]) -> Callable[..., DecisionEvent]:
    """A decision that is left to a checker."""

    def make(**changes: object) -> DecisionEvent:
        return make_decision(**{"verdict": "REFERRED", "release": None, "boxes": (), **changes})

    return make


@pytest.fixture
def make_review() -> Callable[..., ReviewEvent]:
    """A checker's approval, with changes."""

    def make(query_id: str, **changes: object) -> ReviewEvent:
        usual = {
            "query_id": query_id,
            "source": "households",
            "reviewer": "carla",
            "approve": True,
            "note": "harmless",
            "verdict": "RELEASED",
            "answer": b"the answer after review",
            "confidential": b"what the checker saw",
            "release": b"what left after review",
            "boxes": (BoxRow(b"box c", 1),),
            "author": "key of carla",
        }
        return ReviewEvent(**{**usual, **changes})

    return make


@pytest.fixture
def registration() -> RegistrationEvent:
    return RegistrationEvent(
        source="households",
        dataset="survey",
        version=1,
        descriptor=b"name: survey",
        content_hash="sha256:99",
        author="key of the steward",
    )


@pytest.fixture
def policy() -> PolicyEvent:
    text = b'{"name":"israel-cbs"}'
    return PolicyEvent(
        policy_name="israel-cbs", policy_hash=policy_hash(text), access_level="remote", text=text
    )


@contextmanager
def _without_triggers(ledger: Ledger) -> Iterator[Connection]:
    with database.writing(ledger._engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL session_replication_role = replica"))
        else:
            for (name,) in connection.execute(
                text("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            ).all():
                connection.execute(text(f"DROP TRIGGER {name}"))
        yield connection


@pytest.fixture
def tampering() -> Callable[[Ledger], AbstractContextManager[Connection]]:
    """A transaction of somebody who owns the database and switched the triggers off."""
    return _without_triggers


@pytest.fixture
def history(
    ledger: Ledger,
    registration: RegistrationEvent,
    make_decision: Callable[..., DecisionEvent],
    make_referral: Callable[..., DecisionEvent],
    make_review: Callable[..., ReviewEvent],
    policy: PolicyEvent,
) -> Ledger:
    """A ledger with every kind of event, eleven in all."""
    credentials = Credentials(ledger)
    # Of a query elsewhere: what is approved is for the facility to look at.
    Approvals(ledger).append(Approval("q-0000", "carla", "key of carla", "seen"))
    ledger.append_registration(registration)
    ledger.append_decision(make_decision(), 2)
    ledger.append_decision(make_referral(), None)
    ledger.append_review(make_review("q-0002", boxes=(BoxRow(b"c", 1), BoxRow(b"d", 2))), 3)
    ledger.append_policy(policy)
    _, key = credentials.create("researcher", "anna", "laptop", 30)
    credentials.revoke(key.key_id)
    ledger.append_decision(
        make_decision(verdict="RELEASED_PROTECTED", boxes=(BoxRow(b"e", 1), BoxRow(b"f", 2))), 5
    )
    ledger.append_decision(make_decision(boxes=(BoxRow(b"g", 1), BoxRow(b"h", 2))), 9)
    Comments(ledger).append(Comment("q-0000", "carla", "key of carla", "why so fine?"))
    assert ledger.head().sequence == 11
    return ledger
