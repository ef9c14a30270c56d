"""Rules and dashboards ask for metrics and labels that there are, and every alert has its advice."""

import re
from pathlib import Path

import pytest
import yaml

from dashboards import DEPLOY, dashboards, labels_of, metrics_of, questions, rules

ROOT = Path(__file__).parents[2]
PROMETHEUS = {"up": {"job", "instance"}}
PROCESS = {
    name: {"job", "instance"}
    for name in (
        "process_cpu_seconds_total",
        "process_max_fds",
        "process_open_fds",
        "process_resident_memory_bytes",
    )
}


@pytest.fixture(scope="module")
def documented() -> dict[str, set[str]]:
    """Metrics of the reference page with their labels."""
    page = (ROOT / "docs/reference/metrics.md").read_text()
    rows = re.findall(r"^\| `(sdcgate_\w+)` \| (\w+) \| ([^|]*) \|", page, re.MULTILINE)
    assert len(rows) > 30
    return {name: set(re.findall(r"`(\w+)`", labels)) | {"job", "instance"} for name, _, labels in rows}


@pytest.fixture(scope="module")
def known(documented: dict[str, set[str]]) -> dict[str, set[str]]:
    """Also what is recorded: its labels are those that it is grouped by."""
    recorded = {rule["record"]: labels_of(rule["expr"]) for rule in rules() if "record" in rule}
    return documented | recorded | PROMETHEUS | PROCESS


def asked() -> list[tuple[str, str]]:
    """Where something is asked, and what."""
    found = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules()]
    for name, dashboard in dashboards().items():
        found += [(name, question) for question in questions(dashboard)]
    return found


@pytest.mark.parametrize(("where", "expression"), asked())
def test_every_metric_and_label_that_is_asked_for_exists(where, expression, known):
    metrics = metrics_of(expression)
    assert metrics
    assert sorted(metrics - known.keys()) == []
    labels = set().union(*(known[name] for name in metrics)) | {"le"}
    assert sorted(labels_of(expression) - labels) == []


def test_a_name_that_is_misspelt_would_be_seen(known):
    wrong = 'sum by (le, sevrice) (rate(sdcgate_call_second_bucket{code=~"5.."}[5m])) or vector(0)'
    assert metrics_of(wrong) == {"sdcgate_call_second"}
    assert labels_of(wrong) == {"le", "sevrice", "code"}
    assert metrics_of(wrong).isdisjoint(known)


def test_every_metric_of_sdcgate_is_in_a_dashboard_or_a_rule(documented):
    used = set().union(*(metrics_of(expression) for _, expression in asked()))
    assert sorted(documented.keys() - used) == [
        "sdcgate_calls_running",
        "sdcgate_ledger_head_timestamp_seconds",
        "sdcgate_ledger_verified_events",
        "sdcgate_policy_loaded_timestamp_seconds",
        "sdcgate_policy_reloads_total",
        "sdcgate_waiting_places",
    ]


def test_every_alert_says_how_urgent_it_is_and_has_its_advice():
    page = (ROOT / "docs/monitoring.md").read_text()
    alerts = [rule for rule in rules() if "alert" in rule]
    assert len(alerts) > 20
    for alert in alerts:
        assert alert["labels"]["severity"] in ("page", "ticket")
        assert alert["annotations"]["summary"].endswith((".", "memory."))
        assert f"| `{alert['alert']}` |" in page
    assert set(re.findall(r"^\| `(Sdcgate\w+)` \|", page, re.MULTILINE)) == {a["alert"] for a in alerts}


def test_every_alert_and_every_recorded_name_has_a_unit_test():
    tests = yaml.safe_load((DEPLOY / "prometheus/sdcgate.rules.test.yaml").read_text())["tests"]
    fired = {
        alert["alertname"]
        for test in tests
        for alert in test.get("alert_rule_test", ())
        if alert["exp_alerts"]
    }
    assert fired == {rule["alert"] for rule in rules() if "alert" in rule}
    text = "\n".join(one["expr"] for test in tests for one in test.get("promql_expr_test", ()))
    used_by_alerts = " ".join(rule["expr"] for rule in rules() if "alert" in rule)
    untested = [
        rule["record"]
        for rule in rules()
        if "record" in rule and rule["record"] not in text and rule["record"] not in used_by_alerts
    ]
    assert untested == ["sdcgate:call_seconds:p50_5m", "sdcgate:call_seconds:p99_5m"]


def test_dashboards_can_be_provisioned():
    found = dashboards()
    assert sorted(found) == ["decisions", "operations"]
    assert len({dashboard["uid"] for dashboard in found.values()}) == 2
    for dashboard in found.values():
        assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
        variables = {variable["name"] for variable in dashboard["templating"]["list"]}
        used = set(re.findall(r"\$(\w+)", " ".join(questions(dashboard))))
        assert used <= variables
    provider = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/sdcgate.yaml").read_text())
    assert provider["providers"][0]["options"]["path"] == "/etc/grafana/dashboards/sdcgate"


def test_the_scrape_job_has_the_name_and_the_ports_that_rules_and_services_have():
    (job,) = yaml.safe_load((DEPLOY / "prometheus/sdcgate.scrape.yaml").read_text())
    assert job["job_name"] == "sdcgate"
    ports = [target.rpartition(":")[2] for target in job["static_configs"][0]["targets"]]
    assert ports == ["9480", "9440", "9441", "9442"]
