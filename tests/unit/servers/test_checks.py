"""The check side over gRPC: callers' own tables in any order, with any facts; every wrong field is named."""

import itertools
import random

import grpc
import pytest

from sdcgate.servers import errors
from sdcgate.servers.authentication import KeyCaller, service_authenticator
from sdcgate.servers.channels import connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.protection import SERVICE as PROTECTION
from sdcgate.servers.protection import ProtectionServicer
from sdcgate.servers.risk import SERVICE as RISK
from sdcgate.servers.risk import RiskServicer
from sdcgate.servers.settings import GrpcServer
from sdcgate.wire.json import from_value, to_value
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2, protection_pb2_grpc
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2, risk_pb2_grpc

TOKEN = "t" * 43
REGIONS = {"variable": "region", "codes": ["n", "s", "w", "_T"]}
SIZES = {"variable": "size", "codes": ["small", "large", "_T"]}
INNER = {("n", "small"): 2, ("n", "large"): 30, ("s", "small"): 12, ("s", "large"): 31,
         ("w", "small"): 14, ("w", "large"): 15}  # fmt: skip
RULES = {"minimum_units": {"units": 5, "consequence": "PROTECT"}}
CALLS = {
    "AssessTable": risk_pb2.AssessTableRequest,
    "ProtectTable": protection_pb2.ProtectTableRequest,
    "AuditTable": protection_pb2.AuditTableRequest,
}


def cells():
    """All cells, totals too, row-major."""
    return list(itertools.product(REGIONS["codes"], SIZES["codes"]))


def value(cell, inner=INNER):
    return sum(n for key, n in inner.items() if all(c in ("_T", k) for c, k in zip(cell, key, strict=True)))


UNITS = [value(cell) for cell in cells()]
SUMS = [value(cell, {key: n * n for key, n in INNER.items()}) for cell in cells()]


@pytest.fixture(scope="module")
def call():
    ada = KeyCaller("key-1", "researcher", "ada")
    service = service_authenticator(TOKEN)

    def add(server):
        risk_pb2_grpc.add_RiskServiceServicer_to_server(RiskServicer(1000), server)
        protection_pb2_grpc.add_ProtectionServiceServicer_to_server(ProtectionServicer(1000), server)

    running = Running(
        "risk",
        add,
        [RISK, PROTECTION],
        GrpcServer(),
        lambda token: ada if token == "adas" else service(token),
    )
    running.start()
    channels = {token: connect(running.address, token) for token in ("adas", TOKEN)}

    def make(name, body, token="adas", timeout=20):
        channel, request = channels[token], from_value(body, CALLS[name])
        risk, protection = (
            risk_pb2_grpc.RiskServiceStub(channel),
            protection_pb2_grpc.ProtectionServiceStub(channel),
        )
        stub = risk if name == "AssessTable" else protection
        return to_value(getattr(stub, name)(request, timeout=timeout), {})

    make.send = risk_pb2_grpc.RiskServiceStub(channels["adas"]).AssessTable
    yield make
    for channel in channels.values():
        channel.close()
    running.stop(0)


def assess(facts, rules=RULES, dimensions=(REGIONS, SIZES), **more):
    return {"dimensions": list(dimensions), "facts": facts, "rules": rules, **more}


def protect(facts, dimensions=(REGIONS, SIZES), unsafe=(0,), **more):
    problem = {"dimensions": list(dimensions), "facts": facts, "units_additive": True, "count_width": 3,
               "records_per_unit": 1, "sum_width": 0.1, **more}  # fmt: skip
    return {"problem": problem, "unsafe": list(unsafe), "time_limit_ms": 5000}


def audit(facts, withheld, **more):
    body = protect(facts, **more)
    del body["unsafe"]
    return body | {"withheld": list(withheld)}


def bounds(leak):
    """A leak without its arithmetic."""
    return {name: leak[name] for name in ("cell", "fact", "lower", "upper")}


def wrong(call, name, body, **how):
    """Paths of what is wrong with a body, and what is said of them."""
    with pytest.raises(grpc.RpcError) as caught:
        call(name, body, **how)
    problem = errors.from_rpc_error(caught.value)
    assert type(problem) is errors.InvalidArgument, problem
    return {field.path: field.message for field in problem.fields}


