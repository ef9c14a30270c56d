"""Requests that are answered, for every call; what is changed in them reaches the inside."""

import json
import random
from typing import TYPE_CHECKING

import pyarrow as pa
from google.protobuf.message import Message

from fuzz.calls import sent
from made_files import PEOPLE
from printed_results import acro_folder, entry, zipped
from sdcgate.servers import openapi_examples
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import admission_pb2, budget_pb2
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.protection.v1 import microdata_pb2 as protection_microdata_pb2
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2, redesign_pb2
from sdcgate_proto.sdcgate.risk.v1 import confidentiality_map_pb2 as pb_map
from sdcgate_proto.sdcgate.risk.v1 import linkage_pb2, models_pb2, recodings_pb2, risk_pb2, statistics_pb2
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb_risk

if TYPE_CHECKING:
    from fuzz.house_under_fire import HouseUnderFire

SWAPPED_RECORDS = {
    "record_swapping": {
        "hierarchy": ["weight"],
        "similar": [{"variables": ["region"]}, {}],
        "risk_variables": ["age"],
        "swap_rate": 0.3,
        "carry_along": ["id"],
        "tables": [{"variables": ["age", "region"]}],
    }
}
SWAPPED_RANKS = {
    "rank_swapping": {
        "variables": [{"column": "age"}, {"column": "region", "order": ["n", "s"]}],
        "rank_share": 0.1,
    }
}
TABLE = {
    "dataset": "people",
    "rows": [{"variable": "region", "level": "part"}],
    "columns": [{"variable": "age", "level": "five"}],
    "figures": [
        {"statistic": "UNITS"},
        {"statistic": "MEAN", "measure": "income"},
        {"statistic": "ROW_PERCENT"},
    ],
    "filter": [{"variable": "ill", "codes": ["0"]}],
    "margins": True,
    "project": "fuzz",
}
MODEL = {
    "dataset": "people",
    "kind": "LINEAR",
    "formula": 'income ~ C(region, level="part") + square(age)',
    "filter": [{"variable": "ill", "codes": ["0"]}],
    "project": "fuzz",
}
STATISTIC = {
    "dataset": "people",
    "kind": "MEAN",
    "measure": "income",
    "groups": [{"variable": "region", "level": "part"}],
    "filter": [{"variable": "ill", "codes": ["0"]}],
    "standard_errors": True,
    "project": "fuzz",
}
SURVIVAL = {
    "dataset": "people",
    "kind": "KAPLAN_MEIER",
    "measure": "income",
    "groups": [{"variable": "region", "level": "part"}],
    "having": {"variable": "ill", "codes": ["1"]},
}
VARIANCE = {
    "dataset": "people",
    "kind": "ANALYSIS_OF_VARIANCE",
    "measure": "income",
    "factors": [{"variable": "region", "level": "part"}, {"variable": "ill"}],
}
SMALL_TABLE = {
    "dataset": "people",
    "rows": [{"variable": "region"}],
    "layers": [{"variable": "age"}],
    "margins": True,
}
DIMENSIONS = [
    {"variable": "a", "level": "a", "codes": ["1", "2", "_T"], "parents": [2, 2, -1], "identifying": True},
    {"variable": "b", "level": "b", "codes": ["0", "1", "_T"], "parents": [2, 2, -1], "sensitive": True,
     "harmless": ["0"]},
]  # fmt: skip
COUNTS = [2, 9, 11, 8, 12, 20, 10, 21, 31]
FACTS = {
    "units": COUNTS,
    "records": [count * 2 for count in COUNTS],
    "households": [count / 2 for count in COUNTS],
    "weight_sums": [count * 10.5 for count in COUNTS],
    "unit_weight_sums": [count * 10.0 for count in COUNTS],
    "measures": [
        {
            "measure": "x",
            "sums": [count * 3.0 for count in COUNTS],
            "valid_records": COUNTS,
            "valid_units": COUNTS,
            "largest": [figure for count in COUNTS for figure in (3.0, 3.0, 0.0)],
            "ranks": 3,
            "absolute_sums": [count * 3.0 for count in COUNTS],
            "minima": [1.0] * 9,
            "maxima": [5.0] * 9,
            "lower_bound": 0.0,
            "upper_bound": 100.0,
            "lacking_units": [0] * 9,
        }
    ],
}
RULES = {
    "minimum_units": {"units": 3, "consequence": "PROTECT"},
    "minimum_households": {"households": 2.0, "consequence": "PROTECT"},
    "minimum_base": {"units": 10, "consequence": "REFUSE"},
    "dominance": [{"largest": 2, "share": 0.8, "consequence": "PROTECT"}],
    "p_percent": {"share": 0.1, "consequence": "PROTECT"},
    "group_disclosure": {"share": 0.9, "consequence": "PROTECT"},
    "equal_values": {"tolerance": 0.01, "consequence": "PROTECT"},
    "individual_risk": {"maximum_share": 0.01, "all_cells": True, "consequence": "REFER"},
}
OUTPUT = {
    "dataset": "people",
    "rows": [
        {
            "variable": "region",
            "level": "part",
            "codes": ["north", "south", "_U", "_T"],
            "cells": [0, 1, 2, 3],
        }
    ],
    "figures": [{"statistic": "UNITS"}, {"statistic": "MEAN", "measure": "income"}],
    "facts": {
        "units": [170, 160, 70, 400],
        "records": [250, 250, 100, 600],
        "measures": [{"measure": "income", "sums": [1.0, 2.0, 3.0, 6.0], "valid_records": [90, 80, 70, 240]}],
    },
    "project": "fuzz",
}
RESULTS = {"dataset": "people", "project": "fuzz", "label": "job"}
KEY = {"frequencies": [11, 20], "weight_sums": [110.0, 200.0]}
ASSESSED = {"dimensions": DIMENSIONS, "facts": FACTS, "rules": RULES, "key": KEY, "base_units": 31}
ESTIMATED = {"frequencies": [1, 2, 30], "weight_sums": [10.5, 40.0, 300.0], "approximations": ["SDCMICRO"]}
ESTIMATED_BY_CODES = {
    "columns": [{"codes": [0, 1, -1, 1]}, {"codes": [0, 0, 1, 0]}],
    "weights": [1.5, 2.0, 3.0, 4.0],
    "missing": "WILDCARD",
    "quality": 0.9,
}
OPTIONS = {
    "keys": ["region", "age"],
    "weight": "weight",
    "unit": "id",
    "household": "household",
    "dimensions": 2,
}
WITH_SCENARIOS = {
    "keys": ["region", "age"],
    "weight": "weight",
    "household": "household",
    "missing_texts": ["?"],
    "scenarios": [
        {"name": "roll", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["region", "age"], "quality": 0.9},
        {"name": "register", "kind": "HOUSEHOLD_ARCHIVE", "keys": ["age"], "threshold": 0.05},
    ],
}
WITH_NUMBERS = {
    "keys": ["region"],
    "weight": "weight",
    "numbers": [{"column": "age", "width": 2.0}, {"column": "weight", "relative": 0.1}],
    "neighbours": 2,
}
MAPPED = {"mean": 1.0, "noise": [0.5], "recodings": [{"cut_offs": [0.0, 2.5]}]}
BESIDE = {
    "other": {"version": 1, "keys": ["region", "age:five"]},
    "numbers": [{"column": "income", "relative": 0.1}],
    "neighbours": 2,
}
RECODED = {
    "keys": [
        {"column": "age", "levels": [{"name": "five", "band_width": 5}, {"name": "ten", "band_width": 10}]},
        {"column": "region", "levels": [{"name": "all", "codes": ["n", "s"], "parents": ["x", "x"]}]},
    ],
    "weight": "weight",
    "unit": "id",
    "interest": "age",
    "access_levels": [{"access_level": "remote", "maximum_share": 0.5}],
    "table_dimensions": 2,
}
LINKED = [
    {
        "method": "DISTANCE",
        "variables": [
            {"column": "age", "kind": "NUMERIC", "weight": 2.0},
            {"column": "region", "kind": "NOMINAL"},
            {"column": "household", "kind": "ORDINAL"},
        ],
        "id": "id",
        "metric": "MANHATTAN",
        "standardisation": "RANGE",
    },
    {
        "method": "PROBABILISTIC",
        "variables": [{"column": "age", "kind": "ORDINAL"}, {"column": "household", "kind": "NOMINAL"}],
        "blocks": ["region"],
        "same_order": True,
        "matches": 60,
    },
    {"method": "INTERVAL", "variables": [{"column": "age", "kind": "NUMERIC"}], "same_order": True},
    {"method": "POPULATION_COUNTS", "variables": [{"column": "region", "kind": "NOMINAL"}], "count": "age"},
]
PROBLEM = {
    "dimensions": DIMENSIONS,
    "facts": FACTS,
    "units_additive": True,
    "count_width": 3,
    "sum_width": 0.1,
    "records_per_unit": 4,
    "known": [8],
    "costs": [1.0, 2.0, 3.0, 4.0, 5.5, 6.0, 7.0, 8.0, 9.0],
    "known_measures": [{"measure": "x", "cells": [8]}],
    "known_sums": [{"cells": [0, 1]}, {"cells": [3, 4], "measure": "x"}],
}
PLAIN = {
    "dimensions": DIMENSIONS,
    "facts": {"units": COUNTS, "records": COUNTS},
    "count_width": 1,
    "records_per_unit": 1,
}

