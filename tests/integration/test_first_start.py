"""`sdcgate serve all` on an empty machine: a key for its operator, shown once, on the loopback only."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import psutil
import pytest

from sdcgate.cli.serve import _who_reaches_it
from sdcgate.cli.supervisor import SERVICES
from sdcgate.servers.settings import Settings

KEY = re.compile(r"sdcg_[0-9a-f]{16}_[A-Za-z0-9_-]{43}")
LAST = "All listen on the loopback only"


@contextmanager
def serving(state, output):
    """`sdcgate serve all` with its output going somewhere."""
    ports = {f"SDCGATE_{name.upper()}__{kind}": "0" for name in SERVICES for kind in ("PORT", "METRICS_PORT")}
    environment = {**os.environ, **ports, "SDCGATE_STATE_DIR": str(state), "SDCGATE_API_KEY": "my own key"}
    process = subprocess.Popen(
        [sys.executable, "-m", "sdcgate.cli", "serve", "all"],
        stdout=output,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def read_until(read, text):
    """What comes until a text and the line after it."""
    found, deadline = "", time.monotonic() + 120
    while not re.search(f"{text}.*\n(.*\n)?", found) and time.monotonic() < deadline:
        found += read().decode()
    return found


def shown_to_a_person(state):
    """What somebody at a terminal sees, and the process ids of the services meanwhile."""
    ours, theirs = pty.openpty()
    with serving(state, theirs) as process:
        text = read_until(lambda: os.read(ours, 4096), "makes others" if not state.exists() else LAST)
        children = psutil.Process(process.pid).children(recursive=True)
        environments = [child.environ() for child in children]
        listening = {
            one.laddr.ip for child in children for one in child.net_connections() if one.status == "LISTEN"
        }
        key = KEY.search(text)
        address = re.search(r"gateway +(http://\S+)", text)[1]
        status = key and httpx.get(
            f"{address}/v1/caller", headers={"Authorization": f"Bearer {key[0]}"}, timeout=10
        )
        nobody = httpx.get(f"{address}/v1/caller", timeout=10).status_code
    os.close(ours)
    os.close(theirs)
    return text, key, status, nobody, environments, listening


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    state = tmp_path_factory.mktemp("machine") / "state"
    return state, shown_to_a_person(state), shown_to_a_person(state)


def test_the_first_start_makes_an_operator_whose_key_works_and_is_shown_once(starts):
    state, (text, key, status, nobody, *_), (later, again, *_) = starts
    assert "shown this once" in text
    assert (status.status_code, status.json()["role"], nobody) == (200, "operator", 401)
    assert again is None
    assert "shown this once" not in later
    kept = [file for file in state.rglob("*") if file.is_file() and key[0].encode() in file.read_bytes()]
    assert kept == []


def test_everything_listens_on_the_loopback_only_and_says_so(starts):
    _, (text, *_, listening), _ = starts
    assert "All listen on the loopback only: nobody beyond this machine reaches them." in text
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_no_service_gets_the_key_of_who_started_it(starts):
    _, (*_, environments, _), _ = starts
    assert len(environments) >= len(SERVICES)
    assert not any("my own key" in environment.values() for environment in environments)


def test_where_the_output_may_be_a_log_the_key_goes_into_a_file_of_its_owner(tmp_path):
    state = tmp_path / "state"
    log = tmp_path / "log"
    with log.open("wb") as output, serving(state, output) as process:
        deadline = time.monotonic() + 120
        while "makes others" not in log.read_text() and time.monotonic() < deadline:
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
    assert KEY.search(log.read_text()) is None
    path = state / "keys" / "operator.key"
    assert KEY.fullmatch(path.read_text().strip())
    assert path.stat().st_mode & 0o777 == 0o600
    for file in (state / "log").iterdir():
        assert path.read_text().strip() not in file.read_text()


def test_hosts_beyond_the_loopback_are_named():
    settings = Settings(gateway={"host": "0.0.0.0", "plaintext": True}, risk={"metrics_host": "10.0.0.7"})
    assert _who_reaches_it(settings) == "Reached from beyond this machine: risk (10.0.0.7), gateway (0.0.0.0)"
