"""What an auditor takes along: signed, without what is confidential, verified without the ledger."""

import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sdcgate.ledger.bundle_verification import BundleUnreadable, verify_bundle
from sdcgate.ledger.bundles import STATEMENT, Selection, export
from sdcgate.ledger.events import canonical_json
from sdcgate.ledger.ledger import Ledger, LedgerDamaged
from sdcgate.ledger.schema import blobs
from sdcgate.ledger.signing import KeyRing

ALL = Selection(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
SECRETS = (b"what the checker sees", b"what left", b"harmless", b"why so fine?", b"seen", b"box a")
"""Withheld figures of the history, and its checkers' own words."""


def members(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(bundle: Path, content: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(bundle, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return bundle


def told(bundle: Path) -> list[dict]:
    return [json.loads(line) for line in members(bundle)["events.jsonl"].splitlines()]


@pytest.fixture
def bundle(history: Ledger, tmp_path: Path) -> Path:
    assert export(history, tmp_path / "audit.zip", ALL) == 11
    return tmp_path / "audit.zip"


def test_a_bundle_is_verified_with_the_public_keys_alone(bundle, history, key_ring, tmp_path):
    published = key_ring.public_bundle()
    history.close()
    shutil.rmtree(tmp_path / "keys")
    report = verify_bundle(bundle, published)
    assert (report.first, report.last, report.events, report.problems) == (1, 11, 11, ())


def test_the_newest_head_is_the_one_of_the_second_place(bundle, history, key_ring, heads_path):
    newest = json.loads(heads_path.read_text().splitlines()[-1])
    assert verify_bundle(bundle, key_ring.public_bundle()).head == newest["hash"]
    assert bundle.stat().st_mode & 0o077 == 0


def test_nothing_confidential_is_in_it_and_no_salt_to_try_guesses_with(bundle, history):
    whole = b"\n".join(members(bundle).values())
    assert [secret for secret in SECRETS if secret in whole] == []
    for event in told(bundle):
        for name, signed in event.get("said", {}).get("attachments", {}).items():
            assert ("salt" in signed) == (name in {"request", "answer"})
            assert signed["digest"]
        assert "nonce" not in event.get("said", {})


def test_answers_are_in_it_as_they_left(bundle, make_decision):
    content = members(bundle)
    assert content["attachments/3/answer"] == b"the answer 1"
    assert content["attachments/5/answer"] == b"the answer after review"
    assert {name.rpartition("/")[2] for name in content if name.startswith("attachments/")} == {
        "request",
        "answer",
        "descriptor",
        "policy",
    }


def test_a_confidential_bundle_has_the_exact_bytes_of_everything(history, key_ring, tmp_path):
    target = tmp_path / "all.zip"
    export(history, target, replace(ALL, confidential=True))
    whole = b"\n".join(members(target).values())
    assert [secret for secret in SECRETS if secret not in whole] == []
    assert all("body" in event for event in told(target))
    assert verify_bundle(target, key_ring.public_bundle()).problems == ()


def test_keys_of_before_a_rotation_verify_what_they_signed(
    open_ledger, key_ring, make_decision, tmp_path, url
):
    open_ledger().append_decision(make_decision(), 0)
    old = key_ring.public_bundle()
    key_ring.rotate()
    ledger = open_ledger()
    ledger.append_decision(make_decision(), 1)
    export(ledger, tmp_path / "both.zip", ALL)
    assert verify_bundle(tmp_path / "both.zip", key_ring.public_bundle()).problems == ()
    with pytest.raises(BundleUnreadable, match="NOT valid"):
        verify_bundle(tmp_path / "both.zip", old)


def test_another_facilitys_keys_verify_nothing(bundle, tmp_path):
    stranger = KeyRing.open(tmp_path / "stranger")
    for keys in (stranger.public_bundle(), b"", b"no key"):
        with pytest.raises(BundleUnreadable, match="NOT valid"):
            verify_bundle(bundle, keys)


@pytest.mark.parametrize("name", ["events.jsonl", "heads.jsonl", "attachments/3/answer", "public-keys.pem"])
def test_no_member_can_be_altered_or_left_out(bundle, key_ring, name):
    content = members(bundle)
    altered = bytes([content[name][0] ^ 1]) + content[name][1:]
    rewritten(bundle, {**content, name: altered})
    try:
        assert f"{name}: altered" in verify_bundle(bundle, key_ring.public_bundle()).problems
    except BundleUnreadable:
        assert name.endswith(".jsonl")  # no JSON any more
    rewritten(bundle, {other: data for other, data in content.items() if other != name})
    with pytest.raises(BundleUnreadable, match="missing"):
        verify_bundle(bundle, key_ring.public_bundle())


def test_nothing_can_be_added(bundle, key_ring):
    rewritten(bundle, {**members(bundle), "attachments/3/more": b""})
    assert verify_bundle(bundle, key_ring.public_bundle()).problems == (
        "attachments/3/more: not of the bundle",
    )


def test_a_bundle_cannot_be_given_another_time_or_dataset(bundle, key_ring):
    content = members(bundle)
    content["manifest.json"] = content["manifest.json"].replace(b'"dataset":null', b'"dataset":"none"')
    rewritten(bundle, content)
    with pytest.raises(BundleUnreadable, match="NOT valid"):
        verify_bundle(bundle, key_ring.public_bundle())


def resigned(bundle: Path, key_ring: KeyRing, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A bundle of whoever has the key but wants to tell of other events than were recorded."""
    import hashlib

    content = members(bundle)
    change(content)
    manifest = json.loads(content["manifest.json"])
    for name in manifest["members"]:
        data = content[name]
        manifest["members"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    content["manifest.json"] = canonical_json(manifest)
    content["manifest.sig"] = key_ring.sign(STATEMENT + content["manifest.json"]).hex().encode()
    return rewritten(bundle, content)


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("events.jsonl", b"laptop", b"tablet", "event 7: not the bytes that its head signs"),
        ("events.jsonl", b'"verdict":"RELEASED",', b'"verdict":"REFUSED",', "event 3: its certificate"),
        ("heads.jsonl", b'"sequence":4,', b'"sequence":99,', "event 4: its head is missing"),
        ("attachments/3/answer", b"1", b"2", "event 3: its answer is missing or altered"),
        ("attachments/2/descriptor", b"survey", b"census", "event 2: its descriptor is missing or altered"),
    ],
)
def test_even_who_signs_the_manifest_cannot_change_what_was_recorded(
    bundle, key_ring, name, old, new, problem
):
    def change(content: dict[str, bytes]) -> None:
        assert old in content[name]
        content[name] = content[name].replace(old, new)

    report = verify_bundle(resigned(bundle, key_ring, change), key_ring.public_bundle())
    assert any(one.startswith(problem) for one in report.problems), report.problems


def test_of_a_dataset_only_what_concerns_it_but_all_heads(history, make_decision, key_ring, tmp_path):
    history.append_decision(make_decision(source="firms", dataset="firms"), 0)
    target = tmp_path / "firms.zip"
    assert export(history, target, replace(ALL, dataset="firms")) == 1
    report = verify_bundle(target, key_ring.public_bundle())
    assert (report.first, report.last, report.events, report.problems) == (1, 12, 1, ())
    survey = tmp_path / "survey.zip"
    # Registration, four decisions and a review; approval and comment are of a query elsewhere.
    assert export(history, survey, replace(ALL, dataset="survey")) == 6


def test_a_time_begins_at_its_first_moment_and_ends_before_its_last(
    open_ledger, make_decision, tmp_path, key_ring
):
    day = datetime(2026, 11, 1, tzinfo=UTC)
    moments = iter(day + timedelta(hours=12 * number) for number in range(6))
    ledger = open_ledger(clock=lambda: next(moments))
    for number in range(6):
        ledger.append_decision(make_decision(), number)
    target = tmp_path / "day.zip"
    assert export(ledger, target, Selection(day + timedelta(days=1), day + timedelta(days=2))) == 2
    report = verify_bundle(target, key_ring.public_bundle())
    assert (report.first, report.last, report.problems) == (3, 4, ())
    assert len(members(target)["heads.jsonl"].splitlines()) == 3
    with pytest.raises(ValueError, match="nothing was recorded"):
        export(ledger, tmp_path / "none.zip", Selection(day - timedelta(days=1), day))
    assert not (tmp_path / "none.zip").exists()


def test_a_damaged_ledger_is_not_exported(history, tampering, tmp_path):
    with tampering(history) as connection:
        connection.execute(blobs.update().where(blobs.c.data == b"the answer 1").values(data=b"other"))
    with pytest.raises(LedgerDamaged, match="its answer"):
        export(history, tmp_path / "audit.zip", ALL)
    assert not (tmp_path / "audit.zip").exists()


def test_a_file_that_is_there_stays(bundle, history):
    before = bundle.read_bytes()
    with pytest.raises(FileExistsError):
        export(history, bundle, ALL)
    assert bundle.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_bundle_is_told_so(tmp_path, key_ring, content):
    (tmp_path / "file.zip").write_bytes(content)
    with pytest.raises(BundleUnreadable):
        verify_bundle(tmp_path / "file.zip", key_ring.public_bundle())


def test_a_bundle_with_any_byte_changed_is_unreadable_or_has_problems_or_says_the_same(bundle, key_ring):
    public, whole = key_ring.public_bundle(), bundle.read_bytes()
    undamaged = verify_bundle(bundle, public)
    found = set()
    for place in range(0, len(whole), max(1, len(whole) // 400)):
        bundle.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            report = verify_bundle(bundle, public)
        except BundleUnreadable:
            found.add("unreadable")
        else:
            found.add("problems" if report.problems else "the same")
            assert report.problems or report == undamaged
    assert "unreadable" in found