_ALL = {"fact": "UNITS", "cells": [*range(9)]}
TOLD = PLAIN | {
    "published_ratios": [
        {
            "numerators": {"fact": "UNITS", "cells": [0, 1]},
            "denominators": {"fact": "RECORDS", "cells": [2, 2]},
            "values": [100 * COUNTS[0] / COUNTS[2], 100 * COUNTS[1] / COUNTS[2]],
            "half_widths": [0.05],
            "times": 100.0,
        }
    ],
    "rounded_values": [{"facts": _ALL, "values": [float(count) for count in COUNTS], "half_widths": [2.5]}],
    "cell_bounds": [
        {
            "facts": {"fact": "RECORDS", "cells": [0, 3]},
            "lower": [0.0, 0.0],
            "upper": [2.0 * COUNTS[0], 2.0 * COUNTS[3]],
        }
    ],
}

LINKED_TABLES = [{"problem": PLAIN, "cells": [1]}, {"problem": PLAIN, "cells": [0, 4]}]

ADMISSION = {
    "researchers": ["researcher"],
    "datasets": ["people"],
    "label": "somebody",
    "valid_from": "2026-01-01",
    "valid_until": "2030-12-31",
}

PUBLISHED = {"dataset": "people", "rows": [{"variable": "region"}], "published": "yearbook, table 3"}

