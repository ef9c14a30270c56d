"""What may be known outside of a query on its way: its stages, its risk, how it was decided.

The facility tells whoever watches the call; metrics and traces are the servers' affair. Nothing of a single
cell is told: verdicts, codes of reasons, and the risk of a table as a whole.
"""

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sdcgate.methods.risk.individual import TableRisk


class Stage(StrEnum):
    """A part of the way of a query."""

    COMPUTE = "compute"
    """The engine computes cells."""
    KNOWLEDGE = "knowledge"
    """What has left is read from the ledger."""
    ASSESS = "assess"
    """The risk service judges."""
    PROTECT = "protect"
    """The protection service looks for a pattern."""
    PROOF = "proof"
    """What is about to leave is audited with all that has left; protection is part of it."""
    FIT = "fit"
    """A model is fitted, or waits for a worker that fits it."""
    RECORD = "record"
    """The decision is written to the ledger."""


class Watcher(Protocol):
    """Is told of queries; what it raises would end them."""

    def stage(self, stage: Stage) -> AbstractContextManager[None]:
        """Told before and after a stage."""

    def judged(self, dataset: str, risk: "TableRisk | None") -> None:
        """A table was judged: the risk of its key, where there is one."""

    def audited(self, dataset: str, proved: bool, rounds: int) -> None:
        """A table was audited, with so many rounds of withholding more."""

    def decided(self, dataset: str, verdict: str, reasons: Collection[str]) -> None:
        """A decision was recorded, by its verdict and the codes of its reasons."""

    def repeated(self, dataset: str, verdict: str) -> None:
        """A request was answered as it was before."""

    def reviewed(self, dataset: str, verdict: str) -> None:
        """A checker's decision was recorded."""

    def overtaken(self) -> None:
        """A decision could not be recorded, as others were faster, and is made anew."""


class _Nobody:
    """Watches nothing."""

    def stage(self, stage: Stage) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def judged(self, dataset: str, risk: "TableRisk | None") -> None:
        pass

    def audited(self, dataset: str, proved: bool, rounds: int) -> None:
        pass

    def decided(self, dataset: str, verdict: str, reasons: Collection[str]) -> None:
        pass

    def repeated(self, dataset: str, verdict: str) -> None:
        pass

    def reviewed(self, dataset: str, verdict: str) -> None:
        pass

    def overtaken(self) -> None:
        pass


_watcher: ContextVar[Watcher] = ContextVar("sdcgate_watcher", default=_Nobody())  # noqa: B039 (it has no state)


def watcher() -> Watcher:
    """Who watches the call that is being answered; somebody who does nothing where nobody does."""
    return _watcher.get()


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Let somebody watch what happens meanwhile."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)
