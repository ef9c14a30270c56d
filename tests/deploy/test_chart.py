"""What the chart promises and can be seen without helm; `make lint-deploy` looks at what helm makes of it."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from generators.settings import settings_page
from sdcgate.servers.metrics import Metrics
from sdcgate.servers.rooms import CheckLane, ReadLane, Rooms
from sdcgate.servers.settings import FacilityServer, ProtectionServer, RiskServer, Settings

CHART = Path(__file__).parents[2] / "helm/sdcgate"
TEMPLATES = {path.name: path.read_text(encoding="utf-8") for path in CHART.glob("templates/**/*.*")}
SERVICES = ("gateway", "facility", "risk", "protection")
SETTINGS = set(re.findall(r"`(SDCGATE_\w+)`", settings_page()))


def merged(base: Any, change: Any) -> Any:
    """Values as helm merges them."""
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    return base | {name: merged(base.get(name), value) for name, value in change.items()}


@pytest.fixture(scope="module")
def defaults() -> dict[str, Any]:
    return yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads((CHART / "values.schema.json").read_text()))


def files(folder: str) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted((CHART / folder).glob("*.yaml"))]


def where(schema: jsonschema_rs.Draft202012Validator, values: Any) -> str:
    """Where the schema finds something, and what."""
    return "\n".join(
        "/" + "/".join(map(str, error.instance_path)) + f" {error.message}"
        for error in schema.iter_errors(values)
    )


@pytest.mark.parametrize("path", files("ci"))
def test_what_installations_ask_for_is_taken(schema, defaults, path: Path) -> None:
    assert where(schema, merged(defaults, yaml.safe_load(path.read_text()))) == ""


@pytest.mark.parametrize("path", files("ci/refused"))
def test_what_cannot_be_run_is_refused_where_it_is_wrong(schema, defaults, path: Path) -> None:
    text = path.read_text()
    expected = re.search(r"/[\w/]+", text.splitlines()[0])
    assert expected is not None
    assert expected.group() in where(schema, merged(defaults, yaml.safe_load(text)))


def test_several_facilities_are_taken_on_postgresql_and_shared_state_only(schema, defaults) -> None:
    shared = {"accessMode": "ReadWriteMany"}
    postgresql = {"database": "postgresql", "postgresql": {"existingSecret": "ledger"}}
    several = {"facility": {"replicas": 2}}
    assert schema.is_valid(merged(defaults, {**several, "state": shared, "ledger": postgresql}))
    assert not schema.is_valid(merged(defaults, {**several, "state": shared}))
    assert not schema.is_valid(merged(defaults, {**several, "ledger": postgresql}))


def test_every_setting_that_the_templates_name_exists() -> None:
    environment = TEMPLATES["_environment.tpl"] + TEMPLATES["migrations.yaml"]
    common = set(re.findall(r"name: (SDCGATE_\w+)[,}]", environment))
    fields = set(re.findall(r"\$section \}\}(\w+)", environment))
    peers = set(re.findall(r"\$prefix \}\}(\w+)", environment))
    assert {"SDCGATE_SECRETS_DIR"} < common
    assert {"HOST", "DRAIN_SECONDS", "TLS__CLIENT_CA"} < fields
    assert {"ADDRESS", "CA"} < peers
    assert common - SETTINGS == set()
    assert {f"SDCGATE_RISK__{name}" for name in fields} - SETTINGS == set()
    assert {f"SDCGATE_RISK__FACILITY__{name}" for name in peers} - SETTINGS == set()


def test_nobody_asks_unregistered_or_without_end_where_the_chart_is_installed_as_it_comes(defaults) -> None:
    assert defaults["settings"] == {"IDENTITY__REQUIRE_ADMISSION": True}
    given = defaults["gateway"]["settings"]
    assert {f"SDCGATE_GATEWAY__{name}" for name in given} - SETTINGS == set()
    assert 0 < given["EDGE__CALLS_PER_MINUTE"] < given["EDGE__ADDRESS_CALLS_PER_MINUTE"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"settings": {"IDENTITY__REQUIRE_ADMISSION": "yes"}}, "/settings/IDENTITY__REQUIRE_ADMISSION"),
        (
            {"gateway": {"settings": {"EDGE__CALLS_PER_MINUTE": -1}}},
            "/gateway/settings/EDGE__CALLS_PER_MINUTE",
        ),
        (
            {"gateway": {"settings": {"EDGE__ADDRESS_CALLS_PER_MINUTE": "many"}}},
            "/gateway/settings/EDGE__ADDRESS_CALLS_PER_MINUTE",
        ),
    ],
)
def test_limits_that_are_none_are_refused(schema, defaults, change, expected: str) -> None:
    assert expected in where(schema, merged(defaults, change))


def test_the_ledger_is_not_reached_in_plaintext_unless_somebody_says_so(schema, defaults) -> None:
    assert defaults["ledger"]["postgresql"]["sslMode"] == "verify-full"
    # The job that migrates connects like the facility.
    for part in ("Environment", "Mounts", "Volumes"):
        assert f'include "sdcgate.ledger{part}"' in TEMPLATES["migrations.yaml"]
    prefers = {"ledger": {"postgresql": {"sslMode": "prefer"}}}
    assert "/ledger/postgresql/sslMode" in where(schema, merged(defaults, prefers))


def test_ports_are_those_that_the_services_have_by_default() -> None:
    settings = Settings()
    helpers = TEMPLATES["_helpers.tpl"]
    for name, field in (("port", "port"), ("metricsPort", "metrics_port")):
        said = re.search(rf'define "sdcgate.{name}" -\}}\}}\n.*?dict (.*?)\)', helpers)
        assert said is not None
        pairs = re.findall(r'"(\w+)" "(\d+)"', said.group(1))
        assert {service: int(port) for service, port in pairs} == {
            service: getattr(getattr(settings, service), field) for service in SERVICES
        }


def test_the_readme_has_a_row_for_every_value_and_for_nothing_else(defaults) -> None:
    rows = set(re.findall(r"^\| `([\w.]+)` \|", (CHART / "README.md").read_text(), re.MULTILINE))
    of_services = set(defaults["risk"]) & set(defaults["gateway"])

    def leaves(value: Any, path: str) -> set[str]:
        if isinstance(value, dict) and value and path not in {"dashboards.labels"}:
            return {
                leaf for name, part in value.items() for leaf in leaves(part, f"{path}.{name}".strip("."))
            }
        return {path}

    # Settings that are given are named beside the row for further ones.
    expected = {"settings"}
    for leaf in leaves(defaults, ""):
        service, _, field = leaf.partition(".")
        given = field.startswith("settings.")
        common = service in SERVICES and field.split(".")[0] in of_services and not given
        expected.add(f"service.{field}" if common else leaf)
    # A row stands for what lies beneath it, where that is Kubernetes' own.
    for group in [name for name in expected if re.search(r"resources\.|metricsFrom", name)]:
        expected.discard(group)
        expected.add(re.sub(r"(resources|metricsFrom).*", r"\1", group))
    assert rows == expected


def test_rules_and_dashboards_are_those_of_every_installation() -> None:
    def texts(folder: Path, pattern: str) -> dict[str, str]:
        return {path.name: path.read_text(encoding="utf-8") for path in folder.glob(pattern)}

    deploy = CHART.parents[1] / "deploy"
    assert texts(CHART / "files/dashboards", "*.json") == texts(deploy / "grafana/dashboards", "*.json")
    rules = [*texts(CHART / "files", "rules.yaml").values()]
    assert rules == [*texts(deploy / "prometheus", "*.rules.yaml").values()]


def series(service: str) -> dict[str, list[dict[str, str]]]:
    """What a service that runs shows, as labels of each series by the metric's name."""
    metrics = Metrics(service)
    check, read = CheckLane(4, 32, lambda token: True), ReadLane(4, 32, frozenset())
    rooms = {
        "risk": lambda: Rooms("risk", RiskServer(), check=check),
        "protection": lambda: Rooms("protection", ProtectionServer(), check=check),
        "facility": lambda: Rooms("facility", FacilityServer(), read=read),
    }
    if service in rooms:
        metrics.watch(rooms[service]())
    families = text_string_to_metric_families(metrics.exposition().decode())
    found: dict[str, list[dict[str, str]]] = {}
    for sample in (sample for family in families for sample in family.samples):
        found.setdefault(sample.name, []).append(sample.labels)
    return found


