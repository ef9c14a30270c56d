"""JSON schemas as kubeconform reads them: of Kubernetes, and of custom resources from their definitions.

`schemas.py folder --kubernetes 1.34.0 ... --definitions definition.yaml ...` writes
`<folder>/<version>/<kind><-group>-<version>.json` and `<folder>/<group>/<kind>_<version>.json`.
"""

import argparse
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

# A bare "=" in an enumeration is that text; PyYAML has no reading of what YAML 1.1 meant by it.
yaml.SafeLoader.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_yaml_str)

KINDS = ("Certificate", "Issuer", "ServiceMonitor", "PrometheusRule", "HTTPRoute", "BackendTLSPolicy")
_REFERENCE = re.compile(r"/api/_definitions\.json#/\$defs/")


def write_kubernetes(folder: Path, version: str) -> None:
    """Write the schemas of a version of Kubernetes, each with all that it refers to."""
    source = Path(str(files("kubernetes_validate"))) / "kubernetes-json-schema" / f"v{version}-local-strict"
    definitions = json.loads(_local((source / "_definitions.json").read_text(encoding="utf-8")))["$defs"]
    target = folder / version
    target.mkdir(parents=True, exist_ok=True)
    for path in source.glob("*.json"):
        schema = json.loads(_local(path.read_text(encoding="utf-8")))
        if "x-kubernetes-group-version-kind" in schema:
            del schema["$id"]
            schema["$defs"] = _needed(schema, definitions)
            (target / path.name).write_text(json.dumps(schema), encoding="utf-8")


def write_custom(folder: Path, path: Path) -> None:
    """Write the schemas of the custom resources of a file that the chart makes, for every version."""
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        specification = (document or {}).get("spec", {})
        if specification.get("names", {}).get("kind") not in KINDS:
            continue
        for version in specification["versions"]:
            schema = closed(version["schema"]["openAPIV3Schema"])
            # Every object has metadata, whatever its definition says of them.
            schema["properties"]["metadata"] = {"type": "object"}
            name = f"{specification['names']['kind'].lower()}_{version['name']}.json"
            file = folder / specification["group"] / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(schema), encoding="utf-8")


def closed(schema: Any) -> Any:
    """The schema, in which fields that are not named are errors, as for the server's strict validation."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(part) for name, part in schema.items()}
    if isinstance(made.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    return made


def _local(text: str) -> str:
    return _REFERENCE.sub("#/$defs/", text)


def _needed(schema: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        for name in re.findall(r'"#/\$defs/([^"]+)"', json.dumps(waiting.pop())):
            if name not in found:
                found[name] = definitions[name]
                waiting.append(definitions[name])
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kubernetes", nargs="+", required=True)
    parser.add_argument("--definitions", nargs="+", type=Path, required=True)
    asked = parser.parse_args()
    for version in asked.kubernetes:
        write_kubernetes(asked.folder, version)
    for path in asked.definitions:
        write_custom(asked.folder, path)
