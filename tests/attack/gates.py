"""Whether a run of the attacks is as it has to be: whatever says no here ends it with 1."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LARGEST_FALSE_SHARE = 0.05
"""Of ordinary requests: those not answered as asked though an audit of their own calls it safe."""
FEWEST_AUDITED = 30
PROMISED = "in steps"
"""So begin the ways of waiting that must tell nothing; of answers that leave at once that is not promised."""
LEAST_POWER = 0.65
"""AUC that the stopwatch must reach on a publisher who is known to leak: by chance one time in 700."""


def failures(found: Mapping[str, Any]) -> list[str]:
    """All that is not as expected, a line each."""
    times, stream = found.get("waiting_times"), found.get("ordinary_stream")
    return [
        *_of_attacks(found["attacks"]),
        *([] if times is None else _of_times(times)),
        *([] if stream is None else _of_stream(stream)),
    ]


def _of_attacks(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["invalid"]:
            yield f"{row['attack']}: does not count: {row['invalid']}"
        elif row["sdcgate"] != bool(row["open"]):
            learns = "learns something" if row["sdcgate"] else "is closed, and said to be open"
            yield f"{row['attack']}: {learns}"
        if row.get("when_closed"):
            yield f"{row['attack']}: learns something under {row['closed_by']}"
        if not row["careless"]:
            yield f"{row['attack']}: does not even work on a careless publisher"


def _of_times(times: Mapping[str, Any]) -> Iterator[str]:
    for name, one in times.items():
        if name == "careless":
            area = max(one["area"], one["paired_area"])
            if area < LEAST_POWER:
                yield f"waiting times: the stopwatch finds a careless publisher out with AUC {area} only"
        elif one["invalid"]:
            yield f"waiting times, {name}: does not count: {one['invalid']}"
        elif one["succeeds"] and name.startswith(PROMISED):
            yield f"waiting times, {name}: AUC {one['area']}, {one['paired_area']} by pairs"


def _of_stream(stream: Mapping[str, Any]) -> Iterator[str]:
    share = stream["estimated_false_share_of_requests"]
    errors = {name: count for name, count in stream["verdicts"].items() if name == "ERROR"}
    if errors:
        yield f"ordinary stream: {errors['ERROR']} of {stream['requests']} requests ended in an error"
    if stream["of_these_audited"] < min(FEWEST_AUDITED, stream["not_answered_as_asked"]):
        yield f"ordinary stream: only {stream['of_these_audited']} of the held requests were audited"
    if not stream["requests"]:
        yield "ordinary stream: nothing was asked"
    if share >= LARGEST_FALSE_SHARE:
        yield f"ordinary stream: {share} of the requests were held though safe"
