"""Compiled loops: numba with its cache where there is a folder for it, and without where there is none.

numba takes half a second to import. Modules of loops import this one at their top and are themselves imported
within the functions that call them, so that no service pays at its start for what it may never be asked.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(signature: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: the function in machine code for one signature, which lets other threads run meanwhile."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        machine_code: Callable[P, R]
        try:
            machine_code = numba.njit(signature, nogil=True, cache=True)(function)
        except (RuntimeError, OSError):  # no folder that numba may write its cache to
            machine_code = numba.njit(signature, nogil=True)(function)
        return machine_code

    return decorate
