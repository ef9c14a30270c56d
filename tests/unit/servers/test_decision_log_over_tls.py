"""The decision log to receivers with certificates of a private authority, and what keeps it from them."""

import base64
import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from certificate_authority import HOUR, MINUTE, CertificateAuthority
from receivers import Receiver, running_receiver
from sdcgate.servers.logging import configure
from sdcgate.servers.settings import Settings
from told_ledger import FAILURES, SECRET_FIGURE, ToldLedger

TOKEN, SECRET = "of-the-portal-4711", base64.b64encode(b"k" * 32).decode()
EXPIRED = {"begins": -HOUR, "ends": -MINUTE}


class Deliveries:
    """A ledger that is told to one receiver over TLS, through the webhook or to a collector."""

    def __init__(self, folder: Path, sink: str, receiver: Receiver, log: io.StringIO) -> None:
        self.sink, self.receiver = sink, receiver
        self.authority = CertificateAuthority(folder, "agency")
        self.stranger = CertificateAuthority(folder, "stranger")
        receiver.pair = self.authority.make("receiver")
        (folder / "token").write_text(TOKEN)
        (folder / "secret").write_text(f"whsec_{SECRET}")
        self.folder = folder
        self.ledger = ToldLedger(folder)
        self._log = log

    def start(self, url: str = "", **more: Any) -> None:
        """Tell from now on; the URL has a secret in its path, as those of webhooks often do."""
        section = {"url": f"{url or self.receiver.url}/T0PS3CRET", "token_file": self.folder / "token"}
        if self.sink == "webhook":
            section["secret_file"] = self.folder / "secret"
        self.ledger.start(**{self.sink: {**section, "timeout_seconds": 5, **more}})

    def told(self) -> list[int]:
        """Sequences of the events that came, in order."""
        if self.sink == "webhook":
            return self.receiver.sequences
        bodies = [body for _, _, body in self.receiver.taken]
        found = [json_format.Parse(body, ExportLogsServiceRequest()) for body in bodies]
        return [
            json.loads(record.body.string_value)["sequence"]
            for request in found
            for record in request.resource_logs[0].scope_logs[0].log_records
        ]

    def failures(self) -> float:
        return self.ledger.metric(FAILURES, sink=self.sink) or 0.0

    def wait_for_failures(self, more: int = 2) -> None:
        """Until some more deliveries have failed, as the metric says."""
        reached = self.failures() + more
        until(lambda: self.failures() >= reached)

    def wait_for(self, sequences: list[int]) -> None:
        self.receiver.wait_until(lambda: sequences[-1] in self.told())
        assert self.told() == sequences
        delivered = "sdcgate_decision_log_delivered_sequence"
        until(lambda: self.ledger.metric(delivered, sink=self.sink) == sequences[-1])

    def reasons(self) -> set[str]:
        """Why deliveries failed, as the log says, after a look that nothing confidential is in it."""
        lines = self._log.getvalue()
        private = [file.read_text().splitlines()[1] for file in self.folder.glob("*.key")]
        hidden = (TOKEN, SECRET, "T0PS3CRET", "127.0.0.1", "localhost", str(self.receiver.port))
        for word in (*hidden, *private, SECRET_FIGURE, "Anna", "q-1", "survey"):
            assert word not in lines
        return {line["why"] for line in map(json.loads, lines.splitlines()) if line.get("sink") == self.sink}

    def stop(self) -> None:
        self.ledger.stop()
        self.ledger.ledger.close()


def until(reached: Callable[[], bool]) -> None:
    from time import monotonic, sleep

    end = monotonic() + 60
    while not reached():
        assert monotonic() < end
        sleep(0.01)


@pytest.fixture(params=["webhook", "otlp"])
def deliveries(request, tmp_path, monkeypatch) -> Iterator[Deliveries]:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    configure("facility")
    with running_receiver() as receiver:
        made = Deliveries(tmp_path, request.param, receiver, log)
        yield made
        made.stop()
    logging.captureWarnings(False)