def without_totals():
    inner = [{**REGIONS, "codes": ["n", "s", "w"]}, {**SIZES, "codes": ["small", "large"]}]
    return inner, [INNER[cell] for cell in itertools.product(*(d["codes"] for d in inner))]


def with_provinces():
    """The same table with n and s grouped as east."""
    regions = {"variable": "region", "codes": ["n", "s", "east", "w", "_T"], "parents": [2, 2, 4, 4, -1]}
    rows = {code: [value((code, size)) for size in SIZES["codes"]] for code in ("n", "s", "w", "_T")}
    rows["east"] = [a + b for a, b in zip(rows["n"], rows["s"], strict=True)]
    return [regions, SIZES], [n for code in regions["codes"] for n in rows[code]]


@pytest.mark.parametrize("made", [without_totals, with_provinces])
def test_tables_without_totals_and_with_hierarchies_are_checked(call, made):
    dimensions, units = made()
    answer = call("AssessTable", assess({"units": units}, dimensions=dimensions))
    assert [finding["cells"] for finding in answer["findings"]] == [[0]]
    assert answer["findings"][0]["rule"] == "MINIMUM_UNITS"
    pattern = call("ProtectTable", protect({"units": units}, dimensions=dimensions))
    assert pattern["proof"] == "PROVED"
    withheld = pattern["withheld"]
    # Without totals nothing tells of a cell; with them others have to go with it.
    assert (withheld == [0]) == (made is without_totals)
    again = call("AuditTable", audit({"units": units}, withheld, dimensions=dimensions))
    assert (again["proof"], again["unprotected"], again["leaks"]) == ("PROVED", [], [])


def test_cells_may_come_in_any_order_and_positions_are_the_callers(call):
    places = list(range(12))
    random.Random(5).shuffle(places)
    order = [cells()[place] for place in places]
    dimensions = [
        {**d, "cells": [d["codes"].index(cell[n]) for cell in order]} for n, d in enumerate((REGIONS, SIZES))
    ]
    sums = [SUMS[place] for place in places]
    facts = {
        "units": [UNITS[place] for place in places],
        "measures": [{"measure": "cost", "sums": sums, "lower_bound": 0}],
    }
    in_order = {"units": UNITS, "measures": [{"measure": "cost", "sums": SUMS, "lower_bound": 0}]}
    small = places.index(0)

    (finding,) = call("AssessTable", assess(facts, dimensions=dimensions))["findings"]
    assert finding["cells"] == [small]
    pattern = call("ProtectTable", protect(facts, dimensions, [small]))
    expected = call("ProtectTable", protect(in_order))
    assert sorted(places[cell] for cell in pattern["withheld"]) == expected["withheld"]
    assert pattern["withheld"] == sorted(pattern["withheld"])
    assert sorted(places[cell] for cell in pattern["witnesses"]["cells"]) == expected["withheld"]
    (leak,) = call("AuditTable", audit(facts, [small], dimensions=dimensions))["leaks"]
    assert bounds(leak) == {"cell": small, "fact": "units", "lower": 2, "upper": 2}
    known = call("AuditTable", audit(facts, [small], dimensions=dimensions, known=[small]))
    assert [*map(bounds, known["leaks"])] == [
        bounds(leak),
        {"cell": small, "fact": "sums of cost", "lower": 4, "upper": 4},
    ]
    assert [leak["at_most"]["steps"][0]["kind"] for leak in known["leaks"]] == ["KNOWN_CELL"] * 2
    absent = [places.index(cell) for cell in (2, 9, 11)]
    assert call("AuditTable", audit(facts, [small], dimensions=dimensions, absent=absent))["leaks"] == []


