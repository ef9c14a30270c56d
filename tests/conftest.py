"""One thread of linear algebra a process: as services run, and as many tests at once as there are cores."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
