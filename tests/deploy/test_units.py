"""The systemd units set what exists and hold back what they should; systemd looks at them in lint-deploy."""

import re
from pathlib import Path

import pytest

from generators.settings import settings_page
from sdcgate.servers.settings import Settings

UNITS = Path(__file__).parents[2] / "deploy/systemd"
SERVICES = ("gateway", "facility", "risk", "protection")
SETTINGS = set(re.findall(r"`(SDCGATE_\w+)`", settings_page()))
HARDENING = (UNITS / "sdcgate-.service.d/hardening.conf").read_text(encoding="utf-8")


def unit(service: str) -> str:
    return (UNITS / f"sdcgate-{service}.service").read_text(encoding="utf-8")


@pytest.mark.parametrize("service", SERVICES)
def test_a_unit_starts_its_service_with_settings_that_exist(service: str, monkeypatch) -> None:
    text = unit(service)
    assert f"\nExecStart=/opt/sdcgate/bin/sdcgate serve {service}\n" in text
    environment = dict(re.findall(r"^Environment=(SDCGATE_\w+)=(.+)$", text, re.MULTILINE))
    assert environment
    assert environment.keys() - SETTINGS == set()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stops = re.search(r"^TimeoutStopSec=(\d+)$", HARDENING, re.MULTILINE)
    assert stops is not None
    assert getattr(Settings(), service).drain_seconds < int(stops.group(1))


@pytest.mark.parametrize("service", SERVICES)
def test_nobody_but_the_facility_keeps_anything(service: str) -> None:
    text = unit(service)
    assert ("StateDirectory=" in text) == (service == "facility")
    assert ("DynamicUser=yes" in text) == (service != "facility")


@pytest.mark.parametrize("service", ["risk", "protection"])
def test_risk_and_protection_are_reached_from_this_machine_only(service: str) -> None:
    assert "IPAddressDeny=any\nIPAddressAllow=localhost\n" in unit(service)


def test_no_unit_gets_rights_or_sees_what_it_does_not_need() -> None:
    for line in (
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "CapabilityBoundingSet=",
        "SystemCallFilter=@system-service",
        "Restart=always",
    ):
        assert f"\n{line}\n" in HARDENING


def test_the_socket_that_outlives_the_gateway_is_where_its_settings_say() -> None:
    text = (UNITS / "sdcgate-gateway.socket").read_text(encoding="utf-8")
    section = Settings().gateway
    assert f"\nListenStream={section.host}:{section.port}\n" in text
    assert "PartOf=sdcgate.target" in text


def test_the_file_of_settings_lets_nobody_ask_unregistered_or_without_end(monkeypatch) -> None:
    text = (UNITS / "sdcgate.env").read_text(encoding="utf-8")
    assert "EnvironmentFile=-/etc/sdcgate/sdcgate.env\n" in HARDENING
    # What is there as an example, too, must be a setting.
    named = set(re.findall(r"^(?:# )?(SDCGATE_[A-Z_]+)=", text, re.MULTILINE))
    assert named - SETTINGS == set()
    for name, value in re.findall(r"^(SDCGATE_\w+)=(.+)$", text, re.MULTILINE):
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.identity.require_admission
    assert 0 < settings.gateway.edge.calls_per_minute < settings.gateway.edge.address_calls_per_minute


def test_without_files_for_deployment_the_loopback_is_as_open_as_ever() -> None:
    assert not Settings().identity.require_admission
    assert Settings().gateway.edge.calls_per_minute == 0