SCENARIOS = [
    {"name": "roll", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["region:part", "age"], "quality": 0.9},
    {"name": "register", "kind": "HOUSEHOLD_ARCHIVE", "keys": ["region", "age"], "threshold": 0.05},
    {"name": "friend", "kind": "NOSY_NEIGHBOUR", "keys": ["age:five", "ill"], "response_known": True},
]

ROLES = {
    "RegisterDataset": "steward",
    "AssessDataset": "steward",
    "EnterKnowledge": "steward",
    "ReviewQuery": "checker",
    "CommentQuery": "checker",
    "ReviewAdmission": "steward",
    "WithdrawAdmission": "steward",
    "SubmitOutput": "portal",
    "SubmitResults": "portal",
}
"""Who may call; a researcher where nothing is said."""


def prepare(house: "HouseUnderFire") -> None:
    """Register the file, ask a table, and note good requests of each call."""
    register = from_value({"descriptor": PEOPLE}, pb.RegisterDatasetRequest)
    ask = from_value(TABLE, pb.QueryTableRequest)
    house.good = {
        "RegisterDataset": [register],
        "QueryTable": [ask, from_value(SMALL_TABLE, pb.QueryTableRequest)],
    }
    _asked(house, "RegisterDataset", register, "steward")
    query = pb.QueryTableResponse.FromString(_asked(house, "QueryTable", ask, "researcher")).decision.query
    house.good |= {
        "ListDatasets": [pb.ListDatasetsRequest()],
        "GetDataset": [pb.GetDatasetRequest(dataset="people")],
        "AssessDataset": [
            from_value({"dataset": "people", "scenarios": SCENARIOS}, pb.AssessDatasetRequest),
            pb.AssessDatasetRequest(dataset="people"),
            from_value({"dataset": "people", **BESIDE}, pb.AssessDatasetRequest),
        ],
        "EnterKnowledge": [from_value(PUBLISHED, pb.EnterKnowledgeRequest)],
        "GetQuery": [pb.GetQueryRequest(query=query)],
        "DrawQuery": [pb.DrawQueryRequest(query=_one_way(house), kind=1, png=True)],
        "ListQueries": [pb.ListQueriesRequest(verdicts=[1, 2], page_size=10, page_token=query)],
        "GetStatus": [pb.GetStatusRequest()],
        "GetBudget": [
            budget_pb2.GetBudgetRequest(dataset="people", project="demo"),
            budget_pb2.GetBudgetRequest(),
        ],
        "GetCaller": [pb.GetCallerRequest()],
        "GetPolicy": [pb.GetPolicyRequest(dataset="people"), pb.GetPolicyRequest(query=query)],
        "SubmitOutput": [_output()],
        "SubmitResults": [submitted_results()],
        "EstimateIndividualRisk": [
            from_value(ESTIMATED, pb_risk.EstimateIndividualRiskRequest),
            from_value(ESTIMATED_BY_CODES, pb_risk.EstimateIndividualRiskRequest),
        ],
        "MapConfidentiality": [from_value(MAPPED, pb_map.MapConfidentialityRequest)],
        "AssessMicrodata": [
            assessed_file(OPTIONS),
            assessed_file(WITH_SCENARIOS),
            assessed_file(WITH_NUMBERS),
        ],
        "CompareRecodings": [recoded_file()],
        "LinkRecords": [linked_files(options) for options in LINKED],
        "AssessTable": [from_value(ASSESSED, risk_pb2.AssessTableRequest)],
        "AssessModel": [from_value(openapi_examples.BODIES["AssessModel"], models_pb2.AssessModelRequest)],
        "QueryModel": [from_value(MODEL, pb.QueryModelRequest)],
        "QueryStatistic": [
            from_value(asked, pb.QueryStatisticRequest) for asked in (STATISTIC, SURVIVAL, VARIANCE)
        ],
        "AssessStatistic": [
            from_value(openapi_examples.BODIES["AssessStatistic"], statistics_pb2.AssessStatisticRequest)
        ],
        "ProtectTable": [
            _protection(PROBLEM, "unsafe"),
            _protection(PLAIN, "unsafe"),
            _protection(PLAIN, "unsafe", exact=True, intervals=True, linked=LINKED_TABLES),
        ],
        "ProtectMicrodata": [protected_file(SWAPPED_RECORDS), protected_file(SWAPPED_RANKS)],
        "AuditTable": [
            _protection(PROBLEM, "withheld"),
            _protection(PLAIN, "withheld", intervals=True, linked=LINKED_TABLES),
            _protection(TOLD, "withheld", intervals=True, integral=True),
        ],
        "RedesignTable": [
            from_value(openapi_examples.BODIES["RedesignTable"], redesign_pb2.RedesignTableRequest)
        ],
    }

    house.good["RequestAdmission"] = [from_value(ADMISSION, admission_pb2.RequestAdmissionRequest)]
    house.good["ListAdmissions"] = [admission_pb2.ListAdmissionsRequest(states=[1, 2], page_size=10)]
    for _ in range(30):
        _request_admission(house)
    for number in range(30):
        query = _referred(house, number)
        review = pb.ReviewQueryRequest(query=query, approve=True, exception=True, note="looked at")
        house.once.setdefault("ReviewQuery", []).append(review)
    house.good["CommentQuery"] = [pb.CommentQueryRequest(query=_referred(house, 30), text="why so fine?")]


