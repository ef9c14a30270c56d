"""Examples of the OpenAPI document: bodies as callers send them, answers as messages."""

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from sdcgate.servers import (
    openapi_admission_examples,
    openapi_model_examples,
    openapi_statistic_examples,
)
from sdcgate.servers.openapi_file_examples import confidentiality_map, links, recodings
from sdcgate.servers.openapi_noise_example import with_noise
from sdcgate.servers.openapi_redesign_examples import REDESIGNED, redesigned
from sdcgate.servers.openapi_result_examples import judged
from sdcgate_proto.sdcgate.facility.v1 import admission_pb2, budget_pb2, descriptor_pb2
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2, risk_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, table_pb2

QUERY = "q-01JD3ZQ8N4T7V5W6X9Y0A1B2C3"

CHECKED: dict[str, Any] = {
    "dimensions": [
        {"variable": "region", "codes": ["n", "s", "_T"], "parents": [2, 2, -1]},
        {"variable": "size", "codes": ["1-9", "10+", "_T"], "parents": [2, 2, -1]},
    ],
    "facts": {"units": [2, 24, 26, 12, 31, 43, 14, 55, 69]},
}
"""A caller's own table: two regions by two sizes, with totals."""

CHECKED_PROBLEM: dict[str, Any] = {
    **CHECKED,
    "units_additive": True,
    "count_width": 3,
    "records_per_unit": 1,
}

FILE_RISK = microdata_pb2.FileRisk(
    units=21,
    key_cells=3,
    sample_uniques=1,
    expected_matches=0.41429,
    expected_matches_uniques=0.26486,
    reidentification_rate=0.019728,
    uniques_share=0.012612,
    uniques_rate=0.26486,
    maximum=0.26486,
)

BODIES: dict[str, dict[str, Any]] = {
    "RegisterDataset": {
        "descriptor": {
            "name": "households",
            "label": "Household survey",
            "data": {"path": "households.csv", "format": "CSV"},
            "unit": {"column": "person", "label": "person"},
            "household": {"column": "household"},
            "design": {"coverage": "SAMPLE", "sampling_fraction": 0.01},
            "reference_date": "2025-01-31",
            "variables": [
                {
                    "name": "sex",
                    "identifying": "YES",
                    "levels": [{"codes": [{"code": "f", "label": "female"}, {"code": "m", "label": "male"}]}],
                },
                {
                    "name": "age",
                    "identifying": "YES",
                    "levels": [
                        {"name": "years", "integers": {"first": 0, "last": 109}},
                        {"name": "ten_years", "band_width": 10},
                    ],
                },
            ],
            "measures": [{"name": "income", "decimals": 2, "lower_bound": 0}],
        }
    },
    "AssessDataset": {
        "scenarios": [
            {"name": "register", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["site", "female", "age:ten_years"]}
        ]
    },
    "EnterKnowledge": {
        "rows": [{"variable": "site"}, {"variable": "female"}],
        "published": "Statistical yearbook 1985, table 3.2",
    },
    "QueryTable": {
        "rows": [{"variable": "site"}],
        "columns": [{"variable": "age", "level": "ten_years"}],
        "margins": True,
        "figures": [{"statistic": "UNITS"}, {"statistic": "MEAN", "measure": "meddol"}],
        "filter": [{"variable": "female", "codes": ["1"]}],
        "project": "demo",
    },
    "SubmitOutput": {
        "rows": [{"variable": "site", "codes": ["1", "2"], "cells": [0, 0, 1, 1]}],
        "columns": [{"variable": "female", "codes": ["0", "1"], "cells": [0, 1, 0, 1]}],
        "figures": [{"statistic": "UNITS"}, {"statistic": "SUM", "measure": "mdvis"}],
        "facts": {
            "units": [540, 624, 593, 639],
            "measures": [{"measure": "mdvis", "sums": [4980, 6410, 5203, 7117]}],
        },
        "filter": [{"variable": "year", "codes": ["1"]}],
        "label": "job 17, table 2",
    },
    "AssessTable": {
        "dimensions": CHECKED["dimensions"],
        "facts": {
            **CHECKED["facts"],
            "measures": [
                {
                    "measure": "turnover",
                    "sums": [96, 310, 406, 287, 540, 827, 383, 850, 1233],
                    "valid_units": [2, 24, 26, 12, 31, 43, 14, 55, 69],
                    "ranks": 2,
                    "largest": [90, 6, 40, 31, 90, 40, 52, 47, 66, 40, 66, 52, 90, 52, 66, 40, 90, 66],
                    "lower_bound": 0,
                }
            ],
        },
        "rules": {
            "minimum_units": {"units": 3, "consequence": "PROTECT"},
            "dominance": [{"largest": 1, "share": 0.5, "consequence": "PROTECT"}],
            "p_percent": {"share": 0.1, "consequence": "PROTECT"},
        },
    },
    "EstimateIndividualRisk": {
        "frequencies": [1, 2, 18],
        "weight_sums": [9.5, 40.0, 312.5],
        "approximations": ["SDCMICRO"],
    },
    "MapConfidentiality": {"noise": [1.0], "recodings": [{"cut_offs": [0.0]}]},
    "ProtectTable": {"problem": CHECKED_PROBLEM, "unsafe": [0], "time_limit_ms": 5000},
    "AuditTable": {"problem": CHECKED_PROBLEM, "withheld": [0, 1], "time_limit_ms": 5000},
    "RedesignTable": REDESIGNED,
    "QueryModel": openapi_model_examples.ASKED,
    "AssessModel": openapi_model_examples.ASSESSED,
    "QueryStatistic": openapi_statistic_examples.ASKED,
    "AssessStatistic": openapi_statistic_examples.ASSESSED,
    **openapi_admission_examples.BODIES,
    "ReviewQuery": {"approve": False, "note": "The job's purpose does not need site by plan."},
    "CommentQuery": {"text": "Would site alone answer the question?", "to_researcher": True},
}


