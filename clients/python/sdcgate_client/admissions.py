"""The calls about admissions: researchers and projects that are requested, reviewed and withdrawn."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from sdcgate_client.connection import Connection
from sdcgate_client.contents import object_of
from sdcgate_client.errors import UnexpectedAnswer
from sdcgate_client.files import Parameters


class AdmissionCalls(Connection):
    """Who is let at which datasets, and until when."""

    def request_admission(
        self,
        researchers: Sequence[str],
        *,
        label: str,
        valid_from: str,
        valid_until: str,
        datasets: Sequence[str] = (),
        project: str = "",
    ) -> dict[str, Any]:
        """Requests that a researcher, or a project with its researchers, be admitted; a steward decides.

        Args:
            researchers: The researcher, or those of the project, as their keys and tokens name them.
            label: Who or what it is, for who approves it.
            valid_from: First day, `2026-01-01`.
            valid_until: Last day.
            datasets: Those that it is for.
            project: Name of the project; a researcher is registered by himself where left out.

        Returns:
            The admission, with its id as `admission` and its `state`.
        """
        body: dict[str, Any] = {
            "researchers": list(researchers),
            "datasets": list(datasets),
            "label": label,
            "valid_from": valid_from,
            "valid_until": valid_until,
        }
        return object_of(
            self._call("POST", "/v1/admissions", body | ({"project": project} if project else {}))
        )

    def admissions(self, states: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        """Admissions, the oldest first: one's own and those one requested; to stewards and auditors all.

        Args:
            states: `REQUESTED`, `APPROVED`, `REFUSED`, `WITHDRAWN`; all where left out.
        """
        token = ""
        while True:
            parameters: Parameters = [("states", state) for state in states]
            parameters += [("page_token", token)] if token else []
            page = object_of(self._call("GET", "/v1/admissions", parameters=parameters))
            found = page.get("admissions") or []
            if not isinstance(found, list):
                raise UnexpectedAnswer("the answer has no list of admissions")
            yield from found
            token = str(page.get("next_page_token") or "")
            if not token:
                return

    def review_admission(
        self, admission: str, approve: bool, note: str, *, valid_from: str = "", valid_until: str = ""
    ) -> dict[str, Any]:
        """Approves or refuses a request; needs a steward's key. Days are those asked for where left out."""
        days = {"valid_from": valid_from, "valid_until": valid_until}
        body = {"approve": approve, "note": note, **{name: day for name, day in days.items() if day}}
        return self._about(admission, "review", body)

    def withdraw_admission(self, admission: str, note: str) -> dict[str, Any]:
        """Ends an admission at once; needs a steward's or an operator's key, or one's own."""
        return self._about(admission, "withdraw", {"note": note})

    def _about(self, admission: str, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return object_of(self._call("POST", f"/v1/admissions/{quote(admission, safe='')}:{what}", body))
