import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sdcgate.cli.supervisor import SERVICES, ServiceFailed, Supervisor, free_port
from sdcgate.servers.settings import Settings

SERVICE = textwrap.dedent(
    """
    import http.server, json, os, pathlib, signal, sys, time
    from sdcgate.cli.parent import die_with

    class Probes(http.server.BaseHTTPRequestHandler):
        asked = 0

        def do_GET(self):
            Probes.asked += 1
            self.send_response(200 if self.path == "/readyz" and Probes.asked > 2 else 503)
            self.end_headers()

        def log_message(self, *_): ...

    name, parent, behaviour = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    die_with(parent)
    if behaviour == "fails" and name == "facility":
        print('{"event": "the ledger is locked"}', file=sys.stderr)
        sys.exit(3)
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    run = pathlib.Path(os.environ["SDCGATE_STATE_DIR"]) / "run"
    run.mkdir(exist_ok=True)
    port, metrics = (os.environ[f"SDCGATE_{name.upper()}__{kind}"] for kind in ("PORT", "METRICS_PORT"))
    listening = {"address": f"127.0.0.1:{port}", "metrics": f"127.0.0.1:{metrics}"}
    probes = http.server.HTTPServer(("127.0.0.1", int(metrics)), Probes)
    (run / f"{name}.draft").write_text(json.dumps(listening))
    (run / f"{name}.draft").rename(run / f"{name}.json")
    for _ in range(3):
        probes.handle_request()
    if behaviour == "short-lived" and name == "risk":
        sys.exit(4)
    probes.timeout = 60
    probes.handle_request()
    """
)


def house(folder: Path, behaviour: str = "works", drain: float = 1.0) -> Supervisor:
    section = {"port": 0, "metrics_port": 0, "drain_seconds": drain}
    settings = Settings(state_dir=folder, **dict.fromkeys(SERVICES, section))
    return Supervisor(
        settings,
        ready_seconds=20,
        command=lambda name: [sys.executable, "-c", SERVICE, name, str(os.getpid()), behaviour],
    )


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_all_four_start_in_a_folder_with_a_space_and_none_is_left(tmp_path: Path) -> None:
    with house(tmp_path / "our house") as supervisor:
        assert tuple(supervisor.addresses) == SERVICES
        assert supervisor.url.startswith("http://127.0.0.1:")
        processes = list(supervisor.processes.values())
        assert all(map(is_running, processes))
    assert not any(map(is_running, processes))


def test_the_services_know_each_other_s_ports(tmp_path: Path) -> None:
    with house(tmp_path) as supervisor:
        ports = {address.rpartition(":")[2] for address in supervisor.addresses.values()}
    assert len(ports) == 4
    assert "0" not in ports


def test_a_service_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdcgate.cli.supervisor.KILL_AFTER_DRAIN_SECONDS", 0.2)
    with house(tmp_path, "stubborn", drain=0) as supervisor:
        processes = list(supervisor.processes.values())
    assert not any(map(is_running, processes))


def test_a_service_that_fails_stops_the_others_and_shows_the_end_of_its_log(tmp_path: Path) -> None:
    supervisor = house(tmp_path, "fails")
    with pytest.raises(ServiceFailed, match=r"facility ended with code 3") as caught, supervisor:
        pytest.fail("it started")
    assert "the ledger is locked" in str(caught.value)
    assert supervisor.processes == {}


def test_a_service_that_ends_by_itself_is_noticed(tmp_path: Path) -> None:
    with (
        pytest.raises(ServiceFailed, match="risk ended with code 4"),
        house(tmp_path, "short-lived") as supervisor,
    ):
        supervisor.watch(threading.Event())


def test_a_ready_file_that_vanishes_between_two_looks_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = house(tmp_path)
    monkeypatch.setattr(Path, "exists", lambda *_, **__: True)
    try:
        supervisor.start()
        assert set(supervisor.addresses) == set(SERVICES)
    finally:
        supervisor.stop()


def test_starting_is_given_up_when_asked_to_stop(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    supervisor = house(tmp_path)
    supervisor._stop = stop
    with pytest.raises(KeyboardInterrupt), supervisor:
        pytest.fail("it started")
    assert supervisor.processes == {}


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_a_killed_supervisor_leaves_no_service_behind(tmp_path: Path) -> None:
    script = tmp_path / "house.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import json, pathlib, runpy, sys, time
            module = runpy.run_path({str(Path(__file__))!r})
            supervisor = module["house"](pathlib.Path({str(tmp_path / "state")!r}))
            supervisor.start()
            print(json.dumps(dict(supervisor.processes)), flush=True)
            time.sleep(60)
            """
        )
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        processes = json.loads(parent.stdout.readline()).values()
        assert all(map(is_running, processes))
        parent.send_signal(signal.SIGKILL)
    assert eventually(lambda: not any(map(is_running, processes)))


def test_a_wanted_port_is_taken_if_it_is_free_and_replaced_if_not() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        busy = listening.getsockname()[1]
        taken: set[int] = set()
        other = free_port("127.0.0.1", busy, taken)
        assert other != busy
        assert taken == {other}
    assert free_port("127.0.0.1", busy, taken) == busy
    assert free_port("127.0.0.1", busy, taken) != busy


def test_a_port_that_another_service_is_to_have_is_not_given_again() -> None:
    spoken_for = set(range(0, 65536, 3))
    found = [free_port("127.0.0.1", 0, spoken_for) for _ in range(40)]
    assert all(port % 3 for port in found)
    assert len(set(found)) == 40


def test_a_port_that_a_connection_could_take_before_the_service_does_is_not_given() -> None:
    first_of_connections, _ = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert max(free_port("127.0.0.1", 0, set()) for _ in range(40)) < first_of_connections