def answer(rpc: str, status: int) -> Message:
    """Body of the answer to a call that ends with a status."""
    if rpc == "QueryTable" and status == 200:
        return with_noise(released())
    if rpc in ("QueryTable", "SubmitOutput"):
        return {200: released, 201: released, 202: referred}[status]()
    if rpc == "QueryModel":
        return referred() if status == 202 else openapi_model_examples.with_model(released())
    if rpc == "QueryStatistic":
        return referred() if status == 202 else openapi_statistic_examples.with_statistic(released())
    makers: dict[str, Callable[[], Message]] = {
        "RegisterDataset": lambda: pb.RegisterDatasetResponse(dataset=dataset(), created=status == 201),
        "ListDatasets": lambda: pb.ListDatasetsResponse(datasets=[dataset()]),
        "GetDataset": lambda: pb.GetDatasetResponse(dataset=dataset()),
        "AssessDataset": assessed_dataset,
        "EnterKnowledge": lambda: entered_knowledge(repeated=status == 200),
        "GetQuery": lambda: pb.GetQueryResponse(request=request(), decision=released()),
        "DrawQuery": lambda: pb.DrawQueryResponse(svg="<svg ...>"),
        "ListQueries": lambda: pb.ListQueriesResponse(queries=[summary()]),
        "AssessTable": assessment,
        "AssessModel": openapi_model_examples.assessed,
        "AssessStatistic": openapi_statistic_examples.assessed,
        "EstimateIndividualRisk": individual_risks,
        "MapConfidentiality": confidentiality_map,
        "AssessMicrodata": file_report,
        "CompareRecodings": recodings,
        "LinkRecords": links,
        "ProtectTable": pattern,
        "AuditTable": audited,
        "RedesignTable": redesigned,
        "ReviewQuery": refused,
        "CommentQuery": commented,
        "SubmitResults": lambda: judged(status, released(), referred()),
        "GetPolicy": policy_in_words,
        "RequestAdmission": openapi_admission_examples.admission,
        "ListAdmissions": lambda: admission_pb2.ListAdmissionsResponse(
            admissions=[openapi_admission_examples.admission()]
        ),
        "ReviewAdmission": lambda: openapi_admission_examples.admission("APPROVED"),
        "WithdrawAdmission": lambda: openapi_admission_examples.admission("WITHDRAWN"),
        "GetBudget": budget,
        "GetCaller": lambda: pb.GetCallerResponse(
            key_id="15c5362d52e18bd7", role="researcher", researcher="r.levi"
        ),
        "GetStatus": lambda: pb.GetStatusResponse(
            ready=True,
            software_version="0.1.0",
            public_key="-----BEGIN PUBLIC KEY-----\n...\n-----END PUBLIC KEY-----\n",
            key_id="5f1c9a7e",
        ),
    }
    return makers[rpc]()


def request() -> pb.QueryTableRequest:
    """A query."""
    return pb.QueryTableRequest(
        dataset="randhie",
        rows=[pb.DimensionRequest(variable="site", level="site")],
        figures=[pb.FigureRequest(statistic=table_pb2.STATISTIC_UNITS)],
        project="demo",
    )


