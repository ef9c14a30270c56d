"""Inner counts of tables that optima of other programs are known of.

Of sdcTable 0.34 (microdata1), SSBtools (z1), Langsrud and Heldal (2018, Table 2: exPSD) and a generated one.
"""

import numpy as np

from made_tables import axis, with_margins


def numbers(text, *shape):
    return np.array([int(number) for number in text.split()]).reshape(shape)


INNER = {
    "microdata1": numbers("18 2 14 19 12 10 11 14", 4, 2),
    "z1": numbers(
        "11 11 55 36 7 1 29 18 5 8 35 25 13 2 17 13 9 14 63 52 12 9 24 22 6 4 22 8 9 3 38 15", 8, 4
    ),
    "exPSD": numbers("6 0 1 3 4 1 2 3 1 2 0 1 1 0 2", 3, 5),
    "10x10": numbers(
        """
        19 8 64 73 28 51 187 3 71 2 17 90 10 27 25 9 2 175 2 13 34 81 44 37 12 58 57 130 1 69 10 11
        15 48 1 126 46 51 74 50 12 388 147 155 19 9 11 15 0 85 146 286 59 0 27 27 14 3 49 26 18 56
        126 39 47 23 29 28 28 22 53 125 16 138 26 26 3 6 73 15 78 38 1 129 34 3 3 91 247 34 20 12 61
        9 0 41 40 29 99 13
        """,
        10,
        10,
    ),
}


def table(name):
    inner = INNER[name]
    axes = tuple(axis(f"d{place}", list(map(str, range(size)))) for place, size in enumerate(inner.shape))
    return axes, with_margins(inner).reshape(-1)
