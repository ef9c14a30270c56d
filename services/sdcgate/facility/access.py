"""Who may do what. A caller is whoever the ledger's credentials say."""

from typing import Protocol

from sdcgate.facility.errors import Forbidden

PERMISSIONS = {
    "query": frozenset({"researcher"}),
    "submit": frozenset({"researcher", "portal"}),
    "check": frozenset({"researcher", "portal", "checker"}),
    "protect_files": frozenset({"steward"}),
    "read_datasets": frozenset({"researcher", "portal", "checker", "steward", "operator"}),
    "register": frozenset({"steward"}),
    "assess_datasets": frozenset({"steward"}),
    "enter_knowledge": frozenset({"steward"}),
    "read_queries": frozenset({"researcher", "portal", "checker"}),
    "read_policy": frozenset({"researcher", "portal", "checker", "steward", "operator"}),
    "read_budget": frozenset({"researcher", "portal", "checker", "steward", "operator"}),
    "review": frozenset({"checker"}),
    "status": frozenset({"researcher", "portal", "checker", "steward", "operator"}),
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
