"""Who may do what. A caller is whoever key or token say."""

from typing import Protocol

from sdcgate.facility.errors import Forbidden

EVERYBODY = frozenset({"researcher", "portal", "checker", "steward", "auditor", "operator"})
PERMISSIONS = {
    "query": frozenset({"researcher"}),
    "submit": frozenset({"researcher", "portal"}),
    "check": frozenset({"researcher", "portal", "checker"}),
    "protect_files": frozenset({"steward"}),
    "read_datasets": EVERYBODY,
    "register": frozenset({"steward"}),
    "assess_datasets": frozenset({"steward"}),
    "enter_knowledge": frozenset({"steward"}),
    "read_queries": frozenset({"researcher", "portal", "checker", "auditor"}),
    "read_policy": EVERYBODY,
    "read_budget": EVERYBODY,
    "review": frozenset({"checker"}),
    "status": EVERYBODY,
    "request_admission": frozenset({"researcher", "portal", "steward", "operator"}),
    "read_admissions": frozenset({"researcher", "portal", "steward", "auditor", "operator"}),
    "review_admission": frozenset({"steward"}),
    "withdraw_admission": frozenset({"researcher", "steward", "operator"}),
}


class HasRole(Protocol):
    """Whoever calls, as far as permissions go."""

    @property
    def role(self) -> str:
        """The role of the key."""


def require(caller: HasRole, action: str) -> None:
    """Refuse a caller whose role does not allow the action.

    Raises:
        Forbidden: naming the roles that may.
    """
    allowed = PERMISSIONS[action]
    if caller.role not in allowed:
        raise Forbidden(f"This needs the role {' or '.join(sorted(allowed))}; your key has {caller.role}.")