def test_a_leak_says_by_which_published_cells_and_how_often_in_the_callers_positions(call):
    places = list(range(12))
    random.Random(5).shuffle(places)
    dimensions = [
        {**REGIONS, "cells": [REGIONS["codes"].index(cells()[place][0]) for place in places]},
        {**SIZES, "cells": [SIZES["codes"].index(cells()[place][1]) for place in places]},
    ]
    units = [UNITS[place] for place in places]
    lone = places.index(cells().index(("n", "small")))
    (leak,) = call("AuditTable", audit({"units": units}, [lone], dimensions=dimensions))["leaks"]
    assert set(leak) == {"cell", "fact", "lower", "upper", "at_least", "at_most"}
    for arithmetic, word in ((leak["at_least"], "least"), (leak["at_most"], "most")):
        (step,) = arithmetic["steps"]
        assert (step["kind"], step["sense"]) == ("ADDS_UP", "EQUAL")
        assert step["hidden"] == [{"cell": lone, "fact": "units", "factor": step["factor"]}]
        for term in step["published"]:
            assert units[term["cell"]] == term["value"]
        known = step["constant"] + sum(term["factor"] * term["value"] for term in step["published"])
        assert known == step["known"]
        assert step["factor"] * known == arithmetic["bound"] == 2
        assert arithmetic["whole_numbers"] is False
        assert arithmetic["sentence"] in (
            f"32 [n, _T] - 30 [n, large] = at {word} 2",
            f"28 [_T, small] - 12 [s, small] - 14 [w, small] = at {word} 2",
        )


def test_a_pattern_that_leaks_names_the_cells_and_what_can_be_worked_out(call):
    answer = call("AuditTable", audit({"units": UNITS}, [0, 1, 4], zeros_withheld=True))
    assert answer["proof"] == "REFUTED"
    assert answer["unprotected"] == [0, 1, 4]
    assert [*map(bounds, answer["leaks"])] == [
        {"cell": 0, "fact": "units", "lower": 2, "upper": 2},
        {"cell": 1, "fact": "units", "lower": 30, "upper": 30},
        {"cell": 4, "fact": "units", "lower": 31, "upper": 31},
    ]
    narrow = call("AuditTable", audit({"units": UNITS}, [0, 1, 3, 4], zeros_withheld=True, count_width=40))
    assert bounds(narrow["leaks"][0]) == {"cell": 0, "fact": "units", "lower": 0, "upper": 14}


@pytest.mark.parametrize(
    ("facts", "absent"),
    [
        ({"units": UNITS}, []),
        ({"records": UNITS}, ["units"]),
        ({"measures": [{"measure": "cost", "sums": SUMS, "lower_bound": 0}]}, ["units"]),
        ({"units": UNITS, "measures": [{"measure": "cost", "sums": SUMS}]},
         ["valid_units of cost", "valid_records of cost"]),
        ({"units": UNITS, "measures": [{"measure": "cost", "valid_units": UNITS}]}, []),
        ({"units": UNITS, "records": UNITS, "measures": [{"measure": "cost", "valid_units": UNITS}]},
         ["valid_records of cost"]),
    ],
)  # fmt: skip
def test_what_is_not_given_is_said_to_be_unchecked(call, facts, absent):
    answer = call("AssessTable", assess(facts))
    assert (answer["unchecked"], set(answer["absent"]) >= set(absent)) == (
        ["MINIMUM_UNITS"] if absent else [], True,
    )  # fmt: skip
    found = {cell for finding in answer["findings"] for cell in finding["cells"]}
    assert found == ({0} if "units" in facts or "records" in facts else set())


def test_base_and_key_are_unchecked_unless_given_and_an_empty_base_is_given(call):
    rules = {
        "minimum_base": {"units": 200, "consequence": "REFUSE"},
        "individual_risk": {"maximum_share": 0.1, "all_cells": True, "consequence": "REFUSE"},
    }
    answer = call("AssessTable", assess({"units": UNITS}, rules))
    assert answer["unchecked"] == ["MINIMUM_BASE", "INDIVIDUAL_RISK"]
    assert answer["absent"] == ["base_units", "key"]
    key = {"frequencies": [4, 100], "weight_sums": [400, 10000]}
    answer = call("AssessTable", assess({"units": UNITS}, rules, base_units=104, key=key))
    assert [finding["rule"] for finding in answer["findings"]] == ["MINIMUM_BASE"]
    assert answer["unchecked"] == []
    answer = call("AssessTable", assess({"units": UNITS}, rules, base_units=0))
    assert answer["findings"][0] == {"rule": "MINIMUM_BASE", "consequence": "REFUSE", "cells": [],
                                     "measure": "", "figure": 0, "bound": 200}  # fmt: skip


