"""One thread of linear algebra a process: as services run, and as many tests at once as there are cores.

Examples of hypothesis have no deadline: how long one takes says more of the machine than of the code. They
are the same on every machine, so that what passed here passes there; FRESH_EXAMPLES=1 looks for others, as
`make test-long` does.
"""

import os
import sys

from hypothesis import settings

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
settings.register_profile("any machine", deadline=None, derandomize="FRESH_EXAMPLES" not in os.environ)
settings.load_profile("any machine")


def pytest_sessionfinish() -> None:
    """End the processes that houses share, where there was a house."""
    if "fitting_rooms" in sys.modules:
        sys.modules["fitting_rooms"].close_all()
