"""A database server that takes connections and says nothing is given up, not waited for."""

import socket
import time
from pathlib import Path

import psycopg
import pytest

from sdcgate.ledger import database
from sdcgate.ledger.ledger import Ledger, LedgerUnavailable
from sdcgate.ledger.signing import KeyRing


def test_a_server_that_never_answers_is_unavailable_in_seconds(
    key_ring: KeyRing, heads_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database.PATIENCE, "connect_timeout", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/ledger"
        began = time.monotonic()
        with pytest.raises(LedgerUnavailable):
            Ledger.open(url, key_ring, heads_path)
    assert time.monotonic() - began < 20


def test_what_the_url_says_of_its_connections_goes_before_what_we_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def connect(*_: object, **arguments: object) -> None:
        asked.append(arguments)
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", connect)
    for url in ("postgresql://host/ledger", "postgresql://host/ledger?connect_timeout=60"):
        with pytest.raises(LedgerUnavailable), database.reading(database.connect(url)):
            pass
    assert [arguments["connect_timeout"] for arguments in asked] == [5, "60"]
    assert {arguments["tcp_user_timeout"] for arguments in asked} == {20_000}