def test_a_base_that_is_smaller_than_a_cell_is_a_contradiction(call):
    assert call("AssessTable", assess({"units": UNITS}, base_units=104))["findings"]
    assert wrong(call, "AssessTable", assess({"units": UNITS}, base_units=103)).keys() == {"base_units"}


def test_concentration_of_a_table_of_sums_alone(call):
    measure = {"measure": "turnover", "sums": [90, 10, 100], "ranks": 2, "largest": [80, 10, 6, 4, 80, 10],
               "lower_bound": 0}  # fmt: skip
    rules = {"dominance": [{"largest": 1, "share": 0.7, "consequence": "PROTECT"}],
             "p_percent": {"share": 0.1, "consequence": "PROTECT"}}  # fmt: skip
    size = {"variable": "size", "codes": ["small", "large", "_T"]}
    answer = call("AssessTable", assess({"measures": [measure]}, rules, dimensions=[size]))
    assert [(f["rule"], f["cells"], f["measure"]) for f in answer["findings"]] == [
        ("DOMINANCE", [0, 2], "turnover"),
        ("P_PERCENT", [0, 1], "turnover"),
    ]
    assert answer["unchecked"] == []
    del measure["lower_bound"]
    answer = call("AssessTable", assess({"measures": [measure]}, rules, dimensions=[size]))
    assert answer["unchecked"] == ["DOMINANCE", "P_PERCENT"]
    assert answer["absent"] == ["absolute_sums of turnover"]


def test_sums_alone_are_protected_and_counts_said_to_be_unchecked(call):
    facts = {"measures": [{"measure": "cost", "sums": SUMS, "lower_bound": 0}]}
    pattern = call("ProtectTable", protect(facts))
    assert (pattern["proof"], pattern["unchecked"]) == ("PROVED", ["units", "records"])
    assert len(pattern["withheld"]) == 4
    witnesses = pattern["witnesses"]
    assert (witnesses["records"], witnesses["units"]) == ([], [])
    assert len(witnesses["sums"]) == witnesses["tables"] * len(witnesses["cells"])
    lone = call("AuditTable", audit(facts, [0]))
    assert [*map(bounds, lone["leaks"])] == [{"cell": 0, "fact": "sums of cost", "lower": 4, "upper": 4}]


def test_records_of_panels_alone_leave_units_unchecked(call):
    pattern = call("ProtectTable", protect({"records": UNITS}, records_per_unit=5))
    assert (pattern["proof"], pattern["unchecked"], pattern["witnesses"]["units"]) == (
        "PROVED",
        ["units"],
        [],
    )
    unbounded = {"units": UNITS, "measures": [{"measure": "a", "sums": SUMS}, {"measure": "b"}]}
    pattern = call("ProtectTable", protect(unbounded))
    assert (pattern["proof"], pattern["unchecked"]) == ("UNPROVED", ["bounds of a", "sums of b"])


NAN, INFINITE = float("nan"), float("inf")


def altered(column, **at):
    copy = list(column)
    for place, new in at.items():
        copy[int(place[1:])] = new
    return copy


def test_everything_that_is_wrong_with_a_table_is_told_at_once(call):
    facts = {
        "units": altered(UNITS, _3=-1),
        "records": UNITS[:-1],
        "weight_sums": altered(map(float, UNITS), _0=-1.0),
        "measures": [
            {
                "measure": "cost",
                "sums": UNITS[2:],
                "ranks": 2,
                "largest": [1.0],
                "upper_bound": 1,
                "lower_bound": 2,
            },
            {"measure": "cost", "valid_units": [-5] * 12},
        ],
    }
    bad = {**REGIONS, "parents": [7, 3, 3, -1]}
    rules = {"dominance": [{"largest": 17, "share": 2, "consequence": "PROTECT"}]}
    key = {"frequencies": [-1], "weight_sums": [1, 2]}
    found = wrong(call, "AssessTable", assess(facts, rules, key=key))
    assert found.keys() == {
        "facts.units",
        "facts.records",
        "facts.weight_sums",
        "facts.measures",
        "facts.measures[0].sums",
        "facts.measures[0].largest",
        "facts.measures[0].lower_bound",
        "facts.measures[1].valid_units",
        "rules.dominance[0].largest",
        "rules.dominance[0].share",
        "key.frequencies",
        "key.weight_sums",
    }
    assert found["facts.units"] == "must not be negative (positions 3)"
    found = wrong(call, "AssessTable", assess(facts, rules, dimensions=[bad, SIZES], key=key))
    assert {"dimensions[0].parents", "rules.dominance[0].share", "key.weight_sums"} <= found.keys()


