"""RedesignTable over gRPC: a caller's table with nested levels, and what of it would pass."""

import grpc
import pytest

from protection_server import served_protection
from sdcgate.servers import errors
from sdcgate.servers.openapi_redesign_examples import REDESIGNED, redesigned
from sdcgate.wire.json import from_value, to_value
from sdcgate_proto.sdcgate.protection.v1 import redesign_pb2

RULES = {"minimum_units": {"units": 5, "consequence": "PROTECT"}}
AREA = {"variable": "area", "codes": ["n1", "n2", "north", "s1", "s2", "south", "_T"],
        "parents": [2, 2, 6, 5, 5, 6, -1]}  # fmt: skip
SEX = {"variable": "sex", "codes": ["f", "m", "_T"]}
INNER = {"n1": (3, 30), "n2": (20, 21), "s1": (22, 23), "s2": (24, 25)}


@pytest.fixture(scope="module")
def redesign():
    with served_protection() as stub:

        def call(**body):
            body = {"time_limit_ms": 5000, "rules": RULES, **body}
            request = from_value(body, redesign_pb2.RedesignTableRequest)
            return to_value(stub.RedesignTable(request, timeout=20), {})

        yield call


def units():
    rows = {**INNER, "north": sums("n1", "n2"), "south": sums("s1", "s2"), "_T": sums(*INNER)}
    return [n for code in AREA["codes"] for n in (*rows[code], sum(rows[code]))]


def sums(*towns):
    return tuple(sum(INNER[town][place] for town in towns) for place in (0, 1))


def told(design):
    """Categories of each dimension, and what is dropped."""
    kept = {d["variable"]: [c["code"] for c in d["categories"]] for d in design["dimensions"]}
    return kept, design["dropped"]


def test_the_designs_have_the_codes_of_the_callers_levels(redesign):
    found = redesign(dimensions=[AREA, SEX], facts={"units": units()})
    assert [told(design) for design in found["designs"]] == [
        ({"area": ["n1", "n2", "s1", "s2"]}, ["sex"]),
        ({"area": ["north", "south"], "sex": ["f", "m"]}, []),
    ]
    assert found["finished"]
    assert found["unchecked"] == found["absent"] == []
    assert [design["cells"] for design in found["designs"]] == [4, 4]


def test_adjacent_categories_are_joined_where_the_caller_says_so(redesign):
    found = redesign(
        dimensions=[AREA, SEX], facts={"units": units()}, mergeable=["area"], kept=["sex"], designs=1
    )
    (design,) = found["designs"]
    assert told(design) == ({"area": ["north", "s1", "s2"], "sex": ["f", "m"]}, [])
    assert design["dimensions"][0]["categories"][0] == {"code": "north", "codes": ["n1", "n2"]}
    assert 0 < design["loss"] < 0.2


def test_cells_may_come_in_any_order(redesign):
    dimensions = [{**AREA, "cells": [cell // 3 for cell in reversed(range(21))]},
                  {**SEX, "cells": [cell % 3 for cell in reversed(range(21))]}]  # fmt: skip
    turned = redesign(dimensions=dimensions, facts={"units": units()[::-1]})
    assert turned == redesign(dimensions=[AREA, SEX], facts={"units": units()})


def test_the_example_of_the_document_is_what_comes_out(redesign):
    found = redesign(**REDESIGNED)
    expected = to_value(redesigned(), {})
    for made, shown in zip(found["designs"], expected["designs"], strict=True):
        assert made["dimensions"] == shown["dimensions"]
        assert made["dropped"] == shown["dropped"]
        assert made["loss"] == pytest.approx(shown["loss"], abs=1e-3)
        assert made["entropy"] == pytest.approx(shown["entropy"], abs=1e-3)
    assert found["judged"] == expected["judged"]


def test_a_rule_without_its_facts_is_named_and_nothing_is_proposed(redesign):
    rules = {**RULES, "minimum_households": {"households": 3, "consequence": "PROTECT"}}
    found = redesign(dimensions=[AREA, SEX], facts={"units": units()}, rules=rules)
    assert (found["designs"], found["unchecked"], found["absent"]) == (
        [],
        ["MINIMUM_HOUSEHOLDS"],
        ["households"],
    )


def test_all_that_is_wrong_is_named_at_once(redesign):
    wrong = units()
    wrong[2] += 1
    with pytest.raises(grpc.RpcError) as caught:
        redesign(dimensions=[AREA, SEX], facts={"units": wrong}, mergeable=["ages"], kept=["sexes"])
    problem = errors.from_rpc_error(caught.value)
    assert {field.path for field in problem.fields} >= {"mergeable[0]", "kept[0]", "facts.units"}
    with pytest.raises(grpc.RpcError) as caught:
        redesign(dimensions=[AREA, SEX], facts={})
    assert [field.path for field in errors.from_rpc_error(caught.value).fields] == ["facts.units"]