@pytest.mark.parametrize("values", ["ci/minimal.yaml", "ci/postgresql.yaml"])
@pytest.mark.parametrize("service", SERVICES)
def test_replicas_are_made_by_series_that_the_service_shows(defaults, service: str, values: str) -> None:
    changed = merged(defaults, yaml.safe_load((CHART / values).read_text()))
    queue = changed[service]["autoscaling"]["queue"]
    shown = series(service).get(queue["metric"], [])
    assert [one for one in shown if queue["labels"].items() <= one.items()]
    assert all(one["service"] == service for one in shown)


def test_replicas_come_before_calls_are_turned_away(defaults) -> None:
    settings = Settings()
    for service in ("risk", "protection", "facility"):
        queue = defaults[service]["autoscaling"]["queue"]
        assert queue["metric"] == "sdcgate_calls_waiting"
        assert 0 < queue["average"] < getattr(settings, service).waiting_calls
    assert defaults["gateway"]["autoscaling"]["queue"]["metric"] == "sdcgate_calls_running"


def test_the_labels_of_a_queue_are_in_what_is_asked_of_the_adapter() -> None:
    assert "selector: {matchLabels: {{ toJson . }}}" in TEMPLATES["autoscaling.yaml"]


def test_the_chart_has_the_version_of_the_software() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (CHART.parents[1] / "pyproject.toml").read_text()
    assert f'version = "{chart["appVersion"]}"' in project


def test_no_container_may_gain_rights_or_write_where_it_runs() -> None:
    helpers = TEMPLATES["_helpers.tpl"]
    for line in (
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "allowPrivilegeEscalation: false",
        "capabilities: {drop: [ALL]}",
        "seccompProfile: {type: RuntimeDefault}",
    ):
        assert line in helpers
    for name, text in TEMPLATES.items():
        containers = len(re.findall(r"^ +containers:", text, re.MULTILINE))
        assert text.count('include "sdcgate.containerSecurity"') == containers, name
        assert text.count('include "sdcgate.podSecurity"') == containers, name
