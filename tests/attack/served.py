"""sdcgate, asked over REST with researchers' keys: four real processes."""

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import httpx

from attack.hearing import RegistrationRefusedError
from attack.publishers import Api, Estimated, Heard, Question, Regression, plain_names
from attack.world import World
from sdcgate_client.requests import model_request, table_request
from served_house import ServedHouse, cells

BAD_REQUEST = 400


class Sdcgate(Api):
    """One attack's dataset in a house that others use, too."""

    digits = 1

    def __init__(
        self,
        world: World,
        house: ServedHouse,
        name: str,
        policy: str = "",
        replica: ServedHouse | None = None,
    ) -> None:
        super().__init__(world)
        self.house = house
        self.replica = replica or house
        self.name = name
        self._policy = policy
        self._laboratories = 0
        self.register(world, name)

    def register(self, world: World, name: str, source: str = "", people: str = "") -> str:
        """As a steward: puts a file under the data root and registers it. `people`: whose ids these are."""
        (self.house.settings.data_root / f"{name}.csv").write_text(world.to_csv(people or name))
        described = world.descriptor(name, source=source)
        if self._policy:
            described["policy"] = self._policy
        registered = self.house.register(described)
        if registered.status_code != 201:
            raise RegistrationRefusedError(registered.status_code, registered.text)
        return name

    def change(self) -> str:
        return self.register(self.later, self.name)

    def rename(self, declared: bool = True) -> str | None:
        again = f"{self.name}-again"
        try:
            return self.register(self._world, again, self.name if declared else "", people=self.name)
        except RegistrationRefusedError as error:
            # Only that these people are another source's already is an answer.
            if declared or error.status != BAD_REQUEST:
                raise
            return None

    def laboratory(self, world: World) -> Api:
        self._laboratories += 1
        name = f"{self.name}-lab{self._laboratories}"
        return self._listening(Sdcgate(world, self.house, name, self._policy, self.replica))

    def at_once(self, *questions: dict[str, Any]) -> list[Heard]:
        barrier = Barrier(len(questions))

        def one(number: int) -> Heard:
            house = (self.house, self.replica)[number % 2]
            barrier.wait(10)
            return self.ask(**questions[number], house=house)

        with ThreadPoolExecutor(len(questions)) as threads:
            return list(threads.map(one, range(len(questions))))

    def submit(self, question: Question, units: Mapping[tuple[str, ...], float]) -> Heard:
        body = table_request(question.rows, question.columns, figures=question.figures)
        for place, name in enumerate(("rows", "columns")):
            for dimension in body[name]:
                found = [codes[place] for codes in units]
                listed = sorted(set(found))
                dimension |= {"codes": listed, "cells": [listed.index(code) for code in found]}
        output = {name: body[name] for name in ("rows", "columns", "figures")}
        counts = [int(value) for value in units.values()]
        output["facts"] = {"units": counts, "records": counts}
        began = time.perf_counter()
        answer = self.also("POST", f"/v1/datasets/{self.name}/outputs", output)
        return self._noted(heard(question, answer, time.perf_counter() - began))

    def peek(self, asked: Heard) -> list[Heard]:
        query = asked.content.get("query")
        if query is None:
            return []
        approve = {"approve": True, "note": "please"}
        tried = [
            self.also("GET", f"/v1/queries/{query}"),
            self.also("GET", f"/v1/queries/{query}?view=checker"),
            self.also("GET", f"/v1/queries/{query}", who="bob"),
            self.also("GET", "/v1/queries?page_size=50", who="bob"),
            self.also("POST", f"/v1/queries/{query}:review", approve),
            self.also("POST", f"/v1/queries/{query}:review", {**approve, "exception": True}, "bob"),
            self.also("POST", f"/v1/datasets/{self.name}:assess", {"scenarios": []}),
        ]
        return [self._noted(heard(asked.question, answer, 0.0)) for answer in tried]

    def _answer(
        self,
        question: Question,
        dataset: str = "",
        who: str = "ada",
        project: str = "",
        house: ServedHouse | None = None,
    ) -> Heard:
        body = table_request(
            question.rows,
            question.columns,
            question.layers,
            figures=[_figure(figure) for figure in question.figures],
            filter=question.filter,
            margins=question.margins,
            project=project,
        )
        began = time.perf_counter()
        asked = house or self.house
        answer = asked.send("POST", f"/v1/datasets/{dataset or self.name}/tables", body, who)
        return heard(question, answer, time.perf_counter() - began)

    def _estimate(self, asked: Regression, who: str = "ada") -> Estimated:
        body = model_request("LINEAR", _formula(asked), filter=asked.filter)
        answer = self.house.send("POST", f"/v1/datasets/{self.name}/models", body, who)
        content = json.loads(answer.text)
        model = content.get("model")
        if not model:
            return Estimated(verdict=content.get("verdict", "ERROR"), status=answer.status_code)
        shown = {
            one["name"]: one["estimate"] for one in model["coefficients"] if one["status"] == "PUBLISHED"
        }
        return Estimated(plain_names(shown), model["records"], content["verdict"], answer.status_code)

    def also(self, method: str, path: str, body: Any = None, who: str = "ada") -> httpx.Response:
        """Any other request with a researcher's key."""
        self.requests += 1
        return self.house.send(method, path, body, who)


def _formula(asked: Regression) -> str:
    return f"{asked.outcome} ~ {' + '.join(asked.terms) or '1'}"


def _figure(name: str) -> dict[str, str]:
    """As it is sent; also statistics that the client does not know."""
    statistic, _, measure = name.partition(":")
    return {"statistic": statistic, **({"measure": measure} if measure else {})}


def heard(question: Question, answer: httpx.Response, seconds: float) -> Heard:
    """What can be seen of a response."""
    content: Mapping[str, Any] = json.loads(answer.text) if answer.text else {}
    shown = {}
    if content.get("table"):
        columns = cells(dict(content))
        shown = {
            codes: {
                figure: value if value is None else float(value)
                for figure, value in zip(question.figures, values, strict=True)
            }
            for codes, values in columns.items()
        }
    reasons = tuple(json.dumps(reason) for reason in content.get("reasons", ()))
    verdict = content.get("verdict", "ERROR")
    return Heard(
        question,
        shown,
        verdict,
        reasons,
        answer.text,
        dict(answer.headers),
        answer.status_code,
        seconds,
        content,
    )
