import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from sdcgate.ledger.signing import KeyRing, KeyRingError, key_id_of, verify_with_pem


def test_the_first_opening_makes_a_key_that_only_its_owner_reads(tmp_path):
    ring = KeyRing.open(tmp_path / "keys")
    private = tmp_path / "keys" / f"{ring.key_id}.key"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert KeyRing.open(tmp_path / "keys").key_id == ring.key_id


def test_a_key_id_is_derived_from_the_public_key(key_ring):
    assert key_id_of(load_pem_public_key(key_ring.public_pem())) == key_ring.key_id
    assert len(key_ring.key_id) == 16


def test_a_signature_holds_for_its_bytes_only(key_ring):
    signature = key_ring.sign(b"this")
    assert key_ring.verify(key_ring.key_id, signature, b"this")
    assert not key_ring.verify(key_ring.key_id, signature, b"that")
    assert not key_ring.verify(key_ring.key_id, b"short", b"this")
    assert not key_ring.verify("no such key", signature, b"this")


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o666])
def test_a_key_that_others_may_read_or_change_is_not_used(tmp_path, mode):
    ring = KeyRing.open(tmp_path)
    (tmp_path / f"{ring.key_id}.key").chmod(mode)
    with pytest.raises(KeyRingError, match="chmod 600"):
        KeyRing.open(tmp_path)


def test_no_key_is_made_where_public_keys_show_that_one_is_lost(tmp_path):
    ring = KeyRing.open(tmp_path)
    (tmp_path / f"{ring.key_id}.key").unlink()
    with pytest.raises(KeyRingError, match="exactly one private key"):
        KeyRing.open(tmp_path)


def test_two_private_keys_are_not_guessed_between(tmp_path):
    KeyRing.open(tmp_path / "a")
    other = KeyRing.open(tmp_path / "b")
    file = tmp_path / "b" / f"{other.key_id}.key"
    file.rename(tmp_path / "a" / file.name)
    with pytest.raises(KeyRingError, match="exactly one private key"):
        KeyRing.open(tmp_path / "a")


@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_a_file_that_is_no_key_is_named(tmp_path, content):
    ring = KeyRing.open(tmp_path)
    file = tmp_path / f"{ring.key_id}.key"
    file.write_bytes(content)
    with pytest.raises(KeyRingError, match=ring.key_id):
        KeyRing.open(tmp_path)


def test_a_public_key_under_another_keys_name_is_refused(tmp_path):
    ring = KeyRing.open(tmp_path / "a")
    other = KeyRing.open(tmp_path / "b")
    (tmp_path / "a" / f"{ring.key_id}.pub").write_bytes(other.public_pem())
    with pytest.raises(KeyRingError, match="not the Ed25519 public key"):
        KeyRing.open(tmp_path / "a")


def test_after_rotation_old_signatures_hold_and_the_old_private_key_is_gone(tmp_path):
    ring = KeyRing.open(tmp_path)
    old, signature = ring.key_id, ring.sign(b"before")
    new = ring.rotate()
    assert new != old
    again = KeyRing.open(tmp_path)
    assert again.key_id == new
    assert again.verify(old, signature, b"before")
    assert not (tmp_path / f"{old}.key").exists()
    assert verify_with_pem(again.public_bundle(), old, signature, b"before")
    assert not verify_with_pem(again.public_pem(), old, signature, b"before")


def test_threads_that_open_an_empty_ring_at_once_agree_on_one_key(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        rings = list(pool.map(lambda _: KeyRing.open(tmp_path / "keys"), range(8)))
    assert len({ring.key_id for ring in rings}) == 1


def test_the_private_key_is_in_no_repr(key_ring):
    assert repr(key_ring).startswith("KeyRing(")
    assert "object at" not in repr(key_ring)


def test_importing_the_ledger_loads_nothing_heavy():
    heavy = "{'pandas', 'numpy', 'alembic', 'ibis', 'duckdb', 'grpc', 'psycopg', 'google.protobuf'}"
    code = f"import sys, sdcgate.ledger.ledger, sdcgate.ledger.credentials; print({heavy} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"
