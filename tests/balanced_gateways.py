"""Gateways of one house behind one address, as a Service of Kubernetes has them, and what replaces them."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from rolled_house import DRAIN, PATIENCE
from sdcgate.cli.supervisor import free_port
from served_house import ServedHouse

OUT_OF_THE_LISTS = 0.5
"""Seconds without new connections before a gateway is told to stop: `preStopSeconds` of the chart."""
_PIECE = 1 << 16


class Balancer:
    """A TCP proxy: each connection goes to the next port of its list. It knows nothing of HTTP.

    A request that comes over a kept connection goes where the connection went, also when that port is not
    in the list any more.
    """

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.taken: Counter[int] = Counter()
        """Connections that each port took."""
        self._next = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        starting = asyncio.start_server(self._carry, "127.0.0.1", 0, backlog=512)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(PATIENCE)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until both sides have said all."""
        self._next += 1
        port = self.ports[self._next % len(self.ports)]
        try:
            # A port that refuses costs the caller the connection, as it does on Kubernetes.
            answers, asks = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        self.taken[port] += 1
        await asyncio.gather(_pump(reader, asks), _pump(answers, writer))
        for one in (asks, writer):
            one.close()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await source.read(_PIECE):
            target.write(piece)
            await target.drain()
    with suppress(OSError):
        target.write_eof()


class BalancedGateways:
    """Two gateways of a house behind a balancer."""

    def __init__(self, house: ServedHouse, folder: Path) -> None:
        self._house, self._folder, self._number = house, folder, 0
        taken: set[int] = set()
        self._ports = [free_port("127.0.0.1", 0, taken) for _ in range(2)]
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self.balancer = Balancer()

    def start(self) -> None:
        """Both, and the house is called through the balancer from now on."""
        for port in self._ports:
            self._start(port)
        self._house.supervisor.addresses["gateway"] = self.balancer.url

    def roll(self) -> Iterator[int]:
        """Replace both, one after the other; says which port after each."""
        for port in self._ports:
            self.balancer.ports.remove(port)
            time.sleep(OUT_OF_THE_LISTS)
            process = self._running.pop(port)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            self._start(port)
            yield port

    def _start(self, port: int) -> None:
        """A gateway that is in the list once it takes calls."""
        self._number += 1
        ready = self._folder / f"balanced-{self._number}.json"
        environment = self._house.supervisor._environment | {
            "SDCGATE_GATEWAY__PORT": str(port),
            "SDCGATE_GATEWAY__METRICS_PORT": "0",
            "SDCGATE_GATEWAY__READY_FILE": str(ready),
            "SDCGATE_GATEWAY__DRAIN_SECONDS": str(DRAIN),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "sdcgate.cli", "serve", "gateway"],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._running[port] = process
        until = time.monotonic() + PATIENCE
        while not (ready.exists() and _takes_calls(json.loads(ready.read_text())["metrics"])):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        self.balancer.ports.append(port)

    def stop(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()
        self.balancer.stop()


def _takes_calls(metrics: str) -> bool:
    try:
        return httpx.get(f"http://{metrics}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def balanced_gateways(folder: Path) -> Iterator[tuple[ServedHouse, BalancedGateways]]:
    """A house that is called through two gateways; its own one is for registering datasets."""
    house = ServedHouse(folder / "house")
    gateways = BalancedGateways(house, folder)
    try:
        gateways.start()
        yield house, gateways
    finally:
        gateways.stop()
        house.stop()
