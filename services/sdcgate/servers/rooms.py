"""The threads that answer calls: a room for the services' own, where people call too one for theirs, and
where some calls only read one for those: who polls does not wait behind what is computed.

Whoever waits for a thread of one room takes none of the others. Within a room calls of people take turns by
who calls: the token, and the researcher whom a portal names. Nobody has all threads: calls of one that take
as long as a call may would otherwise let those of all others run out of time before they begin.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event, Lock, Semaphore, local
from typing import Any

from sdcgate.servers.authentication import AUTHORIZATION_KEY, ON_BEHALF_OF_KEY, bearer_token
from sdcgate.servers.errors import Unauthenticated
from sdcgate.servers.fair_queue import SHARE, FairQueue
from sdcgate.servers.settings import GrpcServer

Metadata = dict[str, str | bytes]
ALONE = None
"""The caller of a room that has one caller only: the house's own services."""


class WaitingRoom(ThreadPoolExecutor):
    """Threads that answer calls, and how many calls may wait for one.

    A call whose answer is ready and may not be seen yet rests: its thread sleeps and another one works in its
    place. `resting` calls can do so at once; where more are ready the waiting grow, and are turned away.
    """

    def __init__(self, threads: int, name: str, waiting_calls: int, resting: int = 0) -> None:
        super().__init__(threads + resting, thread_name_prefix=name)
        self.threads = threads
        """Calls that run at the same time."""
        self.most_waiting = waiting_calls
        """Calls that may wait."""
        self.turned_away = 0
        """Calls that found no place to wait."""
        # Where nobody rests there are as many threads as may work.
        self._working = Semaphore(threads) if resting else None
        self._mine = local()
        self._closed = Event()
        self._counting = Lock()
        self._queue: FairQueue[_Waiting] = FairQueue()
        self._busy = 0
        self._working_for: Counter[Hashable] = Counter()
        # Threads that went away empty-handed, as who waited had as many as he may.
        self._held_back = 0

    def admits(self, caller: Hashable = ALONE) -> bool:
        """Whether one more call of a caller may wait."""
        with self._counting:
            if caller is ALONE:
                return len(self._queue) <= self.most_waiting
            return self._queue.admits(caller, self.most_waiting + 1)

    @property
    def waiting(self) -> int:
        """Calls that wait for a thread."""
        return len(self._queue)

    @property
    def busy(self) -> int:
        """Calls that have a thread."""
        return self._busy

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a call of nobody in particular."""
        return self.submit_of(ALONE, fn, *args, **kwargs)

    def submit_of(
        self, caller: Hashable, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Queue a call of a caller; it gets a thread when it is his turn."""
        waiting = _Waiting(lambda: fn(*args, **kwargs))
        with self._counting:
            self._queue.put(caller, waiting)
        try:
            # Which call a thread gets is decided when there is one: that of whose turn it is.
            super().submit(self._work)
        except RuntimeError:
            # Shut down: nobody would ever take it.
            waiting.future.cancel()
            raise
        return waiting.future

    def of(self, caller: Hashable) -> ThreadPoolExecutor:
        """This room for one caller's calls."""
        return _Seat(self, caller)

    def _work(self) -> None:
        if self._working is not None:
            self._working.acquire()
        with self._counting:
            taken = self._queue.take(self._may_work)
            if taken is None:
                # Its call was cancelled, or waits until another one of its caller has ended.
                self._held_back += len(self._queue) > 0
            else:
                self._busy += 1
                self._working_for[taken[0]] += 1
        if taken is None:
            if self._working is not None:
                self._working.release()
            return
        self._mine.works_for = taken
        try:
            taken[1].run()
        finally:
            self._stop_working()

    def _may_work(self, caller: Hashable) -> bool:
        """Whether one more call of a caller may have a thread: others find one, as long as there are several.

        Who has none may have any that is free.
        """
        has, free = self._working_for[caller], self.threads - self._busy
        return caller is ALONE or has == 0 or self._closed.is_set() or (free > 1 and has < SHARE * free)

    def rest(self, seconds: float) -> None:
        """Sleep in the thread of a call whose work is done; no longer than until the room is shut down."""
        self._stop_working()
        self._closed.wait(seconds)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls and wake who rests."""
        self._closed.set()
        if cancel_futures:
            with self._counting:
                left = list(self._queue.drain())
            for waiting in left:
                waiting.future.cancel()
        # Those that are not cancelled are made: nobody is kept for others any more.
        while self._calls_back():
            pass
        super().shutdown(wait, cancel_futures=cancel_futures)

    def _stop_working(self) -> None:
        mine: tuple[Hashable, _Waiting] | None = getattr(self._mine, "works_for", None)
        if mine is None:
            return
        self._mine.works_for = None
        with self._counting:
            self._busy -= 1
            self._working_for[mine[0]] -= 1
            if not self._working_for[mine[0]]:
                del self._working_for[mine[0]]
        if self._working is not None:
            self._working.release()
        # One at most: whoever takes the thread leaves as many as there were when nobody might.
        self._calls_back()

    def _calls_back(self) -> bool:
        """Send a thread for a call that was held back, where one may work; whether it was sent."""
        with self._counting:
            if not self._held_back or self._queue.next(self._may_work) is None:
                return False
            self._held_back -= 1
        try:
            super().submit(self._work)
        except RuntimeError:
            # Shut down, and all that waited were cancelled.
            return False
        return True


class _Waiting:
    """A call that waits for its turn."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.future: Future[Any] = Future()
        self._call = call

    def run(self) -> None:
        """Make the call, unless it was cancelled."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self._call()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class _Seat(ThreadPoolExecutor):
    """A room as gRPC takes it for one call: it wants a ThreadPoolExecutor, and names no caller.

    It has no threads of its own, so nothing of its class is set up.
    """

    def __init__(self, room: WaitingRoom, caller: Hashable) -> None:
        self._room = room
        self._caller = caller

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a call."""
        return self._room.submit_of(self._caller, fn, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class CheckLane:
    """How calls of people with API keys are kept apart from those of the house's services."""

    calls: int
    """So many are answered at once."""
    waiting_calls: int
    is_service: Callable[[str], bool]
    """Whether a token is the services' own. This only chooses the room; the token is checked there."""


@dataclass(frozen=True, slots=True)
class ReadLane:
    """How calls that only read are kept apart from those that compute."""

    calls: int
    """So many are answered at once."""
    waiting_calls: int
    methods: frozenset[str]
    """As gRPC names them: `/sdcgate.facility.v1.FacilityService/GetStatus`."""


class Rooms:
    """The room of each call."""

    def __init__(
        self, name: str, section: GrpcServer, check: CheckLane | None = None, read: ReadLane | None = None
    ) -> None:
        self.own = WaitingRoom(section.threads, name, section.waiting_calls, section.resting_calls)
        self.check: WaitingRoom | None = None
        self._is_service: Callable[[str], bool] = lambda token: True  # noqa: ARG005
        if check is not None:
            self.check = WaitingRoom(check.calls, f"{name}-check", check.waiting_calls)
            self._is_service = check.is_service
        self.read: WaitingRoom | None = None
        self._reading: frozenset[str] = frozenset()
        if read is not None:
            self.read = WaitingRoom(read.calls, f"{name}-read", read.waiting_calls)
            self._reading = read.methods

    @property
    def all(self) -> tuple[WaitingRoom, ...]:
        """All rooms."""
        return tuple(self.by_name.values())

    @property
    def by_name(self) -> dict[str, WaitingRoom]:
        """All rooms by the names that the metrics give them."""
        named = {"own": self.own, "check": self.check, "read": self.read}
        return {name: room for name, room in named.items() if room is not None}

    @property
    def busy(self) -> int:
        """Calls that have a thread."""
        return sum(room.busy for room in self.all)

    def of(self, method: str, metadata: Metadata) -> WaitingRoom:
        """The room for a call of this method with this metadata."""
        if self.read is not None and method in self._reading:
            return self.read
        if self.check is None:
            return self.own
        try:
            own = self._is_service(bearer_token(metadata.get(AUTHORIZATION_KEY)))
        except Unauthenticated:
            own = False
        return self.own if own else self.check

    def caller_of(self, room: WaitingRoom, metadata: Metadata) -> Hashable:
        """Who takes turns in a room, before anybody has looked whether he may: a digest of his token."""
        if self.check is not None and room is self.own:
            return ALONE
        shown = (metadata.get(AUTHORIZATION_KEY, ""), metadata.get(ON_BEHALF_OF_KEY, ""))
        return hashlib.blake2b(repr(shown).encode(), digest_size=16).digest()
