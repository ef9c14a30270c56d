"""What a question costs, and whose budgets pay for it. Nothing here depends on what is answered."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sdcgate.facility.plan import Plan
from sdcgate.facility.refusals import refuse_without_data
from sdcgate.ledger.spending import Allowance, Spent
from sdcgate.policy.budgets import HOLDERS, Budget, Budgets, Holder, begun, renewed
from sdcgate.policy.explanation import budget_sentence
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2


@dataclass(frozen=True, slots=True)
class Account:
    """A budget of somebody, in its present period."""

    holder: Holder
    name: str
    """Name of the researcher, project or dataset."""
    budget: Budget
    allowance: Allowance
    renews: datetime


@dataclass(frozen=True, slots=True)
class Charge:
    """What a question costs, and who pays."""

    cells: int | None = None
    """Cells that it asks for; None where it is free."""
    accounts: tuple[Account, ...] = ()

    @property
    def allowances(self) -> tuple[Allowance, ...]:
        """What is left of the accounts is counted by these, in their order."""
        return tuple(account.allowance for account in self.accounts)


FREE = Charge()


def budget_reason(account: Account, spent: Spent, cells: int) -> pb.Reason:
    """What is said of a question that costs more than is left of a budget."""
    known = ((spent.queries, account.budget.queries, "queries"), (spent.cells, account.budget.cells, "cells"))
    asked = [f"{number} of {limit} {what}" for number, limit, what in known if limit is not None]
    message = (
        f"{budget_sentence(account.holder, account.budget)} {' and '.join(asked)} are spent, and this "
        f"question costs 1 query and {cells} cells. The next {account.budget.period} begins on "
        f"{account.renews:%Y-%m-%d %H:%M} UTC."
    )
    return pb.Reason(
        code=policy_pb2.REASON_CODE_BUDGET,
        message=message,
        suggestion="Ask again then, or ask what was answered before: that costs nothing.",
    )


def cells_told(plan: Plan) -> int:
    """Cells that an answer may tell of: the table's, and as many for each table that may be proposed.

    0 for a question that is refused without data: it tells nothing of them.
    """
    if refuse_without_data(plan) is not None:
        return 0
    return plan.number_of_cells() * (1 + plan.policy.redesign.proposals)


def accounts(
    budgets: Budgets, source: str, names: dict[Holder, str | None], now: datetime
) -> Iterator[Account]:
    """The budgets of a policy as those of somebody; a holder without a name has none.

    Args:
        budgets: Of the policy that applies.
        source: What is asked.
        names: Who asks, for which project, which dataset.
        now: The moment whose periods count.
    """
    for holder in HOLDERS:
        name = names[holder]
        for budget in budgets.of(holder) if name is not None else ():
            allowance = Allowance(
                source=source,
                since=begun(budget.period, now),
                researcher=name if holder == "researcher" else None,
                project=name if holder == "project" else None,
                queries=budget.queries,
                cells=budget.cells,
            )
            yield Account(holder, name or "", budget, allowance, renewed(budget.period, now))
