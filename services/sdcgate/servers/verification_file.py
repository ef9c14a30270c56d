"""What the last verification found: written by `sdcgate ledger verify`, shown in the facility's metrics."""

import json
import time
from pathlib import Path

from sdcgate.ledger.records import VerificationReport


def keep_verification(path: Path, report: VerificationReport) -> None:
    """Keep what a verification found, for the metrics of the facility.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    found = {"verified_at": int(time.time()), "events": report.events, "faults": len(report.faults)}
    draft.write_text(json.dumps(found) + "\n", encoding="ascii")
    draft.replace(path)


def last_verification(path: Path) -> tuple[float, int, int] | None:
    """Moment (seconds since 1970), events and faults of the last verification; None where there was none."""
    try:
        found = json.loads(path.read_bytes())
        return float(found["verified_at"]), int(found["events"]), int(found["faults"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
