"""A ledger whose decisions followers tell to receivers, as in a facility, with short waits."""

import json
from itertools import count

from prometheus_client import CollectorRegistry

from sdcgate.ledger.events import DecisionEvent
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing
from sdcgate.servers.decision_log.following import followers
from sdcgate.servers.settings import Settings

SECRET_FIGURE = "8675309"
FAILURES = "sdcgate_decision_log_failures_total"


class ToldLedger:
    """A ledger in a folder with followers that the settings of a test want."""

    def __init__(self, folder):
        self.folder = folder
        self.key_ring = KeyRing.open(folder / "keys" / "ledger")
        self.ledger = self.opened()
        self.registry = CollectorRegistry()
        self.following = []
        self._numbers = count(1)

    def opened(self):
        return Ledger.open(
            f"sqlite:///{self.folder / 'ledger.sqlite'}", self.key_ring, self.folder / "heads.jsonl"
        )

    def decide(self, **changes):
        """Record a decision as the facility does; returns its sequence."""
        number = next(self._numbers)
        answer = {
            "query": f"q-{number}",
            "reasons": [{"code": "MINIMUM_UNITS", "message": "m", "suggestion": "s"}],
            "table": {"columns": {"units": [int(SECRET_FIGURE)]}},
        }
        usual = {
            "query_id": f"q-{number}",
            "source": "households",
            "dataset": "survey",
            "version": 1,
            "canonical": b"table %d" % number,
            "policy_name": "israel-cbs",
            "policy_hash": "sha256:12",
            "scope": "all-researchers",
            "researcher": "Anna Amsel",
            "project": "a project of Anna's",
            "verdict": "REFUSED",
            "request": b"what was asked",
            "answer": json.dumps(answer).encode(),
            "confidential": b"true cells",
            "author": "key-of-anna",
        }
        return self.ledger.append_decision(DecisionEvent(**{**usual, **changes}), None).sequence

    def follow(self, **section):
        """Followers with short waits."""
        usual = {"poll_seconds": 0.02, "longest_wait_seconds": 0.05, "batch_events": 3}
        settings = Settings(state_dir=self.folder / "state", decision_log={**usual, **section})
        self.registry = CollectorRegistry()
        self.following = [*followers(settings, self.ledger, self.registry)]
        return self.following

    def start(self, **section):
        for follower in self.follow(**section):
            follower.start()

    def stop(self):
        for follower in self.following:
            follower.stop()
        self.following = []

    def metric(self, name, **labels):
        return self.registry.get_sample_value(name, labels)
