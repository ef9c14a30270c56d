"""SUDA2 beside sdcMicro 5.8.1 on the same file of 8 keys; other records or another sum are an error."""

from keys_and_numbers import key_codes, make
from run import Result, median_ms, result
from sdcgate.methods.risk.special_uniques import Scaling, special_uniques

PEER = {
    10_000: (130, 9_968, 5_635_876),
    50_000: (750, 48_873, 9_393_324),
    100_000: (1650, 96_169, 11_395_396),
}
"""Milliseconds, records with a score, and the sum of the original scores."""


def suda() -> list[Result]:
    """All minimal sample uniques of 8 keys."""
    found = []
    for n, (peer, records, total) in PEER.items():
        codes = key_codes(make(n), 8)
        uniques = special_uniques(codes, scaling=Scaling.PATHS)
        if ((uniques.scores > 0).sum(), uniques.scores.sum()) != (records, total):
            raise AssertionError(
                f"{n} records: {(uniques.scores > 0).sum()} scored, sum {uniques.scores.sum()}"
            )
        ours = median_ms(lambda c=codes: special_uniques(c), runs=5)
        found.append(result("SUDA2, 8 keys", n, ours, peer, "sdcMicro 5.8.1, its stated time"))
    return found
