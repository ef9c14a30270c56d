"""Who calls an installation: a table builder's website, a remote-execution portal, dashboards.

Run by run.py in an environment that has locust and nothing of sdcgate's. LOAD_ORDERS names a file of what to
ask and with which keys; every request that ended is a line of the file that LOAD_ENDED names.
"""

import itertools
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from locust import FastHttpUser, constant, constant_pacing, events, task

ORDERS = json.loads(Path(os.environ["LOAD_ORDERS"]).read_text())
ENDED = Path(os.environ["LOAD_ENDED"]).open("w")  # noqa: SIM115 - open as long as the process
TABLES: Iterator[dict[str, Any]] = itertools.cycle(ORDERS["tables"])
MODELS: Iterator[dict[str, Any]] = itertools.cycle(ORDERS["models"])
PATIENCE = ORDERS.get("patience", 1)
"""How many times as long people pause between two requests."""
KEYS: Iterator[str] = itertools.cycle(ORDERS["keys"]["researcher"])


def header(response: Any, name: str) -> str:
    """A header of a response; empty where there is none, or no response."""
    headers = getattr(response, "headers", None)
    return str(headers.get(name, "")) if headers else ""


@events.request.add_listener
def note(name: str, response_time: float, response: Any, context: dict[str, Any], **_: object) -> None:
    """Write down what was asked by whom, how it ended, and whether a refusal says when to come again."""
    ended = {
        "profile": context.get("profile", ""),
        "caller": context.get("caller", ""),
        "name": name,
        "at": time.time(),
        "milliseconds": response_time,
        "status": getattr(response, "status_code", 0) or 0,
        "retry_after": header(response, "retry-after") != "",
    }
    ENDED.write(json.dumps(ended) + "\n")


@events.quitting.add_listener
def close(**_: object) -> None:
    """Let run.py read it all."""
    ENDED.close()


HOSTS: Iterator[str] = itertools.cycle(ORDERS.get("hosts", [""]))
"""Gateways that people go to in turn, where there are several."""


class Caller(FastHttpUser):
    """A caller with a key, on a connection of his own."""

    abstract = True
    connection_timeout = network_timeout = 120.0
    key = ""

    def __init__(self, environment: Any) -> None:
        self.host = next(HOSTS) or self.host
        super().__init__(environment)

    def ask(self, name: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request; what answers with an error is counted, and is no reason to stop."""
        headers = {"Authorization": f"Bearer {self.key}"} | headers
        context = {"profile": type(self).__name__, "caller": self.key[-8:]}
        return self.client.request(method, path, json=body, headers=headers, name=name, context=context)


class TableBuilder(Caller):
    """The website of a table builder: many people, small tables, one in three asked by somebody before."""

    weight = 3
    wait_time = constant(0.2 * PATIENCE)

    def on_start(self) -> None:
        """Sign in."""
        self.key = next(KEYS)
        self.asked: list[dict[str, Any]] = []
        self.turn = itertools.count()

    @task
    def table(self) -> None:
        """A table."""
        old = next(self.turn) % 3 == 2
        body = self.asked[0] if old else next(TABLES)
        self.asked = [*self.asked[-10:], body]
        self.ask("table asked again" if old else "table", "POST", ORDERS["paths"]["tables"], body)


class Eager(Caller):
    """Asks for ever new tables: the next when one is answered, and so many seconds after the last."""

    wait_time = constant_pacing(ORDERS["seconds_between"])

    def on_start(self) -> None:
        """Sign in."""
        self.key = next(KEYS)

    @task
    def table(self) -> None:
        """A table."""
        self.ask("table", "POST", ORDERS["paths"]["tables"], next(TABLES))


class Portal(Caller):
    """A portal: fits models, has tables of its jobs checked, looks for what was decided."""

    weight = 2
    wait_time = constant(0.5 * PATIENCE)

    def on_start(self) -> None:
        """Sign in."""
        self.key = ORDERS["keys"]["portal"]

    @task(1)
    def model(self) -> None:
        """A model."""
        self.ask("model", "POST", ORDERS["paths"]["models"], next(MODELS))

    @task(4)
    def check(self) -> None:
        """A table that a job printed, against the rules."""
        self.ask("check", "POST", ORDERS["paths"]["check"], ORDERS["check"])

    @task(2)
    def results(self) -> None:
        """What was decided."""
        self.ask("results", "GET", ORDERS["paths"]["results"])


class Dashboard(Caller):
    """A dashboard that polls the status and says which one it has; two, however many people there are."""

    fixed_count = 2
    wait_time = constant_pacing(1)
    tag = ""

    def on_start(self) -> None:
        """Sign in."""
        self.key = ORDERS["keys"]["operator"]

    @task
    def status(self) -> None:
        """The status, where it has changed."""
        known = {"If-None-Match": self.tag} if self.tag else {}
        self.tag = header(self.ask("status", "GET", ORDERS["paths"]["status"], **known), "etag") or self.tag


class Echo(Caller):
    """Posts a table to a bare gateway before a bare gRPC service."""

    wait_time = constant(0.2)

    @task
    def echo(self) -> None:
        """Bytes there and back."""
        self.ask("echo", "POST", "/", ORDERS["check"])
