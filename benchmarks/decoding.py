"""A table of 100,000 cells from the wire into arrays: CPU time of our columns, and of the same as JSON."""

import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from run import Result, result
from sdcgate.methods.cells import Facts, MeasureFacts
from sdcgate.wire.tables import facts_from_message, facts_to_message
from sdcgate_proto.sdcgate.types.v1 import table_pb2

CELLS = 100_000
CPU = "ms of CPU"
RUNS = 15


def decoding() -> list[Result]:
    """Counts alone, and with weights and one measure."""
    rng = np.random.default_rng(20261121)
    units = rng.integers(1, 5_000, CELLS)
    records, weights = 2 * units, units * 25.0
    sums = units * 1_234.5
    measure = MeasureFacts("income", sums, records, units, sums[:, None] * [0.2, 0.1], sums, sums, sums)
    columns = {
        "units and records": Facts(units, records),
        "counts, weights and a measure": Facts(
            units, records, weight_sums=weights, unit_weight_sums=weights, measures=(measure,)
        ),
    }
    return [_compared(name, facts) for name, facts in columns.items()]


def _compared(name: str, facts: Facts) -> Result:
    message = facts_to_message(facts)
    sent = message.SerializeToString()
    messages = [message, *message.measures]
    fields = [values for one in messages for _, values in one.ListFields() if hasattr(values, "__array__")]
    columns = [list(values) for values in fields]
    spelt = json.dumps(columns)
    ours = _cpu_ms(lambda: facts_from_message(table_pb2.CellFacts.FromString(sent), CELLS))
    theirs = _cpu_ms(lambda: [np.array(column) for column in json.loads(spelt)])
    note = f"json.loads and numpy; aim 1 ms; {len(columns)} columns, checked"
    return result(f"decode {name}", CELLS, ours, theirs, note, CPU)


def _cpu_ms(call: Callable[[], object]) -> float:
    """Median CPU time of a call in milliseconds."""
    times = []
    for _ in range(RUNS):
        began = time.process_time()
        call()
        times.append((time.process_time() - began) * 1000)
    return statistics.median(times)
