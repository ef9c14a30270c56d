"""The loops behind `joint_system`: which atoms lie in boxes, and which in the same.

Import it within functions (numba).
"""

import numpy as np

from sdcgate.methods.cells import IntArray
from sdcgate.methods.compiling import compiled
from sdcgate.methods.tables.splitmix import Words


@compiled("UniTuple(int64[::1], 2)(int64[:, ::1], int64[::1], int64[::1], int64[::1])")
def atoms_inside(
    boxes: IntArray, starts: IntArray, parts: IntArray, sizes: IntArray
) -> tuple[IntArray, IntArray]:
    """The atoms of each box, ascending, as the boxes' numbers and the atoms', one box after the other.

    Variable `v` has `sizes[v]` parts; atoms are numbered row-major. Of it box `b` takes in those of list
    `boxes[b, v]`, and list `k` is `parts[starts[k]:starts[k + 1]]`, ascending.
    """
    total = 0
    for box in range(boxes.shape[0]):
        inside = 1
        for variable in range(boxes.shape[1]):
            inside *= starts[boxes[box, variable] + 1] - starts[boxes[box, variable]]
        total += inside
    rows, atoms = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    found = 0
    for box in range(boxes.shape[0]):
        first, count = found, 1
        for variable in range(boxes.shape[1]):
            count *= starts[boxes[box, variable] + 1] - starts[boxes[box, variable]]
        if count == 0:
            continue
        atoms[first], count = 0, 1
        for variable in range(boxes.shape[1]):
            begin, end = starts[boxes[box, variable]], starts[boxes[box, variable] + 1]
            # From the back, as each atom so far becomes several in its place.
            for place in range(count - 1, -1, -1):
                base = atoms[first + place] * sizes[variable]
                for part in range(end - begin - 1, -1, -1):
                    atoms[first + place * (end - begin) + part] = base + parts[begin + part]
            count *= end - begin
        rows[first : first + count] = box
        found += count
    return rows, atoms


@compiled("int64[::1](int64[::1], int64[::1], uint64[::1], int64)")
def first_of_same(rows: IntArray, atoms: IntArray, words: Words, count: int) -> IntArray:
    """For each atom the first one whose rows' words add up to the same, and -1 for those in no row."""
    sums = np.zeros(count, dtype=np.uint64)
    for entry in range(len(rows)):
        sums[atoms[entry]] += words[rows[entry]]
    size = 1
    while size < 2 * count:
        size *= 2
    # Each sum stands in the first free place from its last bits on.
    standing, found = np.full(size, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    for atom in range(count):
        if sums[atom] == 0:
            continue
        place = np.int64(sums[atom] & np.uint64(size - 1))
        while standing[place] >= 0 and sums[standing[place]] != sums[atom]:
            place = (place + 1) % size
        if standing[place] < 0:
            standing[place] = atom
        found[atom] = standing[place]
    return found
