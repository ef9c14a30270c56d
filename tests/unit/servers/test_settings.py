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
