"""Who may do what. A caller is whoever the ledger's credentials say."""

from sdcgate.facility.errors import Forbidden
from sdcgate.ledger.credentials import Caller

PERMISSIONS = {
    "query": frozenset({"researcher"}),
    "submit": frozenset({"researcher", "portal"}),
    "check": frozenset({"researcher", "portal", "checker"}),
    "read_datasets": frozenset({"researcher", "portal", "checker", "steward", "operator"}),
    "register": frozenset({"steward"}),
    "read_queries": frozenset({"researcher", "portal", "checker"}),
    "read_policy": frozenset({"researcher", "portal", "checker", "steward", "operator"}),
    "review": frozenset({"checker"}),
    "status": frozenset({"researcher", "portal", "checker", "steward", "operator"}),
}


def require(caller: Caller, action: str) -> None:
    """Refuse a caller whose role does not allow the action.

    Raises:
        Forbidden: naming the roles that may.
    """
    allowed = PERMISSIONS[action]
    if caller.role not in allowed:
        raise Forbidden(f"This needs the role {' or '.join(sorted(allowed))}; your key has {caller.role}.")
