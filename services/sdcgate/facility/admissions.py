"""Who is let at which dataset, for which project, and when: requests, their review, and what is in force."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import cast

from ulid import ULID

from sdcgate.engine.engine import Engine
from sdcgate.facility.access import require
from sdcgate.facility.errors import Conflict, Forbidden, InvalidRequest, NotFound
from sdcgate.facility.pages import no_such_page
from sdcgate.facility.scope import within
from sdcgate.ledger import admissions as records
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.ledger.errors import NotPending
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import admission_pb2 as pb

SEE_ALL = frozenset({Role.STEWARD, Role.AUDITOR, Role.OPERATOR})


class Admissions:
    """Requests, reviews and withdrawals; where `required`, nothing is asked without one in force."""

    def __init__(self, records_of: records.Admissions, engine: Engine, required: bool) -> None:
        self._records = records_of
        self._engine = engine
        self._required = required
        self._ended: set[str] = set()
        """Admissions that were seen after their last day: a clock that is set back makes none good again."""

    def let_in(self, caller: Caller, dataset: str, project: str) -> None:
        """Refuse who may not use a dataset for a project today: by his key, or for want of an admission.

        A researcher must be registered. The dataset must be one of his own or, where he names a project, one
        of a project that is in force and that he is of.

        Raises:
            Forbidden: saying what is missing.
        """
        within(caller, dataset, project)
        if not self._required:
            return
        own = self._in_force(self._records.of(researcher=caller.researcher))
        if not own:
            raise Forbidden(
                f"{caller.researcher} is not registered, or not for today; request an admission first."
            )
        if not project:
            if not any(dataset in one.request.datasets for one in own):
                raise Forbidden(
                    f"{caller.researcher} is not admitted to {dataset} today; name the project that is, or "
                    "request an admission."
                )
            return
        for one in self._in_force(self._records.of(project=project)):
            if caller.researcher in one.request.researchers and dataset in one.request.datasets:
                return
        raise Forbidden(f"No project {project} of {caller.researcher} is admitted to {dataset} today.")

    def _in_force(self, admissions: list[records.Admission]) -> list[records.Admission]:
        """Those that let in today."""
        today = self._records.today()
        self._ended |= {one.request.admission_id for one in admissions if today > one.valid_until}
        return [
            one for one in admissions if one.in_force(today) and one.request.admission_id not in self._ended
        ]

    def request(self, caller: Caller, request: pb.RequestAdmissionRequest) -> pb.Admission:
        """Record a request, which admits nobody before a steward has approved it.

        Raises:
            InvalidRequest: with all that is wrong with it; a researcher requests for himself only.
        """
        require(caller, "request_admission")
        problems = self._problems(request)
        if caller.role == Role.RESEARCHER and caller.researcher not in request.researchers:
            told = f"You request for yourself, or a project of yours: name {caller.researcher} among them."
            problems.append(FieldProblem("researchers", told))
        if problems:
            raise InvalidRequest(problems)
        asked = records.AdmissionRequest(
            admission_id=f"a-{ULID()}",
            project=request.project,
            researchers=tuple(request.researchers),
            datasets=tuple(request.datasets),
            label=request.label,
            valid_from=date.fromisoformat(request.valid_from),
            valid_until=date.fromisoformat(request.valid_until),
            requested_by=caller.portal or caller.researcher,
            author=caller.key_id,
        )
        waiting = self._waiting(asked)
        if waiting is None:
            self._records.request(asked)
        return self._told(waiting or asked.admission_id)

    def _waiting(self, asked: records.AdmissionRequest) -> str | None:
        """The same request that came before and is not decided yet: who heard no answer sends it again."""
        for one in self._records.of(researcher=asked.researchers[0], project=asked.project):
            before = replace(one.request, admission_id=asked.admission_id, author=asked.author)
            if one.state is records.AdmissionState.REQUESTED and before == asked:
                return one.request.admission_id
        return None

    def listed(self, caller: Caller, request: pb.ListAdmissionsRequest) -> pb.ListAdmissionsResponse:
        """One's own admissions and those one has requested; to who may see all of them, all.

        Raises:
            InvalidRequest: the token is of no page.
        """
        require(caller, "read_admissions")
        size = request.page_size or 100
        states = {pb.AdmissionState.Name(state).removeprefix("ADMISSION_STATE_") for state in request.states}
        if request.page_token and self._records.get(request.page_token) is None:
            raise no_such_page()
        response = pb.ListAdmissionsResponse()
        for one in self._records.after(request.page_token):
            mine = caller.researcher in (*one.request.researchers, one.request.requested_by)
            if (mine or caller.role in SEE_ALL) and (not states or one.state in states):
                if len(response.admissions) == size:
                    response.next_page_token = response.admissions[-1].admission
                    break
                response.admissions.append(_to_message(one))
        return response

    def review(self, caller: Caller, request: pb.ReviewAdmissionRequest) -> pb.Admission:
        """Approve a request, for its dates or others, or refuse it.

        Raises:
            NotFound: there is none.
            Forbidden: it is of the steward himself, he requested it, or his key is for other datasets.
            InvalidRequest: the dates are none.
            Conflict: it is decided or withdrawn.
        """
        require(caller, "review_admission")
        found = self._found(request.admission)
        asked = found.request
        if caller.researcher in (*asked.researchers, asked.requested_by):
            raise Forbidden("Nobody decides about an admission of his own, or one that he requested.")
        for dataset in asked.datasets:
            within(caller, dataset)
        given = {
            "valid_from": request.valid_from or asked.valid_from.isoformat(),
            "valid_until": request.valid_until or asked.valid_until.isoformat(),
        }
        problems = _date_problems(given)
        if problems:
            raise InvalidRequest(problems)
        with _conflicts():
            self._records.review(
                request.admission,
                approve=request.approve,
                **{name: date.fromisoformat(text) for name, text in given.items()},
                reviewer=caller.researcher,
                author=caller.key_id,
                note=request.note,
            )
        return self._told(request.admission)

    def withdraw(self, caller: Caller, request: pb.WithdrawAdmissionRequest) -> pb.Admission:
        """End an admission at once.

        Raises:
            NotFound: there is none, or it is somebody else's.
            Forbidden: it is of a project, and a researcher of it wants to end it for all.
            Conflict: it is refused or withdrawn.
        """
        require(caller, "withdraw_admission")
        found = self._found(request.admission)
        if caller.role == Role.RESEARCHER:
            if caller.researcher not in found.request.researchers:
                raise NotFound(f"There is no admission {request.admission} of yours.")
            if found.request.project:
                raise Forbidden("A project is withdrawn by a steward or an operator.")
        with _conflicts():
            self._records.withdraw(
                request.admission, by=caller.researcher, author=caller.key_id, note=request.note
            )
        return self._told(request.admission)

    def _found(self, admission_id: str) -> records.Admission:
        found = self._records.get(admission_id)
        if found is None:
            raise NotFound(f"There is no admission {admission_id}.")
        return found

    def _told(self, admission_id: str) -> pb.Admission:
        return _to_message(self._found(admission_id))

    def _problems(self, request: pb.RequestAdmissionRequest) -> list[FieldProblem]:
        given = {"valid_from": request.valid_from, "valid_until": request.valid_until}
        problems = _date_problems(given)
        if not request.project and len(request.researchers) != 1:
            problems.append(
                FieldProblem(
                    "researchers", "One researcher is registered at a time, or a project with several."
                )
            )
        if request.project and not request.datasets:
            problems.append(FieldProblem("datasets", "A project is for one dataset at least."))
        known = {dataset.name for dataset in self._engine.datasets()}
        problems += [
            FieldProblem(f"datasets[{place}]", "There is no dataset of this name.")
            for place, name in enumerate(request.datasets)
            if name not in known
        ]
        return problems


@contextmanager
def _conflicts() -> Iterator[None]:
    """Tell what is decided already as a conflict."""
    try:
        yield
    except NotPending as error:
        raise Conflict(f"{error}.") from None


def _date_problems(given: Mapping[str, str]) -> list[FieldProblem]:
    """What is wrong with a first and a last day."""
    days, problems = [], []
    for name, text in given.items():
        try:
            days.append(date.fromisoformat(text))
        except ValueError:
            problems.append(FieldProblem(name, "Must be a day, such as 2026-01-31."))
    if len(days) == len(given) and days[-1] < days[0]:
        problems.append(FieldProblem("valid_until", "Must not be before the first day."))
    return problems


def _to_message(admission: records.Admission) -> pb.Admission:
    request = admission.request
    message = pb.Admission(
        admission=request.admission_id,
        project=request.project,
        researchers=request.researchers,
        datasets=request.datasets,
        label=request.label,
        valid_from=admission.valid_from.isoformat(),
        valid_until=admission.valid_until.isoformat(),
        state=cast("pb.AdmissionState", pb.AdmissionState.Value(f"ADMISSION_STATE_{admission.state}")),
        requested_by=request.requested_by,
        reviewer=admission.reviewer,
        note=admission.note,
    )
    message.requested.FromDatetime(admission.requested_at)
    return message
