import copy
import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main
from sdcgate.cli.key import create_keys
from sdcgate.cli.ledger import is_certified
from sdcgate.cli.ledger_budget import describe
from sdcgate.ledger.certificates import issue
from sdcgate.ledger.credentials import Credentials, Role
from sdcgate.ledger.database import newest_migration
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing
from sdcgate.servers.settings import Settings
from sdcgate.servers.state_folder import only_one

DECISION: dict[str, Any] = {
    "query": "q-01",
    "dataset": "randhie",
    "version": 1,
    "verdict": "RELEASED",
    "reasons": [],
    "table": {"columns": {"site": [0, 1], "mean_meddol": [93.0, 1e22], "status": ["PUBLISHED"] * 2}},
    "policy": {"name": "israel-cbs", "hash": "sha256:ab"},
    "label": "Gesundheit für alle",
}


def run(folder: Path, *arguments: str, text: str | None = None) -> Result:
    environment = {"SDCGATE_STATE_DIR": str(folder / "our state"), "SDCGATE_LEDGER_URL": ""}
    return CliRunner().invoke(main, list(arguments), env=environment, input=text)


@pytest.fixture
def key_ring(tmp_path: Path) -> KeyRing:
    return KeyRing.open(tmp_path / "signing")


def certified(key_ring: KeyRing) -> dict[str, Any]:
    # Spelt out rather than taken from the facility: this is what a reader of the docs would compute.
    text = json.dumps(DECISION, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    certificate = issue(key_ring, 17, bytes(32), "q-01", "RELEASED", digest)
    shown = {"sequence": 17, "head": certificate.head, "answer_digest": digest}
    shown |= {"key_id": certificate.key_id, "signature": certificate.signature}
    return {**copy.deepcopy(DECISION), "certificate": shown}


def test_an_answer_is_verified_offline_with_the_public_key(key_ring: KeyRing, tmp_path: Path) -> None:
    answer, public = tmp_path / "answer.json", tmp_path / "key.pem"
    answer.write_text(json.dumps({"decision": certified(key_ring)}, indent=2))
    public.write_bytes(key_ring.public_pem())
    result = run(tmp_path, "ledger", "verify-certificate", str(answer), "--public-key", str(public))
    assert result.exit_code == 0
    assert result.stdout.startswith("valid: query q-01, RELEASED, event 17 of the ledger")
    piped = run(
        tmp_path, "ledger", "verify-certificate", "-", "--public-key", str(public), text=answer.read_text()
    )
    assert piped.exit_code == 0


@pytest.mark.parametrize(
    "alter",
    [
        lambda answer: answer["table"]["columns"]["mean_meddol"].__setitem__(0, 94.0),
        lambda answer: answer.__setitem__("verdict", "RELEASED_PROTECTED"),
        lambda answer: answer.__setitem__("query", "q-02"),
        lambda answer: answer.__setitem__("more", 1),
        lambda answer: answer["certificate"].__setitem__("sequence", 18),
        lambda answer: answer["certificate"].__setitem__("head", "11" * 32),
        lambda answer: answer["certificate"].__setitem__("signature", "?"),
    ],
)
def test_an_answer_that_was_altered_anywhere_is_not_certified(key_ring: KeyRing, alter: Any) -> None:
    answer = certified(key_ring)
    assert is_certified(answer, key_ring.public_pem())
    alter(answer)
    assert not is_certified(answer, key_ring.public_pem())


def test_another_facility_s_key_certifies_nothing(key_ring: KeyRing, tmp_path: Path) -> None:
    other = KeyRing.open(tmp_path / "other")
    assert not is_certified(certified(key_ring), other.public_pem())


def test_what_is_no_answer_is_told_so(tmp_path: Path) -> None:
    pem = tmp_path / "key.pem"
    pem.write_text("")
    empty = dict.fromkeys(("head", "answer_digest", "key_id", "signature"), "")
    wrong = [{}, *({**empty, "sequence": sequence} for sequence in ([], None, float("inf")))]
    certificates = [json.dumps({**DECISION, "certificate": one}) for one in wrong]
    for text in ("[]", "{}", "nonsense", "[" * 100_000, *certificates):
        result = run(tmp_path, "ledger", "verify-certificate", "-", "--public-key", str(pem), text=text)
        assert result.exit_code == 2, text


def test_a_key_is_shown_once_listed_without_its_secret_and_revoked(tmp_path: Path) -> None:
    made = run(tmp_path, "key", "create", "--role", "researcher", "--researcher", "ada", "--label", "laptop")
    assert made.exit_code == 0, made.output
    plaintext = made.stdout.strip()
    key_id = plaintext.split("_")[1]
    listed = run(tmp_path, "key", "list").stdout
    # A secret may have such signs itself.
    assert plaintext.split("_", 2)[2] not in listed
    assert [line.split()[:4] for line in listed.splitlines()[1:]] == [[key_id, "researcher", "ada", "laptop"]]
    assert run(tmp_path, "key", "revoke", key_id).exit_code == 0
    assert len(run(tmp_path, "key", "list").stdout.splitlines()[1].split()) == 7
    unknown = run(tmp_path, "key", "revoke", "ffff")
    assert unknown.exit_code == 2
    assert "there is no API key ffff" in unknown.stderr


def test_verification_names_the_place_of_an_alteration(tmp_path: Path) -> None:
    run(tmp_path, "key", "create", "--role", "checker", "--researcher", "carla")
    sound = run(tmp_path, "ledger", "verify")
    assert (sound.exit_code, sound.stdout.split(":")[0]) == (0, "1 events")
    import sqlite3

    database = next((tmp_path / "our state").glob("*.sqlite"))
    with sqlite3.connect(database) as connection:
        for (name,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            connection.execute(f'drop trigger "{name}"')
        connection.execute("update api_keys set role = 'operator'")
    connection.close()
    altered = run(tmp_path, "ledger", "verify")
    assert altered.exit_code == 1
    assert "event 1, api_keys.role: altered: role" in altered.stdout


def test_after_a_rotation_the_published_keys_verify_what_was_signed_before_and_after(tmp_path: Path) -> None:
    run(tmp_path, "key", "create", "--role", "checker", "--researcher", "carla")
    ring = KeyRing.open(tmp_path / "our state" / "keys" / "ledger")
    answers = [certified(ring)]
    rotated = run(tmp_path, "ledger", "rotate-key")
    assert rotated.exit_code == 0, rotated.output
    ring = KeyRing.open(tmp_path / "our state" / "keys" / "ledger")
    assert f"key {ring.key_id} signs from now on" in rotated.stderr
    answers.append(certified(ring))
    published = rotated.stdout.encode()
    assert [is_certified(answer, published) for answer in answers] == [True, True]
    assert len({answer["certificate"]["key_id"] for answer in answers}) == 2
    run(tmp_path, "key", "create", "--role", "checker", "--researcher", "carl")
    assert run(tmp_path, "ledger", "verify").stdout.startswith("2 events: chain")


def test_the_key_is_not_rotated_under_a_running_facility(tmp_path: Path) -> None:
    run(tmp_path, "key", "create", "--role", "checker", "--researcher", "carla")
    ring = KeyRing.open(tmp_path / "our state" / "keys" / "ledger")
    with only_one(tmp_path / "our state" / "facility.lock"):
        refused = run(tmp_path, "ledger", "rotate-key")
    assert (refused.exit_code, "stop it first" in refused.stderr) == (2, True)
    assert KeyRing.open(tmp_path / "our state" / "keys" / "ledger").key_id == ring.key_id


def test_a_bundle_is_exported_and_verified_by_commands(tmp_path: Path) -> None:
    run(tmp_path, "key", "create", "--role", "checker", "--researcher", "carla")
    bundle, public, stranger = (tmp_path / name for name in ("audit.zip", "keys.pem", "stranger.pem"))
    period = ("--from", "2000-01-01", "--until", "2100-01-01T00:00:00")
    made = run(tmp_path, "ledger", "export", str(bundle), *period)
    assert (made.exit_code, made.stdout) == (0, f"1 events are in {bundle}\n")
    public.write_bytes(KeyRing.open(tmp_path / "our state" / "keys" / "ledger").public_bundle())
    stranger.write_bytes(KeyRing.open(tmp_path / "stranger").public_bundle())
    verified = run(tmp_path, "ledger", "verify-bundle", str(bundle), "--public-key", str(public))
    assert verified.exit_code == 0
    assert verified.stdout.startswith("valid: 1 of the events 1 to 1; head 1 is ")
    other = run(tmp_path, "ledger", "verify-bundle", str(bundle), "--public-key", str(stranger))
    assert (other.exit_code, other.stderr.startswith("NOT valid")) == (1, True)
    again = run(tmp_path, "ledger", "export", str(bundle), *period)
    assert again.exit_code == 1
    nothing = run(
        tmp_path, "ledger", "export", str(tmp_path / "b"), "--from", "2000-01-01", "--until", "2000-01-02"
    )
    assert (nothing.exit_code, "nothing was recorded" in nothing.stderr) == (2, True)


def test_no_ledger_is_not_a_ledger_in_order_and_none_is_made(tmp_path: Path) -> None:
    result = run(tmp_path, "ledger", "verify")
    assert result.exit_code == 2
    assert "there is no ledger at" in result.stderr
    assert not (tmp_path / "our state").exists()


def test_the_database_is_migrated_by_a_command_of_its_own_and_then_left_alone(tmp_path: Path) -> None:
    made = run(tmp_path, "ledger", "migrate")
    newest = newest_migration()
    assert made.stdout == f"the ledger's database is at migration {newest}\n"
    again = run(tmp_path, "ledger", "migrate")
    assert again.stdout == f"the ledger's database was at migration {newest} already\n"
    assert run(tmp_path, "ledger", "verify").exit_code == 0


def test_a_database_of_a_newer_version_is_not_migrated(tmp_path: Path) -> None:
    assert run(tmp_path, "ledger", "migrate").exit_code == 0
    with closing(sqlite3.connect(tmp_path / "our state" / "ledger.sqlite")) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    refused = run(tmp_path, "ledger", "migrate")
    assert refused.exit_code == 1
    assert "at migration 9999" in refused.stderr


def test_the_demonstration_s_keys_are_one_a_role(tmp_path: Path) -> None:
    from sdcgate.servers.state_folder import open_ledger

    settings = Settings(state_dir=tmp_path / "demo", ledger_url="")
    keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "demo")
    ledger: Ledger = open_ledger(settings)[0]
    callers = {role: Credentials(ledger).authenticate(key) for role, key in keys.items()}
    ledger.close()
    assert {role: caller and (caller.role, caller.researcher) for role, caller in callers.items()} == {
        "steward": (Role.STEWARD, "stefan"),
        "researcher": (Role.RESEARCHER, "ada"),
    }


def test_a_budget_is_shown_line_by_line_or_that_there_is_none() -> None:
    shown = [
        {
            "dataset": "randhie",
            "holder": "researcher",
            "name": "ada",
            "period": "day",
            "renews": "2026-11-23T00:00:00Z",
            "queries": {"limit": 20, "spent": 3, "left": 17},
            "cells": {"limit": 500, "left": 500},
        }
    ]
    assert describe(shown).splitlines() == [
        "dataset  of              period  what     limit  spent  left  renews",
        "randhie  researcher ada  day     queries  20     3      17    2026-11-23T00:00:00Z",
        "randhie  researcher ada  day     cells    500    0      500   2026-11-23T00:00:00Z",
    ]
    assert describe([]) == "no budget: any number of questions may be asked"