def dataset() -> pb.Dataset:
    """A dataset as researchers see it."""
    level = pb.DatasetLevel(name="sex", codes=["f", "m", "_U"], labels=["female", "male", "missing"])
    return pb.Dataset(
        name="households",
        version=1,
        source="households",
        label="Household survey",
        unit="person",
        variables=[
            pb.DatasetVariable(name="sex", identifying=descriptor_pb2.IDENTIFYING_YES, levels=[level])
        ],
        measures=[descriptor_pb2.Measure(name="income", decimals=2, lower_bound=0)],
        reference_date="2025-01-31",
        policy=policy(),
    )


def policy() -> pb.PolicyReference:
    """The policy behind the examples."""
    return pb.PolicyReference(name="israel-cbs", hash="sha256:2c26b46b68ffc68ff99b453c1d30413413422d70")


def policy_in_words() -> pb.GetPolicyResponse:
    """A policy with one of its settings."""
    setting = pb.PolicySetting(
        name="rules.minimum_units",
        value="{units: 10, consequence: protect}",
        explanation="A cell of fewer than 10 units is withheld, unless it is empty.",
    )
    return pb.GetPolicyResponse(policy=policy(), access_level="remote", dataset="randhie", settings=[setting])


def budget() -> budget_pb2.GetBudgetResponse:
    """What a researcher may still ask."""
    left = budget_pb2.Budget(
        dataset="randhie",
        holder="researcher",
        name="r.levi",
        period="month",
        queries=budget_pb2.Allowance(limit=500, spent=112, left=388),
        explanation="A researcher may ask at most 500 queries a month.",
    )
    left.renews.FromJsonString("2027-01-01T00:00:00Z")
    return budget_pb2.GetBudgetResponse(budgets=[left])


def decision(verdict: pb.Verdict, **more: Any) -> pb.Decision:
    """A decision."""
    made = pb.Decision(
        query=QUERY,
        dataset="randhie",
        version=1,
        policy=policy(),
        verdict=verdict,
        certificate=pb.Certificate(
            sequence=17,
            head="9f86d081...",
            answer_digest="60303ae2...",
            key_id="5f1c9a7e",
            signature="b3VyIHNp...",
        ),
        **more,
    )
    made.decided.FromJsonString("2025-11-21T07:00:00Z")
    return made


def released() -> pb.Decision:
    """A table released with protection."""
    out, shown = table_pb2.CELL_STATUS_WITHHELD, table_pb2.CELL_STATUS_PUBLISHED
    table = table_pb2.Table(
        dimensions=[
            table_pb2.Dimension(
                variable="site", level="site", codes=["1", "2", "_T"], cells=[0, 0, 0, 1, 1, 1, 2, 2, 2]
            ),
            table_pb2.Dimension(
                variable="age", level="broad", codes=["0-17", "18+", "_T"], cells=[0, 1, 2, 0, 1, 2, 0, 1, 2]
            ),
        ],
        figures=[
            table_pb2.Figure(
                statistic=table_pb2.STATISTIC_UNITS, values=[0, 0, 112, 0, 0, 140, 84, 168, 252]
            ),
            table_pb2.Figure(
                statistic=table_pb2.STATISTIC_MEAN,
                measure="meddol",
                values=[0, 0, 99.1, 0, 0, 93.4, 88.2, 97.9, 94.7],
            ),
        ],
        statuses=[out, out, shown, out, out, shown, shown, shown, shown],
    )
    reason = pb.Reason(
        code=policy_pb2.REASON_CODE_MINIMUM_UNITS,
        message="Cells with too few people are withheld, with others that would reveal them.",
        suggestion="Ask for site alone.",
    )
    alternative = pb.Alternative(rows=[pb.DimensionRequest(variable="site", level="site")], judged=True)
    return decision(pb.VERDICT_RELEASED_PROTECTED, reasons=[reason], table=table, alternatives=[alternative])


def referred() -> pb.Decision:
    """A query that an output checker decides."""
    reason = pb.Reason(
        code=policy_pb2.REASON_CODE_UNPROVED,
        message="The protection of this table could not be proved in the time given; a checker decides.",
    )
    return decision(pb.VERDICT_REFERRED, reasons=[reason])


def refused() -> pb.Decision:
    """A query that a checker refused."""
    reason = pb.Reason(
        code=policy_pb2.REASON_CODE_REVIEW,
        message="An output checker refused this query.",
        suggestion="Ask for fewer dimensions.",
    )
    return decision(pb.VERDICT_REFUSED, reasons=[reason])


def commented() -> pb.Comment:
    """A checker's comment that the researcher reads, too."""
    comment = pb.Comment(author="g.bar", text="Would site alone answer the question?", to_researcher=True)
    comment.written.FromJsonString("2026-11-21T09:12:00Z")
    return comment


