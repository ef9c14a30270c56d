"""Swapping beside sdcMicro 5.8.1, whose times are of the same people; with which parameters is not known.

R is not needed: the peer's seconds were taken once, on two shared cores. Ours are CPU time, with the report.
"""

import time
from collections.abc import Callable

import numpy as np

from keys_and_numbers import key_codes, make
from run import Result, result
from sdcgate.methods.microdata.rank_swapping import rank_swap
from sdcgate.methods.microdata.rank_swapping_loss import rank_swapping_loss
from sdcgate.methods.microdata.swapping import PlacedRecords, swap_households
from sdcgate.methods.microdata.swapping_loss import check_invariants, swapping_loss

PEER = "sdcMicro 5.8.1, its stated time"


def swapping() -> list[Result]:
    """Households swapped between regions by two profiles, and five numbers by rank."""
    found = []
    for n in (100_000, 1_000_000):
        columns = make(n)
        keys = key_codes(columns, 8)
        records = PlacedRecords(
            households=np.unique(columns["hid"], return_inverse=True)[1].astype(np.int64),
            areas=keys[:, [6]],
            risk=keys[:, [0, 1, 5]],
            similar=(keys[:, :2], keys[:, :0]),
        )
        tables = [keys[:, [place]] for place in (0, 1, 5)]
        numbers = np.random.default_rng(1).normal(size=(5, n))

        def households(
            records: PlacedRecords = records, tables: list[np.ndarray] = tables, n: int = n
        ) -> None:
            swapped = swap_households(records, np.random.default_rng(n), 0.05, 3)
            check_invariants(records, swapped, records.similar[1])
            swapping_loss(records, swapped, tables)

        def ranks(numbers: np.ndarray = numbers) -> None:
            random = np.random.default_rng(2)
            rank_swapping_loss(numbers, [rank_swap(one, 0.05, random) for one in numbers])

        theirs = n / 100_000
        note = PEER if n == 100_000 else f"{PEER} at 100,000, n-fold"
        for name, call, peer in (
            ("record swapping, with its report", households, 360),
            ("rank swapping of 5 numbers, p = 5%", ranks, 380),
        ):
            found.append(result(name, n, cpu_ms(call), peer * theirs, note, unit="ms of CPU"))
    return found


def cpu_ms(call: Callable[[], None], runs: int = 3) -> float:
    """The least CPU time of a call in milliseconds: others at work beside can only add to it."""
    spent = []
    for _ in range(runs):
        began = time.process_time()
        call()
        spent.append((time.process_time() - began) * 1000)
    return min(spent)
