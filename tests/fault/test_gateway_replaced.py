"""The gateway is replaced while people ask: no request is lost, over new connections and over kept ones."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rolled_house import DRAIN, PATIENCE
from sdcgate.servers.listening import listening_socket
from sdcgate.servers.settings import GatewayServer
from served_house import ServedHouse, table_body
from standing_still import standing_still
from trials import trials

LAUNCH = 'exec 3<&"$0"; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
TAKING = """
import sys
from sdcgate.servers.listening import listening_socket
from sdcgate.servers.settings import GatewayServer
listening_socket(GatewayServer(port=int(sys.argv[1])))
"""


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket that outlives the gateways, as systemd keeps one."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as made:
        made.set_inheritable(True)
        yield made


class Gateways:
    """Gateways of a house, one after the other, on a socket that is handed to them."""

    def __init__(self, house: ServedHouse, listening: socket.socket, folder: Path) -> None:
        self._house, self._listening, self._folder = house, listening, folder
        self.running: list[subprocess.Popen[bytes]] = []
        self._number = 0

    def start(self, drain: float = DRAIN) -> None:
        """One more, until it takes calls."""
        self._number += 1
        ready = self._folder / f"gateway-{self._number}.json"
        environment = self._house.supervisor._environment | {
            "SDCGATE_GATEWAY__PORT": str(self._listening.getsockname()[1]),
            "SDCGATE_GATEWAY__METRICS_PORT": "0",
            "SDCGATE_GATEWAY__READY_FILE": str(ready),
            "SDCGATE_GATEWAY__DRAIN_SECONDS": str(drain),
        }
        handed = self._listening.fileno()
        command = [sys.executable, "-m", "sdcgate.cli", "serve", "gateway"]
        process = subprocess.Popen(
            ["bash", "-c", LAUNCH, str(handed), *command],
            env=environment, pass_fds=(handed,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.running.append(process)
        until = time.monotonic() + PATIENCE
        while not (ready.exists() and self._takes_calls(json.loads(ready.read_text())["metrics"])):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)

    def stop_oldest(self) -> None:
        """SIGTERM, and its end."""
        process = self.running.pop(0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0

    def _takes_calls(self, metrics: str) -> bool:
        try:
            return httpx.get(f"http://{metrics}/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False


class People:
    """Ask again and again, some over kept connections and some over a new one each time."""

    def __init__(self, url: str, house: ServedHouse, kept: int, new: int) -> None:
        self._url, self._house = url, house
        self._stop = threading.Event()
        keep = [number < kept for number in range(kept + new)]
        self._threads = [threading.Thread(target=self._ask, args=(one,)) for one in keep]
        self.answered: Counter[str] = Counter()

    def __enter__(self) -> "People":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def wait_for_answers(self, more: int = 20) -> None:
        until, wanted = time.monotonic() + PATIENCE, self.answered.total() + more
        while self.answered.total() < wanted:
            assert time.monotonic() < until
            time.sleep(0.02)

    def _ask(self, keep: bool) -> None:
        headers = {"Authorization": f"Bearer {self._house.keys['ada']}"}
        headers |= {} if keep else {"Connection": "close"}
        table = table_body(rows=["site"])
        with httpx.Client(base_url=self._url, headers=headers, timeout=60) as http:
            while not self._stop.wait(0.005):
                for method, path, body in (
                    ("GET", "/v1/status", None),
                    ("POST", "/v1/datasets/randhie/tables", table),
                ):
                    try:
                        self.answered[str(http.request(method, path, json=body).status_code)] += 1
                    except httpx.TransportError as error:
                        self.answered[repr(error)] += 1


@pytest.mark.parametrize("rolls", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_gateway_that_is_replaced_loses_no_request(rolls, listening, tmp_path, tell):
    house = ServedHouse(tmp_path / "house")
    gateways = Gateways(house, listening, tmp_path)
    number = trials(rolls)
    try:
        assert house.register_randhie().status_code == 201
        assert house.ask(rows=["site"]).status_code == 201
        gateways.start()
        port = listening.getsockname()[1]
        with People(f"http://127.0.0.1:{port}", house, kept=2, new=2) as people:
            for _ in range(number):
                # One beside the other, then the first one goes.
                people.wait_for_answers()
                gateways.start()
                people.wait_for_answers()
                gateways.stop_oldest()
            people.wait_for_answers()
            # Restarted: while there is none, requests wait.
            gateways.stop_oldest()
            gateways.start()
            people.wait_for_answers()
        assert set(people.answered) == {"200"}, people.answered
    finally:
        for process in gateways.running:
            process.kill()
            process.wait()
        house.stop()
    tell("SIGTERM of the gateway under load", number + 1, requests=people.answered.total(), lost=0)


def test_who_has_a_connection_is_answered_and_told_that_it_ends(listening, tmp_path):
    house = ServedHouse(tmp_path / "house")
    gateways = Gateways(house, listening, tmp_path)
    try:
        gateways.start()
        connection = http.client.HTTPConnection(*listening.getsockname(), timeout=PATIENCE)

        def told() -> str | None:
            connection.request("GET", "/v1/status", headers={"Authorization": f"Bearer {house.keys['ada']}"})
            response = connection.getresponse()
            assert (response.status, bool(response.read())) == (200, True)
            return response.getheader("connection")

        assert told() is None
        gateways.running[0].send_signal(signal.SIGTERM)
        # Idle when the signal comes: its next request is on its way.
        time.sleep(0.3)
        until = time.monotonic() + PATIENCE
        while told() != "close":
            assert time.monotonic() < until
            time.sleep(0.05)
        assert gateways.running[0].wait(PATIENCE) == 0
    finally:
        for process in gateways.running:
            process.kill()
            process.wait()
        house.stop()


def test_who_asks_for_more_than_the_drain_leaves_time_for_is_told_to_try_again(listening, tmp_path):
    house = ServedHouse(tmp_path / "house")
    gateways = Gateways(house, listening, tmp_path)
    key = {"Authorization": f"Bearer {house.keys['ada']}", "X-Request-Id": "long-one"}
    try:
        gateways.start(drain=1)
        connection = http.client.HTTPConnection(*listening.getsockname(), timeout=PATIENCE)
        with standing_still(house, "facility"):
            connection.request("GET", "/v1/status", headers=key)
            time.sleep(0.5)
            gateways.stop_oldest()
            response = connection.getresponse()
        assert (response.status, response.getheader("retry-after")) == (503, "1")
        assert response.getheader("content-type") == "application/problem+json"
        problem = json.loads(response.read())
        assert problem["request"] == "long-one"
        assert "being replaced" in problem["detail"]
    finally:
        for process in gateways.running:
            process.kill()
            process.wait()
        house.stop()


@pytest.mark.parametrize(
    ("above", "sockets", "told"),
    [(1, 1, "SDCGATE_GATEWAY__PORT say"), (0, 2, "one socket must be handed over, not 2")],
)
def test_a_socket_elsewhere_than_the_settings_say_is_not_taken(listening, above, sockets, told):
    """In a process of its own: descriptor 3 of the one that runs the tests is somebody else's."""
    handed, port = listening.fileno(), listening.getsockname()[1]
    launch = LAUNCH.replace("LISTEN_FDS=1", f"LISTEN_FDS={sockets}")
    asked = port + above if port < 65535 else 1
    ended = subprocess.run(
        ["bash", "-c", launch, str(handed), sys.executable, "-c", TAKING, str(asked)],
        pass_fds=(handed,), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("ValueError: ")
    assert told in ended.stderr.splitlines()[-1]


def test_what_is_handed_to_another_process_is_left_alone(monkeypatch):
    monkeypatch.setenv("LISTEN_PID", "1")
    monkeypatch.setenv("LISTEN_FDS", "1")
    with listening_socket(GatewayServer(port=0)) as made:
        assert made.getsockname()[0] == "127.0.0.1"


def test_nobody_else_can_have_the_port_while_the_gateway_starts():
    with listening_socket(GatewayServer(port=0)) as made, socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="Address already in use"):
            other.bind(made.getsockname())