def test_everything_that_is_wrong_with_a_problem_is_told_at_once(call):
    body = protect({"units": altered(UNITS, _0=-2), "measures": [{"measure": "cost", "sums": SUMS[1:]}]},
                   unsafe=[99], known=[1, 1], absent=[12], count_width=0)  # fmt: skip
    body["time_limit_ms"] = 0
    assert wrong(call, "ProtectTable", body).keys() == {
        "unsafe",
        "time_limit_ms",
        "problem.known",
        "problem.absent",
        "problem.count_width",
        "problem.facts.units",
        "problem.facts.measures[0].sums",
    }
    sums = [{"cells": [0, 99]}, {"cells": [1], "measure": "income"}]
    known = [{"measure": "income", "cells": [1]}, {"measure": "cost", "cells": [-0, 0]}]
    facts = {"units": UNITS, "measures": [{"measure": "cost", "sums": SUMS, "lower_bound": 0}]}
    assert wrong(call, "AuditTable", audit(facts, [0], known_sums=sums, known_measures=known)).keys() == {
        "problem.known_sums[0].cells",
        "problem.known_sums[1].measure",
        "problem.known_measures[0].measure",
        "problem.known_measures[1].cells",
    }


@pytest.mark.parametrize("name", CALLS)
def test_totals_that_contradict_their_parts_are_named_where_they_stand(call, name):
    facts = {"units": altered(UNITS, _2=40, _11=200)}
    body = (
        assess(facts)
        if name == "AssessTable"
        else protect(facts)
        if name == "ProtectTable"
        else audit(facts, [0])
    )
    path = "facts" if name == "AssessTable" else "problem.facts"
    told = wrong(call, name, body)
    assert told.keys() == {f"{path}.units"}
    assert "must be the sum of the parts where a code has parts (positions 2, 11)" in told[f"{path}.units"]
    assert "200" not in str(told)


@pytest.mark.parametrize("name", ["ProtectTable", "AuditTable"])
def test_totals_that_are_no_sums_are_told_beside_what_else_is_wrong_with_the_facts(call, name):
    records, sums = altered(UNITS, _0=1, _11=200), altered(SUMS, _2=1e6)
    facts = {"units": altered(UNITS, _0=2), "records": records, "measures": [{"measure": "x", "sums": sums}]}
    told = wrong(call, name, protect(facts) if name == "ProtectTable" else audit(facts, [0]))
    assert told.keys() == {f"problem.facts.{column}" for column in ("units", "records", "measures[0].sums")}
    assert told["problem.facts.units"].startswith("must not exceed records")
    assert "sum of the parts" in told["problem.facts.records"]
    assert "sum of the parts" in told["problem.facts.measures[0].sums"]


def test_totals_are_named_as_the_caller_has_his_cells(call):
    turned = [{**d, "cells": list(reversed([d["codes"].index(cell[n]) for cell in cells()]))}
              for n, d in enumerate((REGIONS, SIZES))]  # fmt: skip
    facts = {"units": list(reversed(altered(UNITS, _2=40)))}
    told = wrong(call, "AssessTable", assess(facts, dimensions=turned))
    assert "(positions 0, 9), as each unit has one record" in told["facts.units"]
    beside = {"units": list(reversed(altered(UNITS, _2=40))), "records": [2 * n for n in reversed(UNITS)]}
    told = wrong(call, "AssessTable", assess(beside, dimensions=turned))
    assert told == {
        "facts.units": "must lie between the largest part and the sum of the parts where a code has parts "
        "(positions 9)"
    }
    told = wrong(call, "AssessTable", assess({"records": beside["units"]}, dimensions=turned))
    assert told.keys() == {"facts.records"}


