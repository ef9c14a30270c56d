"""The processes of models and statistics that all houses of one test process share.

One begins in three seconds, as it loads what fits need: more than most tests take besides.
"""

from collections.abc import Callable

from sdcgate.facility.fitting_room import FittingLimits, FittingRoom, nothing

_shared: dict[Callable[[], None], FittingRoom] = {}


class SharedRoom(FittingRoom):
    """Goes on when a house is closed, for the next one."""

    def close(self) -> None:
        """Nothing: its processes end with the tests."""


def fitting_room(limits: FittingLimits | None = None, prepare: Callable[[], None] = nothing) -> FittingRoom:
    """A room of a house's own where it has limits of its own, else the one of all houses."""
    if limits is not None:
        return FittingRoom(limits, prepare)
    if prepare not in _shared:
        _shared[prepare] = SharedRoom(None, prepare)
    return _shared[prepare]


def close_all() -> None:
    """End the processes, or pytest would wait for them."""
    while _shared:
        FittingRoom.close(_shared.popitem()[1])
