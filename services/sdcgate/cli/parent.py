"""A service that a supervisor started ends when the supervisor does, however that ends."""

import ctypes
import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_CHECK_SECONDS = 1.0


def die_with(parent: int) -> None:
    """Arranges for SIGTERM when the process `parent` is gone, even if it was killed.

    On Linux the kernel sends it; elsewhere a thread looks every second. A parent that is gone already ends
    this process at once. The kernel watches the parent's *thread* that started this process: start
    services from one that lives as long as they should.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
            _watch(parent)
    else:
        _watch(parent)
    if os.getppid() != parent:
        raise SystemExit(f"process {parent} that started this service is gone")


def _watch(parent: int) -> None:
    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_CHECK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=look, name="parent", daemon=True).start()