@pytest.mark.parametrize(
    ("facts", "path"),
    [
        ({"units": UNITS, "weight_sums": altered(UNITS, _1=NAN)}, "facts.weight_sums"),
        ({"units": UNITS, "households": altered(UNITS, _1=INFINITE)}, "facts.households"),
        ({"units": UNITS, "households": altered(UNITS, _1=31)}, "facts.households"),
        ({"units": UNITS, "records": altered(UNITS, _1=29)}, "facts.units"),
        ({"units": UNITS, "measures": [{"measure": "a", "sums": altered(SUMS, _1=NAN)}]},
         "facts.measures[0].sums"),
        ({"units": UNITS, "measures": [{"measure": "a", "minima": UNITS, "maxima": altered(UNITS, _0=1)}]},
         "facts.measures[0].minima"),
        ({"measures": [{"measure": "a", "ranks": 1, "largest": SUMS, "absolute_sums": UNITS}]},
         "facts.measures[0].largest"),
        ({"units": UNITS, "measures": [{"measure": "a", "largest": SUMS}]}, "facts.measures[0].largest"),
        ({"units": UNITS, "measures": [{"measure": "a", "ranks": 2, "largest": [1, 2] * 12}]},
         "facts.measures[0].largest"),
        ({"units": UNITS, "measures": [{"measure": "a", "valid_units": altered(UNITS, _0=3)}]},
         "facts.measures[0].valid_units"),
        ({"units": UNITS, "measures": [{"measure": "a", "lower_bound": NAN}]}, "facts.measures[0]"),
        ({"units": UNITS, "measures": [{"measure": ""}]}, "facts.measures[0].measure"),
    ],
)  # fmt: skip
def test_impossible_facts_are_named(call, facts, path):
    request = risk_pb2.AssessTableRequest()
    try:
        body = assess(facts)
        from_value(body, risk_pb2.AssessTableRequest)
    except ValueError:
        # JSON has no NaN; a gRPC caller can send one.
        request = from_value(assess({"units": UNITS}), risk_pb2.AssessTableRequest)
        _fill(request.facts, facts)
        body = request
    found = wrong_message(call, body) if body is request else wrong(call, "AssessTable", body)
    assert path in found


def _fill(message, facts):
    for name, column in facts.items():
        if name == "measures":
            for measure in column:
                made = message.measures.add(measure=measure["measure"])
                for of, values in measure.items():
                    if isinstance(values, list):
                        getattr(made, of).extend(values)
                    else:
                        setattr(made, of, values)
        elif name != "units":
            getattr(message, name).extend(column)


def wrong_message(call, request):
    with pytest.raises(grpc.RpcError) as caught:
        call.send(request)
    return {field.path for field in errors.from_rpc_error(caught.value).fields}


def test_people_get_smaller_tables_than_services(call):
    wide = {"variable": "a", "codes": [str(code) for code in range(1001)]}
    body = assess({"units": [9] * 1001}, dimensions=[wide])
    assert "at most 1000 " in wrong(call, "AssessTable", body)["dimensions"]
    assert call("AssessTable", body, token=TOKEN)["findings"] == []
    body = protect({"units": [9] * 1001}, dimensions=[wide])
    assert "at most 1000 " in wrong(call, "ProtectTable", body)["problem.dimensions"]


def test_a_thousand_million_cells_are_refused_before_anything_is_made(call):
    dimensions = [{"variable": name, "codes": [str(c) for c in range(1000)]} for name in "abc"]
    for name, body in (("AssessTable", assess({"units": [1]}, dimensions=dimensions)),
                       ("AuditTable", audit({"units": [1]}, [], dimensions=dimensions))):  # fmt: skip
        for token in ("adas", TOKEN):
            assert "span 1000000000 cells" in str(wrong(call, name, body, token=token))


def test_no_more_time_is_spent_than_the_caller_waits(call):
    # Time enough to say "unproved", however long the limit.
    body = protect({"units": UNITS}) | {"time_limit_ms": 600_000}
    assert call("ProtectTable", body, timeout=2)["proof"] == "PROVED"
