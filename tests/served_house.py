"""The whole house as its users meet it: four processes on loopback ports, API keys, REST."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from house import COPY, RANDHIE
from sdcgate.cli.ledger_place import opened
from sdcgate.cli.supervisor import SERVICES, ServiceFailed, Supervisor
from sdcgate.ledger.credentials import Credentials
from sdcgate.ledger.ledger import Ledger
from sdcgate.servers.settings import Settings

KEYS = {
    "ada": ("researcher", "ada"),
    "bob": ("researcher", "bob"),
    "grace": ("checker", "grace"),
    "henry": ("checker", "henry"),
    "grace as researcher": ("researcher", "grace"),
    "stefan": ("steward", "stefan"),
    "olga": ("operator", "olga"),
    "audrey": ("auditor", "audrey"),
    "portal": ("portal", "portal-1"),
}
"""Role and person of each key."""


class ServedHouse:
    """A house in a folder: running processes and whoever calls them.

    `common` are settings of all services; `keys` those of another house on the same state.
    """

    def __init__(
        self,
        folder: Path,
        common: dict[str, Any] | None = None,
        keys: dict[str, str] | None = None,
        **sections: dict[str, Any],
    ) -> None:
        self.folder = folder
        self.common = common or {}
        ports = {"port": 0, "metrics_port": 0}
        self.settings = Settings(
            state_dir=folder / "state",
            data_root=folder / "data",
            **self.common,
            **{name: {**ports, **sections.get(name, {})} for name in SERVICES},
        )
        self.settings.data_root.mkdir(parents=True, exist_ok=True)
        environment = {
            f"SDCGATE_{name.upper()}__{field.upper()}": str(value)
            for name, section in sections.items()
            for field, value in section.items()
        }
        environment |= {f"SDCGATE_{name.upper()}": str(value) for name, value in self.common.items()}
        self.keys = keys or self._new_keys()
        self.supervisor = self._started(environment)
        self.http = httpx.Client(base_url=self.supervisor.url, timeout=60)

    def beside(self) -> "ServedHouse":
        """Four more processes on the same state: a second replica, where the ledger is on PostgreSQL."""
        run = self.settings.state_dir / "run"
        ready = {name: {"ready_file": run / f"{name}-2.json"} for name in SERVICES}
        return ServedHouse(self.folder, self.common, self.keys, **ready)

    def _started(self, environment: dict[str, str]) -> Supervisor:
        # A port that was free is sometimes taken by a connection of another test before a service has it.
        for last in (False, False, True):
            supervisor = Supervisor(self.settings, environment)
            try:
                supervisor.start()
            except ServiceFailed as error:
                supervisor.stop()
                if last or "Address already in use" not in str(error):
                    raise
                # What gRPC's core itself prints about the port is no JSON.
                shutil.rmtree(self.settings.state_dir / "log")
            else:
                return supervisor
        raise AssertionError("unreachable")

    def _new_keys(self) -> dict[str, str]:
        with self.ledger() as ledger:
            create = Credentials(ledger).create
            return {name: create(role, person, "test", 1)[0] for name, (role, person) in KEYS.items()}

    def stop(self) -> None:
        self.http.close()
        self.supervisor.stop()

    def send(self, method: str, path: str, body: Any = None, key: str = "ada", **how: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.keys.get(key, key)}"} if key else {}
        headers |= how.pop("headers", {})
        return self.http.request(method, path, json=body, headers=headers, **how)

    def ask(self, dataset: str = "randhie", key: str = "ada", **request: Any) -> httpx.Response:
        return self.send("POST", f"/v1/datasets/{dataset}/tables", table_body(**request), key)

    def register(self, descriptor: dict[str, Any], key: str = "stefan") -> httpx.Response:
        return self.send("POST", "/v1/datasets", {"descriptor": descriptor}, key)

    def register_randhie(self, name: str = "randhie", **changes: str) -> httpx.Response:
        """The demonstration data, under a name with a history of its own."""
        return self.register(
            {
                **yaml.safe_load(RANDHIE.read_text()),
                "name": name,
                "source": name,
                **COPY,
                **changes,
            }
        )

    def told(self, service: str, path: str = "metrics") -> str:
        """What a service tells on its own port, without lines of random digits: moments, durations."""
        lines = httpx.get(f"{self.metrics_address(service)}/{path}").text.splitlines()
        random = ("_sum{", "_created{", "_created ")
        return "\n".join(
            line for line in lines if not (line.startswith("process_") or any(one in line for one in random))
        )

    def metrics_address(self, service: str) -> str:
        ready = self.supervisor._ready_file(service)
        return "http://" + json.loads(ready.read_text())["metrics"]

    def log(self, service: str) -> list[dict[str, Any]]:
        lines = (self.settings.state_dir / "log" / f"{service}.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """The ledger of the house, beside the facility."""
        with opened(self.settings) as ledger:
            yield ledger

    def kill(self, service: str) -> None:
        """As the kernel does when memory runs out."""
        process = self.supervisor._processes[service]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def restart(self, *services: str) -> None:
        """Start killed services again, as an init system would: they find everything as it fell."""
        for service in services:
            self.supervisor._processes[service] = self.supervisor._spawn(service)
        for service in services:
            self.supervisor._wait_until_ready(service, time.monotonic() + 60)


def table_body(
    rows=(), columns=(), layers=(), figures=("UNITS",), margins=True, project="", **filters
) -> dict[str, Any]:
    """The JSON of a table query; dimensions as `age:broad`, figures as `MEAN:meddol`, filters as `female`."""
    body: dict[str, Any] = {"margins": margins, "figures": []}
    for name, group in (("rows", rows), ("columns", columns), ("layers", layers)):
        body[name] = [_named(asked) for asked in group]
    for asked in figures:
        statistic, _, measure = asked.partition(":")
        body["figures"].append({"statistic": statistic, **({"measure": measure} if measure else {})})
    body["filter"] = [{**_named(name.replace("__", ":")), "codes": codes} for name, codes in filters.items()]
    return {**body, "project": project} if project else body


def _named(asked: str) -> dict[str, str]:
    variable, _, level = asked.partition(":")
    return {"variable": variable, "level": level} if level else {"variable": variable}


def cells(decision: dict[str, Any]) -> dict[tuple[str, ...], tuple[float | None, ...]]:
    """Figures of each cell of a decision's table by its codes, as a reader of the JSON would take them."""
    table = decision["table"]
    columns = table["columns"]
    codes = [[d["codes"][c] for c in columns[d["column"]]] for d in table["dimensions"]]
    figures = [columns[figure["column"]] for figure in table["figures"]]
    keys = list(zip(*codes, strict=True)) or [()]
    return dict(zip(keys, zip(*figures, strict=True), strict=True))


def codes_of(decision: dict[str, Any]) -> list[str]:
    """Codes of the reasons of a decision."""
    return [reason["code"] for reason in decision["reasons"]]
