import base64
from dataclasses import replace

import pytest

from sdcgate.ledger.certificates import verify_certificate
from sdcgate.ledger.signing import KeyRing


@pytest.fixture
def answered(ledger, make_decision):
    decision = make_decision()
    return decision, ledger.append_decision(decision, 0).certificate


def test_an_answer_and_its_certificate_are_verified_with_the_public_key_alone(answered, key_ring):
    decision, certificate = answered
    assert verify_certificate(certificate, decision.answer, key_ring.public_pem())


def test_another_answer_is_not(answered, key_ring):
    _, certificate = answered
    assert not verify_certificate(certificate, b"a forged answer", key_ring.public_pem())


@pytest.mark.parametrize("name", ["sequence", "head", "query", "verdict", "answer_digest", "key_id"])
def test_no_field_of_a_certificate_can_be_changed(answered, key_ring, name):
    decision, certificate = answered
    value = getattr(certificate, name)
    forged = replace(certificate, **{name: value + 1 if isinstance(value, int) else value[:-1] + "?"})
    assert not verify_certificate(forged, decision.answer, key_ring.public_pem())


@pytest.mark.parametrize("signature", ["", "no base64!", base64.b64encode(bytes(64)).decode()])
def test_a_made_up_signature_is_refused(answered, key_ring, signature):
    decision, certificate = answered
    forged = replace(certificate, signature=signature)
    assert not verify_certificate(forged, decision.answer, key_ring.public_pem())


def test_another_facilitys_key_does_not_verify(answered, tmp_path):
    decision, certificate = answered
    stranger = KeyRing.open(tmp_path / "stranger")
    assert not verify_certificate(certificate, decision.answer, stranger.public_pem())
    assert not verify_certificate(certificate, decision.answer, b"not a key")


def test_certificates_outlive_their_key(open_ledger, make_decision, key_ring):
    decision = make_decision()
    certificate = open_ledger().append_decision(decision, 0).certificate
    key_ring.rotate()
    assert verify_certificate(certificate, decision.answer, key_ring.public_bundle())
    stored = open_ledger().query(decision.query_id)
    assert stored.certificate == certificate
