from pathlib import Path

import pytest
from pydantic import ValidationError

from sdcgate.servers.loopback import is_loopback
from sdcgate.servers.settings import Settings


def test_services_listen_on_the_loopback_unless_told_otherwise(monkeypatch):
    settings = Settings()
    for name in ("risk", "protection", "facility", "gateway"):
        assert getattr(settings, name).host == "127.0.0.1"
    assert settings.ready_file("risk", settings.risk) == Path("var/run/risk.json")
    assert settings.service_token_path == Path("var/keys/service.token")


def test_sections_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SDCGATE_STATE_DIR", "/a folder/var")
    monkeypatch.setenv("SDCGATE_RISK__PORT", "0")
    monkeypatch.setenv("SDCGATE_FACILITY__RISK__ADDRESS", "127.0.0.1:1")
    settings = Settings()
    assert settings.risk.port == 0
    assert settings.address(settings.facility.risk, settings.risk) == "127.0.0.1:1"
    assert settings.address(settings.facility.protection, settings.protection) == "127.0.0.1:7442"
    assert settings.service_token_path == Path("/a folder/var/keys/service.token")


def test_a_misspelt_setting_is_an_error(monkeypatch):
    monkeypatch.setenv("SDCGATE_RISK__PROT", "1")
    with pytest.raises(ValidationError, match="prot"):
        Settings()


def test_plaintext_beyond_the_loopback_must_be_asked_for(monkeypatch):
    monkeypatch.setenv("SDCGATE_GATEWAY__HOST", "0.0.0.0")
    with pytest.raises(ValidationError, match="plaintext=true"):
        Settings()
    monkeypatch.setenv("SDCGATE_GATEWAY__PLAINTEXT", "true")
    assert Settings().gateway.host == "0.0.0.0"


def test_half_of_tls_is_an_error(monkeypatch):
    monkeypatch.setenv("SDCGATE_RISK__TLS__CERTIFICATE", "cert.pem")
    with pytest.raises(ValidationError, match="both"):
        Settings()


def test_loopback_is_known():
    assert is_loopback("localhost")
    assert is_loopback("127.1.2.3")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")


def test_a_secret_stands_in_a_file_and_in_no_representation_and_no_error(monkeypatch, tmp_path):
    url = "postgresql://sdcgate:PASSWORD@db/ledger"
    (tmp_path / "sdcgate_ledger_url").write_text(url + "\n")
    monkeypatch.setenv("SDCGATE_SECRETS_DIR", str(tmp_path))
    settings = Settings()
    assert settings.ledger_url == url
    assert "PASSWORD" not in repr(settings) + str(settings)
    with pytest.raises(ValidationError) as caught:
        Settings(ledger_url={"url": url})
    assert "PASSWORD" not in str(caught.value)
    monkeypatch.setenv("SDCGATE_LEDGER_URL", "postgresql:///of-the-environment")
    assert Settings().ledger_url == "postgresql:///of-the-environment"


def test_a_folder_of_secrets_that_is_not_there_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("SDCGATE_SECRETS_DIR", str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"SDCGATE_SECRETS_DIR: .* is no folder"):
        Settings()


def test_the_ledgers_address_comes_from_a_file_that_only_the_service_reads(monkeypatch, tmp_path):
    (tmp_path / "sdcgate_ledger_url").write_text("postgresql://sdcgate:PASSWORD@database/ledger\n")
    (tmp_path / "gateway.key").write_text("of another")
    monkeypatch.setenv("SDCGATE_SECRETS_DIR", str(tmp_path))
    settings = Settings()
    assert settings.ledger_address() == "postgresql://sdcgate:PASSWORD@database/ledger"
    assert not settings.has_own_ledger


def test_a_folder_without_the_ledgers_address_is_no_ledger_in_the_state_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SDCGATE_SECRETS_DIR", str(tmp_path))
    (tmp_path / "ledger.url").write_text("postgresql://database/ledger\n")
    with pytest.raises(ValueError, match=r"no file in .* is named like a setting"):
        Settings()
    (tmp_path / "sdcgate_ledger_url").write_text("\n")
    with pytest.raises(ValueError, match="sdcgate_ledger_url is empty"):
        Settings()


def test_without_an_address_the_ledger_lies_in_the_state_folder(monkeypatch):
    monkeypatch.setenv("SDCGATE_STATE_DIR", "/a folder/var")
    assert Settings().has_own_ledger
    assert Settings().ledger_address() == "sqlite:////a folder/var/ledger.sqlite"