def test_a_receiver_of_a_private_authority_is_told_all_of_it_and_shown_the_token(deliveries):
    sent = [deliveries.ledger.decide() for _ in range(5)]
    deliveries.start(ca=deliveries.authority.ca)
    deliveries.wait_for(sent)
    assert {headers["authorization"] for _, headers, _ in deliveries.receiver.taken} == {f"Bearer {TOKEN}"}
    assert (deliveries.failures(), deliveries.reasons()) == (0, set())


def test_a_private_authority_is_not_believed_unless_it_is_named(deliveries):
    sent = [deliveries.ledger.decide()]
    deliveries.start()
    deliveries.wait_for_failures()
    assert deliveries.told() == []
    assert deliveries.reasons() == {
        "the receiver was not reached: its certificate is of no authority that is trusted"
    }
    deliveries.ledger.stop()
    deliveries.start(ca=deliveries.authority.ca)
    deliveries.wait_for(sent)


@pytest.mark.parametrize(
    ("issuer", "valid", "why"),
    [
        ("stranger", {}, "its certificate is of no authority that is trusted"),
        ("authority", EXPIRED, "its certificate has run out"),
        ("authority", {"begins": MINUTE}, "its certificate is not in force yet"),
    ],
)
def test_a_receiver_that_must_not_be_believed_gets_nothing_and_all_of_it_once_it_is_mended(
    deliveries, issuer, valid: dict[str, timedelta], why
):
    deliveries.receiver.pair = getattr(deliveries, issuer).make("receiver", **valid)
    sent = [deliveries.ledger.decide() for _ in range(4)]
    deliveries.start(ca=deliveries.authority.ca)
    deliveries.wait_for_failures()
    sent.append(deliveries.ledger.decide())
    assert (deliveries.told(), deliveries.receiver.taken) == ([], [])
    assert deliveries.reasons() == {f"the receiver was not reached: {why}"}
    deliveries.receiver.pair = deliveries.authority.make("receiver")
    deliveries.wait_for(sent)


def test_a_receiver_whose_certificate_runs_out_between_two_events_gets_the_second_once_it_is_renewed(
    deliveries,
):
    sent = [deliveries.ledger.decide()]
    deliveries.start(ca=deliveries.authority.ca)
    deliveries.wait_for(sent)
    deliveries.receiver.pair = deliveries.authority.make("receiver", **EXPIRED)
    later = deliveries.ledger.decide()
    deliveries.wait_for_failures()
    assert deliveries.told() == sent
    deliveries.receiver.pair = deliveries.authority.make("receiver")
    deliveries.wait_for([*sent, later])


def test_a_certificate_of_another_name_is_refused_without_a_word_of_either(deliveries):
    deliveries.ledger.decide()
    # The certificate is of 127.0.0.1 and of no name.
    url = deliveries.receiver.url.replace("127.0.0.1", "localhost")
    deliveries.start(url, ca=deliveries.authority.ca)
    deliveries.wait_for_failures()
    assert deliveries.receiver.taken == []
    assert deliveries.reasons() == {"the receiver was not reached: its certificate is of another name"}


def test_who_speaks_plain_where_tls_is_expected_gets_nothing(deliveries):
    deliveries.ledger.decide()
    url = deliveries.receiver.url
    deliveries.receiver.pair = None
    deliveries.start(url, ca=deliveries.authority.ca)
    deliveries.wait_for_failures()
    assert deliveries.receiver.taken == []
    (why,) = deliveries.reasons()
    assert why.startswith("the receiver was not reached: TLS failed (")


def test_an_authority_that_is_replaced_is_believed_without_a_restart_and_the_old_one_no_more(deliveries):
    trusted = deliveries.folder / "trusted.pem"
    trusted.write_bytes(deliveries.stranger.ca.read_bytes())
    sent = [deliveries.ledger.decide()]
    deliveries.start(ca=trusted)
    deliveries.wait_for_failures()
    trusted.write_bytes(deliveries.authority.ca.read_bytes())
    deliveries.wait_for(sent)
    deliveries.receiver.pair = deliveries.stranger.make("receiver")
    deliveries.ledger.decide()
    deliveries.wait_for_failures()
    assert deliveries.told() == sent


