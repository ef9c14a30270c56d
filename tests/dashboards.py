"""What the rules of Prometheus and the dashboards of Grafana ask for.

Run as a script it prints the questions of the dashboards as rules, for promtool to read.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parent.parent / "deploy"
RULES = DEPLOY / "prometheus/sdcgate.rules.yaml"
DASHBOARDS = sorted((DEPLOY / "grafana/dashboards").glob("*.json"))
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')
_LABELS = re.compile(r"\{[^}]*\}|\b(?:by|on|without|ignoring)\s*\([^)]*\)")
_NAMES = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(?!\s*\()")
_WORDS = {"and", "or", "unless", "bool", "e9", "offset", "d", "h", "m"}


def rules() -> list[dict[str, Any]]:
    """All rules, recording and alert."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def dashboards() -> dict[str, dict[str, Any]]:
    """All dashboards by the names of their files."""
    return {path.stem: json.loads(path.read_text()) for path in DASHBOARDS}


def questions(dashboard: dict[str, Any]) -> list[str]:
    """The expressions of a dashboard's panels."""
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def metrics_of(expression: str) -> set[str]:
    """Names of the metrics that an expression asks for; histograms without _bucket, _sum and _count."""
    bare = _LABELS.sub(" ", _TEXTS.sub('""', expression))
    bare = re.sub(r"\[[^\]]*\]", " ", bare)
    found = {name for name in _NAMES.findall(bare) if name not in _WORDS}
    called = set(re.findall(r"([a-z_]+)\s*\(", bare))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in found if not _is_part(name, called)}


def labels_of(expression: str) -> set[str]:
    """Names of the labels that an expression matches or groups by."""
    found = set()
    for part in _LABELS.findall(_TEXTS.sub('""', expression)):
        inner = part.partition("{")[2] if part.startswith("{") else part.partition("(")[2]
        found |= set(re.findall(r"[a-z_]+", inner))
    return found


def _is_part(name: str, called: set[str]) -> bool:
    """Whether a name is the beginning of that of a function, as the pattern stops before its last letter."""
    return any(function.startswith(name) for function in called)


if __name__ == "__main__":
    asked = [
        {"record": f"dashboard:{name}:{number}", "expr": question.replace("$", "")}
        for name, dashboard in dashboards().items()
        for number, question in enumerate(questions(dashboard))
    ]
    sys.stdout.write(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": asked}]}))
