"""What a rendered chart must agree on with the code: `helm template ... | rendered.py`.

Every variable is a setting that exists and, all of them together, one that a service starts with; ports are
those that the settings name; a pod may drain before it is killed.
"""

import os
import sys
from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel

from sdcgate.servers.settings import SECRETS_DIR, Settings


def names(model: type[BaseModel], prefix: str = "SDCGATE_") -> Iterator[str]:
    """Names of all settings."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from names(kind, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}"


def faults(deployment: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the deployment of a service."""
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    service = container["args"][1]
    variables = [item["name"] for item in container["env"]]
    known = {*names(Settings), SECRETS_DIR}
    yield from (
        f"{name} is no setting" for name in variables if name.startswith("SDCGATE_") and name not in known
    )
    yield from (f"{name} is set twice" for name in set(variables) if variables.count(name) > 1)
    os.environ.update({item["name"]: item["value"] for item in container["env"] if "value" in item})
    if secrets := os.environ.pop(SECRETS_DIR, ""):
        paths = [mount["mountPath"] for mount in container["volumeMounts"]]
        files = [
            item["path"] for volume in pod["volumes"] for item in volume.get("secret", {}).get("items", ())
        ]
        if secrets not in paths or not {name.lower() for name in known} & set(files):
            yield f"{service} has no setting in its folder of secrets, {secrets}"
    section = getattr(Settings(), service)
    ports = [port["containerPort"] for port in container["ports"]]
    if ports != [section.port, section.metrics_port]:
        yield f"{service} listens on {section.port} and {section.metrics_port}, not on {ports}"
    slept = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    if pod["terminationGracePeriodSeconds"] <= slept + section.drain_seconds:
        yield f"{service} is killed before it has drained"
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    if mounted != {volume["name"] for volume in pod["volumes"]}:
        yield f"{service} has volumes that are not mounted, or mounts without a volume"


if __name__ == "__main__":
    found = []
    for manifest in yaml.safe_load_all(sys.stdin):
        if manifest and manifest["kind"] == "Deployment":
            found += list(faults(manifest))
    sys.exit("\n".join(found) or 0)
