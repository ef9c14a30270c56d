"""Weights below 1, and keys with more units in the file than their weights let the population have."""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

ROUNDING = 1e-9
"""Weights of a census that are 1 but for their rounding are not small."""


def small_weights(
    frequencies: IntArray,
    weight_sums: FloatArray,
    units: IntArray | None = None,
    weights: FloatArray | None = None,
) -> tuple[str, ...]:
    """What to warn of in a sentence, with what was assumed; () where nothing is odd.

    `frequencies` f_k and `weight_sums`, the estimates of F_k, shape (cells,); `units` of the file that each
    stands for, one where None; `weights` of the units where they are known, of any shape.
    """
    number = np.ones(len(frequencies), dtype=np.int64) if units is None else np.asarray(units)
    whole = int(number.sum()) if weights is None else weights.size
    lacking = int(number[weight_sums < frequencies * (1 - ROUNDING)].sum())
    below = 0 if weights is None else int((weights < 1 - ROUNDING).sum())
    assumed = (
        f"{lacking} of {whole} units have a key whose weights add up to less than its units in the file: for "
        "these the population was taken to be the units of the file (F_k = f_k), and the risk 1/f_k"
    )
    if lacking and below:
        return (f"{below} of {whole} units have a weight below 1, and {assumed}.",)
    if lacking:
        return (f"{assumed}.",)
    if below:
        return (
            f"{below} of {whole} units have a weight below 1; the weights of every key add up to its units "
            "in the file at least, so the weights were taken as they stand.",
        )
    return ()
