"""Budgets: what was spent, what is left, and that nobody asks more, however much he asks at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.asked import Asked
from sdcgate.facility.charges import Account, Charge, accounts
from sdcgate.facility.decisions import over_budget
from sdcgate.facility.errors import Forbidden
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.facility.query_ids import latest_id
from sdcgate.facility.recording import Answered, Recorder
from sdcgate.facility.scope import in_scope, within
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.ledger.ledger import AllowanceSpent, Ledger, Spent
from sdcgate.policy.budgets import Holder
from sdcgate.policy.explanation import budget_sentence
from sdcgate_proto.sdcgate.facility.v1 import budget_pb2

Names = dict[Holder, str | None]
MAY_SEE_ALL = frozenset({Role.CHECKER, Role.STEWARD, Role.AUDITOR, Role.OPERATOR})


@dataclass(slots=True, eq=False)
class _UnderWay:
    """A question whose answer is not seen yet."""

    charge: Charge
    until: datetime | None = None
    """When its answer is seen, and the ledger's count includes it; None while it is decided."""


class Spending:
    """Counts what questions cost. Answers that nobody has seen yet count as under way, not as recorded.

    So neither what is left nor a refusal tells when, between two steps of the policy, something was decided.
    """

    def __init__(self, ledger: Ledger, recorder: Recorder) -> None:
        self._ledger = ledger
        self._recorder = recorder
        self._under_way: list[_UnderWay] = []
        self._lock = threading.Lock()

    def pay(
        self, caller: Caller, asked: Asked, cells: int, pace: Pace, way: Callable[[Asked], Answered]
    ) -> Answered:
        """Go the way of a question that costs so many cells, if what is left of its budgets allows it.

        Otherwise it is refused, in the ledger too, but not as the answer to the question: asked again when
        the budget is renewed, or by somebody else, it is decided.
        """
        paid_by = self._accounts(asked, caller.researcher, datetime.now(UTC))
        asked = replace(asked, charge=Charge(cells, paid_by))
        try:
            with self._reserved(asked.charge, pace):
                return way(asked)
        except AllowanceSpent as spent:
            account = asked.charge.accounts[spent.place]
            refused, decision = over_budget(
                asked, caller.researcher, account, Spent(spent.queries, spent.cells)
            )
            return self._recorder.record(caller, refused, decision)

    def told(
        self, caller: Caller, request: budget_pb2.GetBudgetRequest, engine: Engine, policies: Policies
    ) -> budget_pb2.GetBudgetResponse:
        """What is left: of a researcher's own budgets, or for who may see all of anybody's.

        Raises:
            Forbidden: they are somebody else's, or the caller's key is for other datasets.
            NotFound: there is no such dataset.
        """
        researcher: str | None = request.researcher or caller.researcher
        if caller.role in MAY_SEE_ALL:
            researcher = request.researcher or None
        elif researcher != caller.researcher:
            raise Forbidden("You may see your own budget only.")
        if request.dataset:
            within(caller, request.dataset)
            asked = [datasets.find(engine, request.dataset)]
        else:
            asked = [one for one in engine.datasets() if in_scope(caller, one.name)]
        now = datetime.now(UTC)
        response = budget_pb2.GetBudgetResponse()
        for dataset in asked:
            names: Names = {"researcher": researcher, "project": request.project, "dataset": dataset.name}
            for account in accounts(policies.of(dataset).budgets, dataset.source, names, now):
                found = self._ledger.spent(account.allowance, latest_id(now))
                response.budgets.append(_told(dataset, account, found))
        return response

    def _accounts(self, asked: Asked, researcher: str, now: datetime) -> tuple[Account, ...]:
        names: Names = {"researcher": researcher, "project": asked.project, "dataset": asked.dataset.name}
        return tuple(accounts(asked.policy.budgets, asked.dataset.source, names, now))

    @contextmanager
    def _reserved(self, charge: Charge, pace: Pace) -> Iterator[None]:
        """Count a question until its answer is seen.

        Raises:
            AllowanceSpent: it costs more than is left.
        """
        if not charge.accounts:
            yield
            return
        under_way = self._begin(charge)
        try:
            yield
        finally:
            under_way.until = pace.moment()

    def _begin(self, charge: Charge) -> _UnderWay:
        with self._lock:
            # Read before the ledger is: what ends meanwhile is then counted twice, not never.
            now = datetime.now(UTC)
            self._under_way = [one for one in self._under_way if one.until is None or one.until > now]
            for place, allowance in enumerate(charge.allowances):
                seen = self._ledger.spent(allowance, latest_id(now))
                waiting = [
                    one.charge.cells or 0 for one in self._under_way if allowance in one.charge.allowances
                ]
                found = Spent(seen.queries + len(waiting), seen.cells + sum(waiting))
                if not found.allows(allowance, charge.cells or 0):
                    raise AllowanceSpent(place, found.queries, found.cells)
            under_way = _UnderWay(charge)
            self._under_way.append(under_way)
            return under_way


def _told(dataset: Dataset, account: Account, found: Spent) -> budget_pb2.Budget:
    budget = budget_pb2.Budget(
        dataset=dataset.name,
        holder=account.holder,
        name=account.name,
        period=account.budget.period,
        explanation=budget_sentence(account.holder, account.budget),
    )
    budget.renews.FromDatetime(account.renews)
    for told, limit, spent in (
        (budget.queries, account.budget.queries, found.queries),
        (budget.cells, account.budget.cells, found.cells),
    ):
        if limit is not None:
            told.limit, told.spent, told.left = limit, spent, max(0, limit - spent)
    return budget