def register_again(house: "HouseUnderFire") -> None:
    """Let the good file be the newest version: a changed descriptor may have been taken for one."""
    (request,) = house.good["RegisterDataset"]
    _asked(house, "RegisterDataset", request, "steward")


def _one_way(house: "HouseUnderFire") -> str:
    """A released table of one variable."""
    ask = from_value({"dataset": "people", "rows": TABLE["rows"], "margins": True}, pb.QueryTableRequest)
    answered = pb.QueryTableResponse.FromString(_asked(house, "QueryTable", ask, "researcher"))
    return answered.decision.query


def _referred(house: "HouseUnderFire", number: int) -> str:
    """A query that waits for a checker."""
    odd = _output(f"{number}")
    odd.rows[0].variable = "unregistered"
    referred = pb.SubmitOutputResponse.FromString(_asked(house, "SubmitOutput", odd, "portal")).decision
    assert referred.verdict == pb.VERDICT_REFERRED
    return referred.query


def _request_admission(house: "HouseUnderFire") -> None:
    """Two requests, one to be reviewed and one to be withdrawn."""
    for rpc, more in (("ReviewAdmission", {"approve": True}), ("WithdrawAdmission", {})):
        (request,) = house.good["RequestAdmission"]
        answered = _asked(house, "RequestAdmission", request, "researcher")
        found = admission_pb2.RequestAdmissionResponse.FromString(answered).admission.admission
        kind = getattr(admission_pb2, f"{rpc}Request")
        house.once.setdefault(rpc, []).append(kind(admission=found, note="looked at", **more))


