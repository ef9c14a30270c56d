"""One thread of linear algebra for each process: as services run, and as many tests as there are cores at once."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
