"""What a key is limited to: datasets, projects, and the researchers for whom a portal may act."""

from sdcgate.facility.errors import Forbidden
from sdcgate.ledger.credentials import Caller, Role

ANYBODY = "*"


def within(caller: Caller, dataset: str, project: str | None = None) -> None:
    """Refuse a caller whose key is for other datasets or, where one counts, for other projects.

    Raises:
        Forbidden: naming what the key is for.
    """
    scope = caller.scope
    if not in_scope(caller, dataset):
        raise Forbidden(f"Your key is for {_listed('dataset', scope.datasets)} only.")
    if project is not None and scope.projects and project not in scope.projects:
        raise Forbidden(f"Your key is for {_listed('project', scope.projects)} only; name it as `project`.")


def in_scope(caller: Caller, dataset: str) -> bool:
    """Whether a dataset is one of those that a key is for."""
    return not caller.scope.datasets or dataset in caller.scope.datasets


def acting_for(portal: Caller, researcher: str) -> Caller:
    """A portal as the researcher for whom it acts: his queries, his budgets, his admissions.

    Raises:
        Forbidden: it is no portal, or its key does not let it act for him.
    """
    if portal.role != Role.PORTAL:
        raise Forbidden(f"Only portals act for others; your key has the role {portal.role}.")
    if not {researcher, ANYBODY} & set(portal.scope.acts_for):
        raise Forbidden("Your key does not let you act for this researcher.")
    return Caller(portal.key_id, Role.RESEARCHER, researcher, portal=portal.researcher, scope=portal.scope)


def _listed(what: str, names: tuple[str, ...]) -> str:
    return f"{what}{'s' if len(names) > 1 else ''} {', '.join(names)}"
