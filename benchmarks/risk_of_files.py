"""Risks of whole files beside sdcMicro 5.8.1, whose times and check sums are those of the very same file.

R is not needed: the peer's seconds were taken once, on two shared cores, reading excluded; ours include it
where the name says so. A check sum that differs is an error.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from keys_and_numbers import key_codes, make, write
from run import Result, median_ms, medians_ms, result, timed_ms
from sdcgate.methods.risk.file_level import file_risk, threshold_for_rate
from sdcgate.methods.risk.household import hierarchical_file_risk, household_risk
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.individual_approximations import Approximation, approximate_individual_risk
from sdcgate.methods.risk.keys import Keys, Missing, frequencies, group_keys, weight_sums
from sdcgate.methods.risk.threshold import combinations_up_to, threshold_rule

MILLION = 1_000_000
PEER = "sdcMicro 5.8.1, its stated time"
KEYS = tuple(f"k{number}" for number in range(1, 8))


def risk_of_files() -> list[Result]:
    """Individual, household and file-level risk, wildcards, the threshold rule."""
    return [*_from_file(), _memory(), *_wildcards(), *_households(), *_combinations()]


def _from_file() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        write(MILLION, path)
        codes, weights = read(path)
        keys, probabilities = _grouped(codes, weights)
        _check("sample uniques", int((keys.counts == 1).sum()), 140_332)
        approximate = approximate_individual_risk(keys.counts, probabilities, Approximation.SDCMICRO)
        _check("expected re-identifications", keys.counts @ approximate, 25647.258)
        whole = median_ms(lambda: _risks(*read(path)))
        computed = median_ms(lambda: _risks(codes, weights))
        risks = individual_risk(keys.counts, probabilities)
        file_level = median_ms(
            lambda: (file_risk(keys.counts, risks), threshold_for_rate(risks, keys.counts, 0.01))
        )
    return [
        result("risks of 7 keys, Parquet file to records", MILLION, whole, 1460, PEER + " without reading"),
        result("risks of 7 keys, arrays to records", MILLION, computed, 1460, PEER),
        result(
            "file-level risk and threshold", MILLION, file_level, 1460, "beside the peer's risks of 7 keys"
        ),
    ]


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Codes, shape (records, keys), and weights of a file."""
    table = pq.read_table(path, columns=[*KEYS, "w"])
    codes = np.empty((len(table), len(KEYS)), dtype=np.int32, order="F")
    for place, key in enumerate(KEYS):
        codes[:, place] = pc.dictionary_encode(table[key].combine_chunks()).indices.to_numpy()
    return codes, table["w"].to_numpy()


def _grouped(codes: np.ndarray, weights: np.ndarray) -> tuple[Keys, np.ndarray]:
    keys = group_keys(codes)
    return keys, sampling_probabilities(keys.counts, weight_sums(keys, weights))


def _risks(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    keys, probabilities = _grouped(codes, weights)
    return individual_risk(keys.counts, probabilities)[keys.group]


def _memory() -> Result:
    """What the risks of 7 keys take beside the codes, measured in a process of its own."""
    people = make(MILLION)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "codes.npy", key_codes(people, 7))
        np.save(Path(folder) / "weights.npy", people["w"])
        said = subprocess.run([sys.executable, __file__, folder], capture_output=True, text=True, check=True)
    peak, columns = (float(number) for number in said.stdout.split())
    note = "theirs: 4 times the key columns of 64 bits"
    return result("memory of the risks of 7 keys", MILLION, peak, 4 * columns, note, unit="MB")


def measure_memory(folder: Path) -> None:
    """Print the peak of memory above what the codes and weights take, and what the codes take, in MB."""
    codes, weights = np.load(folder / "codes.npy"), np.load(folder / "weights.npy")
    _risks(codes[:1000], weights[:1000])
    before = peak_kb()
    _risks(codes, weights)
    print((peak_kb() - before) / 1024, codes.nbytes / 2**20)


def peak_kb() -> float:
    """The largest memory of this process so far; getrusage would count that of its parent at the fork."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _wildcards() -> list[Result]:
    found = []
    for n, peer in ((10_000, 710), (100_000, 9500)):
        people = make(n)
        codes, rng = key_codes(people, 7), np.random.default_rng(7)
        gaps = rng.random(n) < 0.07
        codes[gaps, rng.integers(0, 7, gaps.sum())] = -1
        ours = median_ms(lambda c=codes, w=people["w"]: frequencies(c, w, Missing.WILDCARD))
        found.append(result("7% of records with a missing key, as wildcards", n, ours, peer, PEER))
    return [*found, *_rare_patterns()]


def _rare_patterns() -> list[Result]:
    """Every record misses other keys: theirs is a comparison of each record with each, some of them timed."""
    found = []
    for n, keys, share in ((100_000, 7, 0.5), (20_000, 200, 0.9)):
        rng = np.random.default_rng(7)
        codes = key_codes(make(n), 7) if keys == 7 else rng.integers(0, 3, (n, keys))
        codes[rng.random(codes.shape) < share] = -1
        codes, some = np.asfortranarray(codes), rng.integers(0, n, 20)

        def each(codes: np.ndarray = codes, some: np.ndarray = some) -> list[int]:
            return [
                int(np.all((codes == one) | (codes < 0) | (one < 0), axis=1).sum()) for one in codes[some]
            ]

        if frequencies(codes, None, Missing.WILDCARD).f[some].tolist() != each():
            raise RuntimeError("wildcards differ from comparing each record with each")
        ours, theirs = medians_ms(
            lambda c=codes: timed_ms(lambda: frequencies(c, None, Missing.WILDCARD)),
            lambda e=each: timed_ms(e),
            runs=5,
        )
        note = "each record with each by NumPy, by the time of 20"
        name = f"{share:.0%} of {keys} keys missing, as wildcards"
        found.append(result(name, n, ours, theirs * n / len(some), note))
    return found


def _households() -> list[Result]:
    people = make(100_000)
    codes = key_codes(people, 7)
    keys, probabilities = _grouped(codes, people["w"])
    approximate = approximate_individual_risk(keys.counts, probabilities, Approximation.SDCMICRO)
    _check("expected re-identifications", keys.counts @ approximate, 7263.3381)
    households = hierarchical_file_risk(household_risk(approximate[keys.group], people["hid"]))
    _check("household re-identifications", households.expected_matches, 19779.668)
    found = []
    for n in (100_000, MILLION):
        people = make(n)
        risks = _risks(key_codes(people, 7), people["w"])
        ours = median_ms(lambda r=risks, h=people["hid"]: hierarchical_file_risk(household_risk(r, h)))
        found.append(
            result("household risk on top", n, ours, 880 * n / 100_000, PEER + " at 100,000, n-fold")
        )
    return found


def _combinations() -> list[Result]:
    rule = combinations_up_to(7, [51, 26, 11])
    _check("unsafe cells", threshold_rule(key_codes(make(100_000), 7), rule).unsafe_cells, 3630)
    found = []
    for n in (100_000, MILLION):
        codes = key_codes(make(n), 7)
        ours = median_ms(lambda c=codes: threshold_rule(c, rule))
        found.append(
            result(
                "threshold rule, 63 combinations", n, ours, 190 * n / 100_000, PEER + " at 100,000, n-fold"
            )
        )
    return found


def _check(name: str, ours: float, theirs: float) -> None:
    if abs(ours - theirs) > 1e-7 * theirs:
        raise RuntimeError(f"{name}: {ours} where sdcMicro has {theirs}")


if __name__ == "__main__":
    measure_memory(Path(sys.argv[1]))
