"""Two replicas of each service behind one gateway, and what replaces them one after the other."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from postgresql_server import empty_database, running_server
from sdcgate.cli.supervisor import SERVICES, free_port
from served_house import ServedHouse

REPLICATED = ("risk", "protection", "facility")
CALLS = {
    "gateway": REPLICATED,
    "facility": ("risk", "protection"),
    "risk": ("facility",),
    "protection": ("facility",),
}
"""Who calls whom."""
RECONNECTED = 2.5
"""Seconds until callers have found a replica that is back: they try once a second, see servers.channels."""

DRAIN = 60
"""Seconds that a replica may take to end what it has begun, as in the chart: where many programs share the
machine a table that is hard to prove takes longer than a service's own ten seconds."""
PATIENCE = 2.0 * DRAIN
"""Seconds until a replica has ended."""


class RolledHouse:
    """The replicas of two houses on one state, called in turn; the gateway is that of `first`."""

    def __init__(self, first: ServedHouse, second: ServedHouse) -> None:
        self.first = first
        self._replicas = (first, second)

    def roll(self) -> Iterator[str]:
        """Replace every replica, none before the one before it takes calls; says which after each."""
        for name in REPLICATED:
            for number, house in enumerate(self._replicas):
                self._replace(house, name)
                time.sleep(RECONNECTED)
                yield f"{name}-{number}"

    def _replace(self, house: ServedHouse, name: str) -> None:
        """SIGTERM, its end, and another in its place that takes calls."""
        process = house.supervisor._processes[name]
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        house.restart(name)


@contextmanager
def rolled_house(folder: Path) -> Iterator[RolledHouse]:
    """On a PostgreSQL of its own."""
    taken: set[int] = set()
    ports = {name: [free_port("127.0.0.1", 0, taken) for _ in range(2)] for name in REPLICATED}
    state = folder / "state" / "run"
    first, second = (
        {name: {"port": ports[name][number], "drain_seconds": DRAIN} for name in REPLICATED}
        for number in range(2)
    )
    second = {name: {**second.get(name, {}), "ready_file": state / f"{name}-2.json"} for name in SERVICES}
    with running_server() as server, mock.patch.dict(os.environ, peers(ports)):
        common = {"ledger_url": empty_database(server)}
        one = ServedHouse(folder, common, **first)
        other = ServedHouse(folder, common, one.keys, **second)
        try:
            for number, house in enumerate((one, other)):
                for name in REPLICATED:
                    assert house.supervisor.addresses[name].endswith(f":{ports[name][number]}")
            yield RolledHouse(one, other)
        finally:
            other.stop()
            one.stop()


def peers(ports: dict[str, list[int]]) -> dict[str, str]:
    """The settings by which each service calls all replicas of the others in turn."""
    found = {}
    for caller, called in CALLS.items():
        for name in called:
            prefix = f"SDCGATE_{caller.upper()}__{name.upper()}__"
            addresses = ",".join(f"127.0.0.1:{port}" for port in ports[name])
            found |= {f"{prefix}ADDRESS": f"ipv4:{addresses}", f"{prefix}PLAINTEXT": "true"}
    return found
