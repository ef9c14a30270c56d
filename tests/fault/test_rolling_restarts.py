"""Replicas are replaced one after the other while people ask: every request is answered, and decided once."""

import threading
import time
from collections import Counter

import httpx
import pytest

from after_a_storm import whole
from clients_under_load import Asked, Clients
from rolled_house import REPLICATED, RolledHouse, rolled_house
from served_house import ServedHouse
from trials import seed, trials
from truthful_house import TruthfulHouses

ROLLS = 10
CHECK = {
    "dimensions": [{"variable": "region", "codes": ["1", "2"]}],
    "facts": {"units": [3, 50]},
    "rules": {"minimum_units": {"units": 10, "consequence": "PROTECT"}},
}
ASKED = {"/v1/status": None, "/v1/datasets": None, "/v1/queries": None, "/v1/risk:assessTable": CHECK}


class Bystander:
    """Asks again and again what is not a query: lists, the status, checks; notes how it was answered."""

    def __init__(self, house: ServedHouse) -> None:
        self._house = house
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.answered: Counter[tuple[str, int]] = Counter()

    def __enter__(self) -> "Bystander":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(120)

    def _ask(self) -> None:
        with httpx.Client(base_url=self._house.supervisor.url, timeout=60) as http:
            headers = {"Authorization": f"Bearer {self._house.keys['ada']}"}
            while not self._stop.wait(0.02):
                for path, body in ASKED.items():
                    method = "GET" if body is None else "POST"
                    try:
                        response = http.request(method, path, json=body, headers=headers)
                        self.answered[path, response.status_code] += 1
                    except httpx.TransportError as error:
                        self.answered[f"{path}: {error!r}", 0] += 1


def said(asked: Asked) -> tuple[str, int, str]:
    """What came in place of an answer."""
    detail = "" if asked.response is None else asked.response.json()["detail"]
    return asked.error, asked.status, detail


def rolled(house: RolledHouse, rolls: int, clients: Clients) -> float:
    """Seconds that so many rolls took."""
    began = time.monotonic()
    for _ in range(rolls):
        for _ in house.roll():
            clients.wait_for_answers(2)
    return time.monotonic() - began


@pytest.mark.long
@pytest.mark.parametrize("rolls", [1, ROLLS])
def test_a_rolling_restart_answers_every_request_and_decides_each_query_once(rolls, tmp_path, tell):
    rolls, people = (trials(rolls), 4) if rolls == ROLLS else (rolls, 2)
    truthful = TruthfulHouses(tmp_path / "truth")
    with rolled_house(tmp_path / "our house") as house:
        with Clients(house.first, seed(rolls), people) as clients, Bystander(house.first) as bystander:
            seconds = rolled(house, rolls, clients)
        unanswered = [asked for asked in clients.asked if not asked.is_answer]
        assert Counter(said(asked) for asked in unanswered) == {}
        assert set(bystander.answered) == {(path, 200) for path in ASKED}
        checked = whole(house.first, clients, truthful)
    assert checked["events nobody fetched"] == 0
    truthful.engine.close()
    tell(
        "SIGTERM of each replica in turn under load",
        rolls * 2 * len(REPLICATED),
        **checked,
        other_requests=bystander.answered.total(),
        seconds_each_roll=round(seconds / rolls),
    )