def test_an_authority_that_is_taken_away_or_no_pem_stops_deliveries_until_it_is_back(deliveries):
    trusted = deliveries.folder / "trusted.pem"
    trusted.write_bytes(deliveries.authority.ca.read_bytes())
    sent = [deliveries.ledger.decide()]
    deliveries.start(ca=trusted)
    deliveries.wait_for(sent)
    for spoil in (trusted.unlink, lambda: trusted.write_text(f"no PEM, {SECRET}")):
        spoil()
        sent.append(deliveries.ledger.decide())
        deliveries.wait_for_failures()
        assert deliveries.told() == sent[:-1]
        trusted.write_bytes(deliveries.authority.ca.read_bytes())
        deliveries.wait_for(sent)
    assert deliveries.reasons() == {
        "a file of its TLS cannot be used: FileNotFoundError",
        "a file of its TLS cannot be used: SSLError",
    }


def test_a_receiver_that_wants_a_certificate_is_shown_ours(deliveries):
    deliveries.receiver.client_ca = deliveries.authority.ca
    sent = [deliveries.ledger.decide() for _ in range(4)]
    deliveries.start(ca=deliveries.authority.ca, **deliveries.authority.make("facility"))
    deliveries.wait_for(sent)
    assert (deliveries.receiver.unmade, deliveries.failures()) == (0, 0)


@pytest.mark.parametrize(("issuer", "valid"), [("none", {}), ("stranger", {}), ("authority", EXPIRED)])
def test_a_receiver_that_refuses_our_certificate_gets_all_of_it_once_the_file_is_renewed(
    deliveries, issuer, valid: dict[str, timedelta]
):
    deliveries.receiver.client_ca = deliveries.authority.ca
    pair = {} if issuer == "none" else getattr(deliveries, issuer).make("facility", **valid)
    sent = [deliveries.ledger.decide() for _ in range(4)]
    deliveries.start(ca=deliveries.authority.ca, **pair)
    deliveries.wait_for_failures()
    deliveries.receiver.wait_until(lambda: deliveries.receiver.unmade >= 2)
    assert deliveries.told() == []
    assert all(why.startswith("the receiver was not reached: ") for why in deliveries.reasons())
    deliveries.authority.make("facility")
    if issuer == "none":
        deliveries.ledger.stop()
        deliveries.start(
            ca=deliveries.authority.ca,
            certificate=deliveries.folder / "facility.pem",
            key=deliveries.folder / "facility.key",
        )
    deliveries.wait_for(sent)


def test_a_pair_that_cannot_be_used_keeps_the_facility_from_starting(deliveries):
    pair, other = deliveries.authority.make("facility"), deliveries.authority.make("other")
    with pytest.raises(OSError, match="KEY_VALUES_MISMATCH"):
        deliveries.start(certificate=pair["certificate"], key=other["key"])
    key = load_pem_private_key(pair["key"].read_bytes(), None)
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2"))
    pair["key"].write_bytes(locked)
    with pytest.raises(OSError, match="SSL"):
        deliveries.start(**pair)
    with pytest.raises(FileNotFoundError):
        deliveries.start(ca=deliveries.folder / "nowhere.pem")


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"url": "https://siem.example", "certificate": "a.pem"}, "certificate and key must be given both"),
        ({"url": "http://127.0.0.1:1", "ca": "a.pem"}, "are for an https url"),
    ],
)
@pytest.mark.parametrize("receiver", ["decision_log webhook", "decision_log otlp", "tracing"])
def test_files_that_could_not_be_used_are_refused_by_the_settings(receiver, section, told):
    for name in reversed(receiver.split()):
        section = {name: section}
    with pytest.raises(ValueError, match=told):
        Settings(**section)
