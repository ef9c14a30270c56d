"""Every attack on sdcgate and on ACRO: prints a table, writes results.json and renews docs/attacks.md.

    python tests/attack/run.py [--only WORD] [--trials 2000] [--fresh 400] [--stream 1000]
        [--without-acro] [--without-postgresql]

The house runs with its ledger on PostgreSQL and in two replicas, so that races are races.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("tests", "benchmarks")]
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from attack import gates, ordinary_stream, results, timing  # noqa: E402
from attack.acro_peer import Acro, AcroProcess, running_acro  # noqa: E402
from attack.claims import Attack  # noqa: E402
from attack.knowledge import Contradiction  # noqa: E402
from attack.publishers import Careless  # noqa: E402
from attack.served import Sdcgate  # noqa: E402
from attack.suite import ATTACKS, CLOSED_POLICY, Outcome, outcome, write_closed_policy  # noqa: E402
from peers import NoPeer, python_with  # noqa: E402
from postgresql_server import empty_database, running_server  # noqa: E402
from sdcgate.policy import loading  # noqa: E402
from served_house import ServedHouse  # noqa: E402

PAIRED = "Waiting times"
STEP_MS = 250
"""Steps of time under the paced policy: most answers come within one. Where steps are shorter than what
answers take, each boundary among these tells of a few milliseconds."""
LEAK, CARELESS_TRIALS = 0.02, 100
"""Seconds that a careless publisher takes for each withheld person: the stopwatch has to find him out."""


@contextmanager
def two_replicas(postgresql: bool) -> Iterator[tuple[ServedHouse, ServedHouse]]:
    """A house and a second one on the same state; without PostgreSQL the same house twice."""
    with ExitStack() as open_till_then:
        folder = Path(open_till_then.enter_context(tempfile.TemporaryDirectory()))
        policies = folder / "policies"
        policies.mkdir()
        (policies / f"{timing.POLICY}.yaml").write_text(paced())
        write_closed_policy(policies)
        settings: dict[str, Any] = {"policy_dir": policies}
        if postgresql:
            settings["ledger_url"] = empty_database(open_till_then.enter_context(running_server()))
        first = ServedHouse(folder, settings)
        open_till_then.callback(first.stop)
        second = first
        if postgresql:
            second = first.beside()
            open_till_then.callback(second.stop)
        yield first, second


def paced() -> str:
    """The bundled policy with answers at whole steps of time."""
    bundled = (Path(loading.__file__).parent / "bundled/israel-cbs.yaml").read_text()
    text = bundled.replace("name: israel-cbs", f"name: {timing.POLICY}", 1)
    return text.replace("maximum_cells: 100000}", f"maximum_cells: 100000, latency_step_ms: {STEP_MS}}}", 1)


def on_sdcgate(
    attack: Attack, number: int, houses: tuple[ServedHouse, ServedHouse], policy: str = ""
) -> Outcome:
    """Runs an attack on a dataset of its own."""
    world = attack.world()
    name = f"attack-{number}{policy and f'-{policy}'}"
    return outcome(attack, world, Sdcgate(world, houses[0], name, policy, houses[1]))


def on_acro(attack: Attack, acro: AcroProcess | None) -> bool | str:
    """Whether it succeeds on ACRO, or why it was not tried."""
    if attack.not_acro or acro is None:
        return attack.not_acro or results.NOT_RUN
    world = attack.world()
    try:
        return outcome(attack, world, Acro(world, acro)).success
    except Contradiction:
        # Nothing follows from what ACRO has published.
        return False


def waiting_times(
    houses: tuple[ServedHouse, ServedHouse], trials: int, fresh: int, note: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """The attack by stopwatch, with and without steps of time; each way has an order of files of its own.

    What was found so far is noted after each way, as one may take an hour.
    """
    worlds = timing.twins()
    fooled = Careless(worlds[0], work=LEAK), Careless(worlds[1], work=LEAK)
    careless = timing.stopwatch(lambda _: fooled, CARELESS_TRIALS).found()
    # He is found out or not; fewer trials than sdcgate's are enough for that.
    found: dict[str, Any] = {"careless": {name: careless[name] for name in careless if name != "invalid"}}

    def asked(policy: str, number: str) -> tuple[Sdcgate, Sdcgate]:
        names = (f"waiting-{policy or 'at-once'}-{number}-{place}" for place in (0, 1))
        first, second = (Sdcgate(w, houses[0], name, policy) for w, name in zip(worlds, names, strict=True))
        return first, second

    ways: dict[str, tuple[int, str, Callable[[int], tuple[Sdcgate, Sdcgate]]]] = {}
    for policy, said in (("", "at once"), (timing.POLICY, f"in steps of {STEP_MS} ms")):
        same = asked(policy, "again")
        ways[said] = (trials, policy, lambda _, same=same: same)
        never = partial(lambda policy, trial: asked(policy, str(trial)), policy)
        ways[f"{said}, never asked before"] = (fresh, policy, never)
    for place, (name, (count, policy, apis)) in enumerate(ways.items(), start=1):
        if count:
            times = timing.stopwatch(apis, count, timing.SEED + place)
            found[name] = times.found()
            if not policy:
                least = times.least_leak
                found[name]["least_leak_found_ms"] = least and round(1000 * least, 1)
            note(found)
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """The results for a person to read at a terminal."""
    lines = [f"{'attack':42} {'requests':>8} {'left':>10} {'required':>9}  {'careless':9} {'ACRO':9} sdcgate"]
    for row in rows:
        acro = results.SAID.get(row["acro"], "n/a")
        ours = results.SAID[row["sdcgate"]] + (f"   (open: {row['open']})" if row["open"] else "")
        ours += f"   INVALID: {row['invalid']}" if row["invalid"] else ""
        careless = results.SAID[row["careless"]]
        widths = f"{results.left(row):>10} {results.required(row):>9}"
        lines.append(f"{row['attack']:42} {row['requests']:8} {widths}  {careless:9} {acro:9} {ours}")
    return "\n".join(lines)


def attacked(
    only: str, houses: tuple[ServedHouse, ServedHouse], acro: AcroProcess | None
) -> list[dict[str, Any]]:
    """A row for each attack."""
    rows = []
    for number, attack in enumerate(ATTACKS):
        if only.lower() not in attack.name.lower():
            continue
        world = attack.world()
        careless = outcome(attack, world, attack.careless(world))
        ours = on_sdcgate(attack, number, houses)
        rows.append(
            {
                "attack": attack.name,
                "family": attack.family,
                "tries": attack.tries,
                "careless": careless.success,
                "acro": on_acro(attack, acro),
                "sdcgate": ours.success,
                "invalid": ours.invalid,
                "requests": ours.requests,
                "left": ours.claim.width if math.isfinite(ours.claim.width) else None,
                "right": ours.right,
                "required": attack.required(world),
                "exception": attack.exception,
                "open": attack.open,
                "closed_by": attack.closed_by,
            }
        )
        if attack.closed_by:
            closed = on_sdcgate(attack, number, houses, CLOSED_POLICY)
            rows[-1]["when_closed"] = closed.success
            rows[-1]["invalid"] = ours.invalid or closed.invalid
        print(table(rows[-1:]).splitlines()[1], f"[{ours.seconds:.1f} s]", flush=True)
    return rows


def main() -> int:
    """Run, print and write; 1 if anything is not as it has to be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="attacks whose name has this word")
    parser.add_argument("--trials", type=int, default=2000, help="paired trials of waiting times; 0 for none")
    parser.add_argument(
        "--fresh", type=int, default=400, help="those of files never asked; each registers two"
    )
    parser.add_argument("--stream", type=int, default=1000, help="ordinary requests; 0 for none")
    parser.add_argument("--stream-seconds", type=float, default=900.0, help="ends the stream early")
    parser.add_argument("--without-acro", action="store_true")
    parser.add_argument("--without-postgresql", action="store_true")
    asked = parser.parse_args()
    began = time.time()
    with ExitStack() as running:
        acro = None
        if not asked.without_acro:
            try:
                acro = running.enter_context(running_acro(python_with("acro", "acro==1.0.2")))
            except NoPeer as error:
                print(error)
        houses = running.enter_context(two_replicas(not asked.without_postgresql))
        rows = attacked(asked.only, houses, acro)
        found: dict[str, Any] = {"made": datetime.now(UTC).date().isoformat(), "attacks": rows}
        if asked.trials:
            found["waiting_times"] = waiting_times(
                houses,
                asked.trials,
                asked.fresh,
                lambda so_far: results.store(found | {"waiting_times": so_far}),
            )
            print(json.dumps({PAIRED: found["waiting_times"]}, indent=1))
        if asked.stream:
            found["ordinary_stream"] = ordinary_stream.measured(houses[0], asked.stream, asked.stream_seconds)
            print(json.dumps(found["ordinary_stream"], indent=1))
    learnt = [row["attack"] for row in rows if row["sdcgate"]]
    failures = gates.failures(found)
    print("\n" + table(rows))
    print(f"{len(rows)} attacks, {len(learnt)} learn something, {time.time() - began:.0f} s")
    results.store(found)
    for failure in failures:
        print(f"not as expected: {failure}")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