def _output(label: str = "") -> pb.SubmitOutputRequest:
    output = from_value(OUTPUT, pb.SubmitOutputRequest)
    output.facts.units[0] += len(label)
    output.facts.records[0] += int(label or 0)
    return output


def results_archive() -> bytes:
    """A folder with each kind of output, as a zip archive."""
    regions = "region,0,1\nnorth,100,60\nsouth,90,\n"
    crosstab = entry("table", ["output_0_0.csv"], "crosstab(df.region, df.ill)", method="crosstab")
    general, coefficients = "Dep. Variable:,income,,\n", ",coef,std err\nIntercept,1.5,0.1\nage,2.5,1.25\n"
    fit = entry("regression", ["output_1_0.csv", "output_1_1.csv"], "acro.ols(y, x)", method="ols")
    acro = acro_folder(
        {"output_0": crosstab, "output_1": fit},
        output_0_0__csv=regions,
        output_1_0__csv=general,
        output_1_1__csv=coefficients,
    )
    side = 'rows: ["region:part"]\nfigures: {n: records}\nfilter: {ill: ["0"]}\n'
    return zipped(
        acro
        | {"mine/table.csv": b"region,n\nnorth,150\nsouth,140\n", "mine/table.yaml": side.encode()}
        | {"own.json": json.dumps(OUTPUT).encode(), "chart.png": b"\x89PNG"}
    )


def submitted_results() -> tuple[Message, ...]:
    """The messages of a folder that a job printed."""
    options = from_value({"options": RESULTS}, pb.SubmitResultsRequest)
    return (options, pb.SubmitResultsRequest(results=results_archive()))


def arrow_file(records: int = 60) -> bytes:
    """A small file as an Arrow IPC stream."""
    chance = random.Random(3)
    made = pa.table(
        {
            "id": [f"p{place}" for place in range(records)],
            "household": [place // 2 for place in range(records)],
            "weight": [chance.choice([1.0, 2.5, 10.0]) for _ in range(records)],
            "region": [chance.choice(["n", "s", None]) for _ in range(records)],
            "age": [chance.randrange(20, 40) for _ in range(records)],
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, made.schema) as writer:
        writer.write_table(made)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def assessed_file(asked: object) -> tuple[Message, ...]:
    """The messages of a file that is assessed."""
    content = arrow_file()
    half = len(content) // 2
    options = from_value({"options": asked}, pb_risk.AssessMicrodataRequest)
    pieces = (pb_risk.AssessMicrodataRequest(arrow=piece) for piece in (content[:half], content[half:]))
    return (options, *pieces)


def recoded_file() -> tuple[Message, ...]:
    """The messages of a file whose recodings are compared."""
    options = from_value({"options": RECODED}, recodings_pb2.CompareRecodingsRequest)
    return (options, recodings_pb2.CompareRecodingsRequest(arrow=arrow_file()))


def protected_file(asked: object) -> tuple[Message, ...]:
    """The messages of a file that is protected."""
    options = from_value({"options": asked}, protection_microdata_pb2.ProtectMicrodataRequest)
    return (options, protection_microdata_pb2.ProtectMicrodataRequest(arrow=arrow_file()))


def linked_files(options: object) -> tuple[Message, ...]:
    """The messages of two files that are linked: a file with itself."""
    kind = linkage_pb2.LinkRecordsRequest
    return (
        from_value({"options": options}, kind),
        kind(original=arrow_file()),
        kind(released=arrow_file()),
    )


def _asked(house: "HouseUnderFire", method: str, request: Message, role: str) -> bytes:
    called = pb.DESCRIPTOR.services_by_name["FacilityService"].methods_by_name[method]
    return house.call("facility", called, role, sent(request))


def _protection(problem: object, cells: str, **more: object) -> Message:
    kind = protection_pb2.ProtectTableRequest if cells == "unsafe" else protection_pb2.AuditTableRequest
    return from_value({"problem": problem, cells: [0], "time_limit_ms": 300, **more}, kind)