def assessment() -> risk_pb2.AssessTableResponse:
    """What failed in a caller's own table."""
    protect = policy_pb2.CONSEQUENCE_PROTECT
    few = policy_pb2.Finding(
        rule=policy_pb2.REASON_CODE_MINIMUM_UNITS, consequence=protect, cells=[0], bound=3
    )
    dominated = policy_pb2.Finding(
        rule=policy_pb2.REASON_CODE_DOMINANCE, consequence=protect, cells=[0], measure="turnover", bound=0.5
    )
    return risk_pb2.AssessTableResponse(
        findings=[few, dominated], unchecked=[policy_pb2.REASON_CODE_INDIVIDUAL_RISK]
    )


def individual_risks() -> microdata_pb2.EstimateIndividualRiskResponse:
    """Risks of three keys."""
    approximate = microdata_pb2.ApproximateRisks(
        approximation=microdata_pb2.APPROXIMATION_SDCMICRO, risks=[0.26486, 0.044333, 0.0033768]
    )
    return microdata_pb2.EstimateIndividualRiskResponse(
        risks=[0.26486, 0.044333, 0.0033761], file=FILE_RISK, approximations=[approximate]
    )


def entered_knowledge(repeated: bool) -> pb.EnterKnowledgeResponse:
    """A table that was published elsewhere."""
    recorded = released()
    return pb.EnterKnowledgeResponse(
        query=recorded.query, cells=21, certificate=recorded.certificate, repeated_answer=repeated
    )


def assessed_dataset() -> pb.AssessDatasetResponse:
    """The risk of a dataset under one scenario, and its worst tables."""
    register = microdata_pb2.ScenarioRisk(
        name="register",
        kind=microdata_pb2.SCENARIO_KIND_INDIVIDUAL_ARCHIVE,
        keys=["site", "female", "age:ten_years"],
        target=microdata_pb2.SCENARIO_TARGET_INDIVIDUAL,
        units=5912,
        key_cells=84,
        sample_uniques=2,
        expected_matches=0.098,
        reidentification_rate=0.0000166,
        maximum=0.0069,
        threshold=0.1,
        worst_units=2,
        worst_key_cells=2,
        worst_frequency=1,
        worst_population=1000,
    )
    worst = microdata_pb2.WorstTable(keys=[0, 2], expected_matches=0.04, sample_uniques=6, key_cells=120)
    return pb.AssessDatasetResponse(
        dataset="randhie",
        version=1,
        scenarios=[register],
        worst_tables=microdata_pb2.WorstTables(tables=[worst], looked_at=10, file_matches=0.2),
    )


def file_report() -> microdata_pb2.AssessMicrodataResponse:
    """A report without the sections that need weights."""
    sex = microdata_pb2.KeyVariable(name="sex", categories=2, uniques_without=140)
    missing = microdata_pb2.NotComputed(what="individual risk", reason="give a weight")
    return microdata_pb2.AssessMicrodataResponse(
        file=microdata_pb2.FileFacts(records=5638, units=5638, most_records=1, keys=[sex]),
        key_cells=microdata_pb2.KeyCells(
            cells=1318, sample_uniques=544, below_three=926, below_five=1500, sizes=[544, 191, 95, 81, 34]
        ),
        not_computed=[missing],
    )


def pattern() -> protection_pb2.ProtectTableResponse:
    """A pattern for a caller's own table."""
    witnesses = protection_pb2.Witnesses(
        tables=1, cells=[0, 1, 3, 4], records=[5, 21, 9, 34], units=[5, 21, 9, 34]
    )
    return protection_pb2.ProtectTableResponse(
        withheld=[0, 1, 3, 4],
        proof=protection_pb2.PROOF_PROVED,
        witnesses=witnesses,
        cost=67,
        price=70,
        method=protection_pb2.SUPPRESSION_METHOD_EXACT,
        lower_bound=70,
        gap=0,
        optimal=True,
        intervals=[protection_pb2.WithheldInterval(cell=0, fact="units", lower=1, upper=29)],
    )


def audited() -> protection_pb2.AuditTableResponse:
    """A pattern that leaks."""
    return protection_pb2.AuditTableResponse(proof=protection_pb2.PROOF_REFUTED, unprotected=[0, 1])


def summary() -> pb.QuerySummary:
    """A query in a list."""
    made = pb.QuerySummary(
        query=QUERY, researcher="r.levi", dataset="randhie", verdict=pb.VERDICT_RELEASED_PROTECTED
    )
    made.decided.FromJsonString("2025-11-21T07:00:00Z")
    return made
