"""SplitMix64 (Steele, Lea and Flood 2014, Fast Splittable Pseudorandom Number Generators, OOPSLA)."""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""The step from one state to the next."""


def finalised(words: Words) -> Words:
    """The finaliser: each word of 64 bits mixed, one to one; any shape."""
    mixed = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
