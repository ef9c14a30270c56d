"""The client: one method for each thing that the gateway does."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from sdcgate_client.admissions import AdmissionCalls
from sdcgate_client.answer import Answer, Comment
from sdcgate_client.check_calls import CheckCalls
from sdcgate_client.contents import json_of, object_of
from sdcgate_client.errors import UnexpectedAnswer
from sdcgate_client.files import Parameters
from sdcgate_client.pictures import Picture
from sdcgate_client.requests import (
    Dimensions,
    Figures,
    Filter,
    model_request,
    statistic_request,
    table_request,
)
from sdcgate_client.results import Results, results_form

LARGEST_PAGE = 1000
"""Queries that the gateway lists at once."""


class Client(CheckCalls, AdmissionCalls):
    """Speaks to a gateway with one API key, or one token of an identity provider.

    Args:
        base_url: Address of the gateway, such as `http://127.0.0.1:8080`.
        api_key: The key, as `sdcgate key create` printed it, or a token.
        timeout: Seconds to wait for an answer.
        transport: How requests travel; for tests and proxies.
        on_behalf_of: The researcher for whom a portal acts.
        role: The role in which to call, of those that the token carries; needed where it carries several.
    """

    def datasets(self) -> list[dict[str, Any]]:
        """All datasets, each in its newest version."""
        return _list(self._call("GET", "/v1/datasets"), "datasets")

    def dataset(self, name: str) -> dict[str, Any]:
        """One dataset with its variables, levels, codes and measures."""
        return _unwrapped(self._call("GET", f"/v1/datasets/{_segment(name)}"), "dataset")

    def register(self, descriptor: Mapping[str, Any]) -> dict[str, Any]:
        """Registers a dataset or a new version of one; needs a steward's key.

        Returns:
            `{"dataset": ..., "created": ...}`.
        """
        return object_of(self._call("POST", "/v1/datasets", {"descriptor": dict(descriptor)}))

    def assess_dataset(
        self,
        name: str,
        scenarios: Sequence[Mapping[str, Any]] = (),
        *,
        other: Mapping[str, Any] | None = None,
        numbers: Sequence[Mapping[str, Any]] = (),
        neighbours: int | None = None,
    ) -> dict[str, Any]:
        """The risk of a registered dataset as a file; needs a steward's key. No verdict; nothing is kept.

        Args:
            name: The dataset.
            scenarios: In place of those of its descriptor, such as `[{"name": "roll", "kind":
                "INDIVIDUAL_ARCHIVE", "keys": ["site", "age:ten_years"]}]`.
            other: Another registered release of the same source, such as `{"dataset": "health", "version":
                2, "keys": ["site", "age:broad"]}`; what is left out is this dataset, the newest version,
                all identifying variables.
            numbers: Measures that an intruder knows nearly, such as `[{"column": "sales", "relative": 0.1}]`.
            neighbours: How many others of its key a unit must be confused with by them; 3 where left out.

        Returns:
            `key`, `scenarios`, `scenarios_together`, `worst_tables`, `recodings`, `rule_sets`,
            `linked_releases`, `numbers`; `not_computed` says what is left out and why.
        """
        body: dict[str, Any] = {"scenarios": [dict(one) for one in scenarios]}
        body |= {} if other is None else {"other": dict(other)}
        body |= {"numbers": [dict(one) for one in numbers]} if numbers else {}
        body |= {} if neighbours is None else {"neighbours": neighbours}
        return object_of(self._call("POST", f"/v1/datasets/{_segment(name)}:assess", body))

    def enter_knowledge(
        self,
        dataset: str,
        published: str,
        rows: Dimensions = (),
        columns: Dimensions = (),
        layers: Dimensions = (),
        *,
        figures: Figures = ("units",),
        filter: Filter | None = None,
    ) -> dict[str, Any]:
        """Enters a table that was published elsewhere, so that every audit reckons with it; for stewards.

        Args:
            dataset: Name of the dataset.
            published: Where it was published, such as `"Statistical yearbook 1985, table 3.2"`.
            rows: Variables down; see `table`.
            columns: Variables across.
            layers: Variables that make a table each.
            figures: Such as `"units"` or `"mean:meddol"`.
            filter: All conditions hold.

        Returns:
            `query`, `cells` and `certificate` of the record. No figures.
        """
        request = table_request(rows, columns, layers, figures=figures, filter=filter, margins=True)
        body = {name: value for name, value in request.items() if name not in ("margins", "project")}
        path = f"/v1/datasets/{_segment(dataset)}:enterKnowledge"
        return object_of(self._call("POST", path, {**body, "published": published}))

    def table(
        self,
        dataset: str,
        rows: Dimensions = (),
        columns: Dimensions = (),
        layers: Dimensions = (),
        *,
        figures: Figures = ("units",),
        filter: Filter | None = None,
        margins: bool = True,
        project: str = "",
    ) -> Answer:
        """Asks for a table.

        Args:
            dataset: Name of the dataset.
            rows: Variables down, as `"site"`, `"age:ten_years"` or `{"variable": ..., "level": ...}`.
            columns: Variables across.
            layers: Variables that make a table each.
            figures: Such as `"units"` or `"mean:meddol"`.
            filter: Such as `{"female": ["1"], "age:broad": ["18-64"]}`; all conditions hold.
            margins: Whether totals are shown.
            project: On whose behalf it is asked.

        Raises:
            ValueError: an argument cannot be read.
            SdcgateError: no answer came, or an error. A refusal is an answer, not an error.
        """
        request = table_request(
            rows, columns, layers, figures=figures, filter=filter, margins=margins, project=project
        )
        response = self._send("POST", f"/v1/datasets/{_segment(dataset)}/tables", request)
        return Answer.from_json(json_of(response), request, repeated=response.status_code == httpx.codes.OK)

    def statistic(
        self,
        dataset: str,
        kind: str,
        measure: str = "",
        *,
        second: str = "",
        groups: Dimensions = (),
        filter: Filter | None = None,
        having: Filter | None = None,
        exposed: Filter | None = None,
        mode_of: str | None = None,
        measures: str | Sequence[str] = (),
        factors: Dimensions = (),
        weighted: bool = False,
        standard_errors: bool = False,
        picture: bool = False,
        png: bool = False,
        project: str = "",
    ) -> Answer:
        """Asks for a statistic of groups.

        Args:
            dataset: Name of the dataset.
            kind: Such as `"mean"`, `"percentiles"`, `"odds_ratio"`, `"kaplan_meier"` or `"t_test"`.
            measure: Of which measure, of a survival curve the time; none where only variables are counted.
            second: Denominators of a ratio, heights of hexagonal bins.
            groups: Variables that make the groups, as `"site"` or `"age:ten_years"`; one group without.
            filter: Such as `{"female": ["1"]}`; all conditions hold.
            having: What a proportion counts, the outcome of a ratio, the event of a survival curve, or the
                first of two samples: `{"hlthp": ["1"]}`.
            exposed: The exposed of an odds or risk ratio.
            mode_of: The variable whose mode is wanted.
            measures: Of correlations and principal components, two or more.
            factors: Two variables of a chi-squared test, one or more of an analysis of variance.
            weighted: Whether the records' weights are used.
            standard_errors: Whether they are wanted beside a mean, total, ratio, proportion, mode, variance,
                standard deviation, percentiles or a Gini coefficient.
            picture: Whether a drawing (SVG) is wanted.
            png: Whether it is wanted as PNG, too.
            project: On whose behalf it is asked.

        Raises:
            ValueError: an argument cannot be read.
            SdcgateError: no answer came, or an error. A refusal is an answer, not an error.
        """
        request = statistic_request(
            kind,
            measure,
            second=second,
            groups=groups,
            filter=filter,
            having=having,
            exposed=exposed,
            mode_of=mode_of,
            measures=measures,
            factors=factors,
            weighted=weighted,
            standard_errors=standard_errors,
            picture=picture,
            png=png,
            project=project,
        )
        response = self._send("POST", f"/v1/datasets/{_segment(dataset)}/statistics", request)
        return Answer.from_json(json_of(response), request, repeated=response.status_code == httpx.codes.OK)

    def model(
        self,
        dataset: str,
        kind: str,
        formula: str,
        *,
        filter: Filter | None = None,
        weighted: bool = False,
        standard_errors: str = "",
        quantile: float | None = None,
        groups: str = "",
        instruments: str = "",
        project: str = "",
    ) -> Answer:
        """Asks for a model.

        Args:
            dataset: Name of the dataset.
            kind: Such as `"linear"`, `"logit"` or `"poisson"`.
            formula: Such as `"meddol ~ site + numeric(age)"`.
            filter: Such as `{"female": ["1"]}`; all conditions hold.
            weighted: Whether the records' weights are used.
            standard_errors: `"classical"`, `"robust"`, `"clustered"` or `"design"`; where nothing is said, of
                the design if weights are used and classical if not.
            quantile: Of a quantile regression.
            groups: Of fixed effects and mixed models, such as `"site"`; units where left out.
            instruments: Of two-stage least squares, all exogenous terms among them.
            project: On whose behalf it is asked.

        Raises:
            SdcgateError: no answer came, or an error. A refusal is an answer, not an error.
        """
        request = model_request(
            kind,
            formula,
            filter=filter,
            weighted=weighted,
            standard_errors=standard_errors,
            quantile=quantile,
            groups=groups,
            instruments=instruments,
            project=project,
        )
        response = self._send("POST", f"/v1/datasets/{_segment(dataset)}/models", request)
        return Answer.from_json(json_of(response), request, repeated=response.status_code == httpx.codes.OK)

    def submit_output(self, dataset: str, output: Mapping[str, Any]) -> Answer:
        """Submits an output that was computed elsewhere, for a verdict; see `output_request`.

        Raises:
            SdcgateError: no answer came, or an error. A refusal is an answer, not an error.
        """
        response = self._send("POST", f"/v1/datasets/{_segment(dataset)}/outputs", output)
        return Answer.from_json(json_of(response), output, repeated=response.status_code == httpx.codes.OK)

    def submit_results(
        self, dataset: str, path: str | Path, *, project: str = "", label: str = ""
    ) -> Results:
        """Submits what a job printed, a folder or a file, for a verdict on each output in it.

        Args:
            dataset: Name of the dataset that it was computed from.
            path: A folder (ACRO's, or one with tables and their side files), a zip archive of one, or a file.
            project: On whose behalf it was computed.
            label: What it is called, for the output checker; the name of the path where left out.

        Raises:
            OSError: the path cannot be read.
            SdcgateError: no answer came, or an error. A refusal is an answer, not an error.
        """
        form = results_form(path, project, label)
        response = self._send("POST", f"/v1/datasets/{_segment(dataset)}/results", form=form)
        return Results.from_json(object_of(json_of(response)))

    def query(self, query: str) -> Answer:
        """A query asked before, by its id."""
        return Answer.from_json(self._call("GET", f"/v1/queries/{_segment(query)}"))

    def picture(self, query: str, kind: str = "bars", figure: int = 0, png: bool = False) -> Picture:
        """Bars or a pie of a one-way table or a statistic of groups that was released.

        Args:
            query: The id of the query; an answer has it as `query`.
            kind: `"bars"` or `"pie"`. A pie is drawn only where everything is shown.
            figure: Which figure of the answer, counted from 0.
            png: Whether it is wanted as PNG, too.
        """
        parameters: Parameters = [("kind", kind.upper())]
        parameters += [("figure", figure)] if figure else []
        parameters += [("png", "true")] if png else []
        place = f"/v1/queries/{_segment(query)}/picture"
        return Picture.from_json(object_of(self._call("GET", place, parameters=parameters)))

    def policy(self, *, dataset: str = "", query: str = "") -> dict[str, Any]:
        """The policy that applies to a dataset, or that applied when a query was decided, in words.

        Returns:
            `{"policy": {"name": ..., "hash": ...}, "access_level": ..., "dataset": ..., "settings": [...]}`;
            a setting has `name`, `value` and `explanation`.

        Raises:
            ValueError: not exactly one of dataset and query is named.
        """
        if bool(dataset) == bool(query):
            raise ValueError("name a dataset or a query, and not both")
        place = f"datasets/{_segment(dataset)}" if dataset else f"queries/{_segment(query)}"
        return object_of(self._call("GET", f"/v1/{place}/policy"))

    def budget(self, *, dataset: str = "", researcher: str = "", project: str = "") -> list[dict[str, Any]]:
        """What may still be asked: one's own budgets, or for who may see all those of anybody.

        Args:
            dataset: Its budgets only; those of all datasets where left out.
            researcher: Whose; needs the key of a checker, steward or operator unless it is oneself.
            project: For which project, as questions name it.

        Returns:
            Budgets with `dataset`, `holder`, `name`, `period`, `renews`, `explanation`, and `queries` and
            `cells` as `{"limit": ..., "spent": ..., "left": ...}` where they are limited.
        """
        named = {"dataset": dataset, "researcher": researcher, "project": project}
        parameters: Parameters = [(name, value) for name, value in named.items() if value]
        return _list(self._call("GET", "/v1/budget", parameters=parameters), "budgets")

    def queries(
        self, verdicts: Sequence[str] = (), page_size: int = 0, page_token: str = ""
    ) -> list[dict[str, Any]]:
        """Queries, the newest first: one's own, or for checkers everybody's; one page of them."""
        return _list(self._queries(verdicts, page_size, page_token), "queries")

    def all_queries(self, verdicts: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        """Queries as `queries` lists them, page after page, to the last."""
        token = None
        while token != "":
            page = self._queries(verdicts, LARGEST_PAGE, token or "")
            yield from _list(page, "queries")
            token = str(object_of(page).get("next_page_token") or "")

    def _queries(self, verdicts: Sequence[str], page_size: int, page_token: str) -> Any:
        parameters: Parameters = [("verdicts", verdict) for verdict in verdicts]
        if page_size:
            parameters.append(("page_size", page_size))
        if page_token:
            parameters.append(("page_token", page_token))
        return self._call("GET", "/v1/queries", parameters=parameters)

    def review(
        self, query: str, approve: bool, note: str, exception: bool = False, returned: str = ""
    ) -> Answer:
        """Approves or refuses a referred query; needs a checker's key, and not the author's.

        `exception` releases a submitted output of which nothing can be proved; the checker answers for it.
        `returned` is what the researcher is told to change, where it is not approved.
        """
        body: dict[str, Any] = {"approve": approve, "note": note}
        body |= {"exception": True} if exception else {}
        body |= {"returned": returned} if returned else {}
        return Answer.from_json(self._call("POST", f"/v1/queries/{_segment(query)}:review", body))

    def take_back(self, query: str, note: str) -> Answer:
        """Takes one's own approval back, as long as no second checker has approved: it stays referred."""
        body = {"approve": False, "take_back": True, "note": note}
        return Answer.from_json(self._call("POST", f"/v1/queries/{_segment(query)}:review", body))

    def comment(self, query: str, text: str, to_researcher: bool = False) -> Comment:
        """Writes a comment on a referred query; needs a checker's key, and not the author's.

        Other checkers read it, with `to_researcher` also who asked.
        """
        body: dict[str, Any] = {"text": text}
        body |= {"to_researcher": True} if to_researcher else {}
        return Comment.from_json(
            object_of(self._call("POST", f"/v1/queries/{_segment(query)}:comment", body))
        )

    def status(self) -> dict[str, Any]:
        """Whether queries can be answered, the software's version, and the certificates' public key."""
        return object_of(self._call("GET", "/v1/status"))


def _segment(name: str) -> str:
    """One segment of a path; a name cannot become another path."""
    if not name or name in (".", ".."):
        raise ValueError(f"{name!r} is not a name")
    return quote(name, safe="")


def _unwrapped(content: Any, name: str) -> dict[str, Any]:
    """The object, bare or within `{name: ...}`."""
    return object_of(object_of(content).get(name, content))


def _list(content: Any, name: str) -> list[dict[str, Any]]:
    items = object_of(content).get(name, [])
    if not isinstance(items, list):
        raise UnexpectedAnswer(f"{name} is not a list")
    return items
