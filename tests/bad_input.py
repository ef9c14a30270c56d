"""What callers get wrong: requests, bodies, descriptors and files, each with all that they are told of it.

A case is what is sent and, for each path of the answer, words that its message has to hold. docs/bad-input.md
lists the same for readers.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from google.protobuf.message import Message

from house import COPY
from made_files import PEOPLE
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2

Told = dict[str, str]
"""Words by path; exactly these paths are told."""


def table(**fields: Any) -> dict[str, Any]:
    """A body that is answered, with some fields replaced."""
    return {"rows": [{"variable": "region"}], "figures": [{"statistic": "UNITS"}], "margins": True, **fields}


def where(variable: str, *codes: str, level: str = "") -> dict[str, Any]:
    """A condition."""
    return {"variable": variable, **({"level": level} if level else {}), "codes": list(codes)}


def rows(*names: str) -> list[dict[str, str]]:
    """Dimensions, as `age` or `age:five`."""
    return [dict(zip(("variable", "level"), name.split(":"), strict=False)) for name in names]


QUERIES: dict[str, tuple[dict[str, Any], Told]] = {
    "unknown variable": (
        table(rows=rows("regoin")),
        {"rows[0].variable": "There is no variable of this name. Did you mean region?"},
    ),
    # `household` and `weight` are columns of the file, and no variables: their names are told to nobody.
    "a column that is no variable": (
        table(rows=rows("household"), columns=rows("weigth")),
        {
            "rows[0].variable": "There are region, age, ill.$",
            "columns[0].variable": "There are region, age, ill.$",
        },
    ),
    "unknown level": (
        table(rows=rows("age:fives"), columns=rows("region:age")),
        {
            "rows[0].level": "Did you mean five?",
            "columns[0].level": "There is no level of this name. Did you",
        },
    ),
    "unknown code": (
        table(filter=[where("region", "n3", "n1"), where("age", "20-24", "40-44", level="five")]),
        {
            "filter[0].codes[0]": "Did you mean n2, n1?",
            "filter[1].codes[1]": "no code of this name. Did you mean",
        },
    ),
    "a total as a code": (
        table(filter=[where("region", "_T")]),
        {"filter[0].codes[0]": "no code of this name"},
    ),
    "repeated dimension": (
        table(columns=rows("age", "region:part"), layers=rows("age:five")),
        {
            "columns[1].variable": "region is a dimension already; name it once.",
            "layers[0].variable": "age is a dimension already; name it once.",
        },
    ),
    "empty filter": (
        table(filter=[{"variable": "ill", "codes": []}]),
        {"filter[0].codes": "Name at least one code"},
    ),
    "filter without codes": (
        table(filter=[{"variable": "ill"}]),
        {"filter[0].codes": "or leave the condition out"},
    ),
    "repeated code": (table(filter=[where("ill", "1", "1")]), {"filter[0].codes": "name each once"}),
    "contradictory filter": (
        table(filter=[where("ill", "0"), where("ill", "1")]),
        {"filter[1].variable": "ill is filtered already; put all its codes into one condition."},
    ),
    "a filter twice at different levels": (
        table(filter=[where("region", "n1"), where("region", "south", level="part")]),
        {"filter[1].variable": "put all its codes into one condition"},
    ),
    "figures": (
        table(
            figures=[
                {"statistic": "MEAN"},
                {"statistic": "SUM", "measure": "incom"},
                {"statistic": "UNITS", "measure": "income"},
                {"statistic": "ROW_PERCENT"},
                {"statistic": "RECORDS"},
                {"statistic": "RECORDS"},
            ]
        ),
        {
            "figures[0].measure": "Name a measure.",
            "figures[1].measure": "Did you mean income?",
            "figures[2].measure": "leave the measure out",
            "figures[3].statistic": "A row percentage needs columns.",
            "figures[5]": "This figure is asked twice.",
        },
    ),
    "a text with a NUL character": (
        table(project="a\0b", filter=[where("ill", "1", "\0")]),
        {"project": "must not have a NUL character", "filter[0].codes[1]": "There is no code of this name."},
    ),
    "too many rows": (table(rows=rows("age") * 17), {"rows": "has 17 items; at most 16 are taken"}),
    "envelope and names at once": (
        table(rows=rows("regoin", ""), project="p" * 129, filter=[{"variable": "ill"}]),
        {
            "rows[0].variable": "Did you mean region?",
            "rows[1].variable": "There is no variable of this name.",
            "filter[0].codes": "Name at least one code",
            "project": "at most 128 characters",
        },
    ),
}
"""Bodies of POST /v1/datasets/people/tables."""


def _repeated() -> bytes:
    return b'{"rows": [{"variable": "region", "variable": "age"}], "margins": true, "margins": false}'


BODIES: dict[str, tuple[bytes, Told]] = {
    "NaN": (b'{"rows": [], "margins": NaN}', {"": "must be one JSON object"}),
    "infinity": (b'{"figures": -Infinity}', {"": "must be one JSON object"}),
    "a number beyond all": (b'{"rows": ' + b"9" * 5000 + b"}", {"": "must be one JSON object"}),
    "a MiB of nesting": (b"[" * (1024 * 1024), {"": "one JSON object: .*(recursion|nested)"}),
    "a MiB of nested objects": (b'{"rows":' * (128 * 1024), {"": "one JSON object: .*(recursion|nested)"}),
    "half an escape": (b'{"project": "\\ud800"}', {"": "must be one JSON object"}),
    "not UTF-8": (b'{"project": "\xff"}', {"": "must be one JSON object"}),
    "cut short": (b'{"rows": [{"variable": "reg', {"": "must be one JSON object"}),
    "nothing": (b"", {"": "must be one JSON object"}),
    "no object": (b'["rows"]', {"": "must be an object, not an array"}),
    "wrong types": (
        json.dumps(
            {
                "rows": {"variable": "age"},
                "columns": ["age"],
                "margins": "yes",
                "project": 7,
                "layers": None,
                "figures": [{"statistic": "MEDIAN"}, {"statistic": 1}],
            }
        ).encode(),
        {
            "rows": "must be an array, not an object",
            "columns[0]": "must be an object, not a text",
            "margins": "must be true or false, not a text",
            "project": "must be a text, not a number",
            "layers": "must not be null; leave it out",
            "figures[0].statistic": "must be one of UNITS, RECORDS, ",
            "figures[1].statistic": "must be a text, not a number",
        },
    ),
    "unknown fields": (
        b'{"colums": [], "rows": [{"variable": "age", "levle": "five"}]}',
        {
            "colums": "is not known here; the fields are dataset, rows, columns, ",
            "rows[0].levle": "is not known here; the fields are variable, level",
        },
    ),
    "repeated names": (
        _repeated(),
        {"margins": "stands more than once", "rows[0].variable": "stands more than once"},
    ),
    "the dataset twice": (b'{"dataset": "other"}', {"dataset": "differs from the address; leave it out"}),
}
"""Bodies that are no body of POST /v1/datasets/people/tables."""

HEADER = "id,household,weight,region,age,ill,income\n"
LINES = "a,1,2.5,n1,20,0,1\nb,1,2.5,s1,21,1,2\nb,1,2.5,s1,21,0,3\n"


def weights(*values: str) -> bytes:
    """A file in which these are the weights."""
    lines = [f"p{place},1,{value},n1,20,0,1" for place, value in enumerate(values)]
    return (HEADER + "\n".join(lines) + "\n").encode()


FILES: dict[str, tuple[bytes | None, Told]] = {
    "negative and zero weights": (
        weights("1", "-1", "0"),
        {"weight.column": "a weight that is not positive with 1 decimals: records 2, 3"},
    ),
    "weights that are no numbers": (
        weights("1", "NaN", "inf", "-inf", "1e999", "", "heavy"),
        {"weight.column": "6 rows without a finite weight: records 2, 3, 4, 5, 6 and 1 more"},
    ),
    "a weight that varies within a unit": (
        (HEADER + "a,1,1,n1,20,0,1\na,1,2,n1,20,0,1\n").encode(),
        {"weight.varies_within_unit": "the weight varies within 1 units: declare it true"},
    ),
    "a record without its unit": (
        (HEADER + ",1,1,n1,20,0,1\n" + LINES).encode(),
        {"unit.column": "every record needs one; the file has 1 row without it: record 1"},
    ),
    "a code that is not declared": (
        (HEADER + "a,1,1,n9,99,0,1\n").encode(),
        {
            "variables[0]": "column 'region' has 1 row with values that are no declared code: record 1",
            "variables[1]": "column 'age' has 1 row with values that are no declared code: record 1",
        },
    ),
    "not UTF-8": (
        HEADER.encode() + b"a,1,1,n\xfc,20,0,1\n",
        {"data.path": "line 2 is not UTF-8; save the file as UTF-8"},
    ),
    "UTF-16": (
        (HEADER + LINES).encode("utf-16"),
        {"data.path": "line 1 is not UTF-8; save the file as UTF-8"},
    ),
    "ragged": (
        (HEADER + "a,1,1,n1,20,0\n" + LINES + "c,1,1,n1,20,0,1,9\n").encode(),
        {"data.path": "the header has 7 columns, but 2 rows differ: row 2 has 6, row 6 has 8"},
    ),
    "empty": (b"", {"data.path": "the file is empty; a header line and records are needed"}),
    "without records": (HEADER.encode(), {"data.path": "the file has no records"}),
    "a column twice": (
        (HEADER.replace("age", "ill") + LINES).encode(),
        {"data.path": "columns occur twice: 'ill'"},
    ),
    "a column that is missing": (
        (HEADER.replace("region", "regoin") + LINES).encode(),
        {"variables[0].column": "the file has no column 'region'; the nearest are 'regoin'"},
    ),
    "vanished": (None, {"data.path": "there is no such file under the data root"}),
}
"""Contents of the file that a good descriptor names; paths within the descriptor."""


def changed(*steps: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    """Sets one value of a descriptor."""

    def change(descriptor: dict[str, Any]) -> None:
        place: Any = descriptor
        for step in steps[:-1]:
            place = place[step]
        place[steps[-1]] = to

    return change


DESCRIPTORS: dict[str, tuple[list[Callable[[dict[str, Any]], None]], Told]] = {
    "unit id column that is not there": (
        [changed("unit", "column", to="person")],
        {"unit.column": "the file has no column 'person'"},
    ),
    "unknown policy": ([changed("policy", to="isreal-cbs")], {"policy": "Did you mean israel-cbs?"}),
    "a level that its policy does not have": (
        [changed("access_level", to="on-site"), changed("policy", to="statistics-netherlands-public")],
        {"access_level": "There is no access level of this name"},
    ),
    "a file beyond the data root": (
        [changed("data", "path", to="../keys/records.key")],
        {"data.path": "without `..`"},
    ),
    "a name that no file has": (
        [changed("data", "path", to="x" * 300 + ".csv")],
        {"data.path": "there is no such file"},
    ),
    "envelope, policy, code lists and data at once": (
        [
            changed("name", to="Two Words"),
            changed("label", to="x" * 1001),
            changed("policy", to="none"),
            changed("design", to={"coverage": "SAMPLE", "sampling_fraction": 2}),
            changed("reference_date", to="soon"),
            changed("weight", "decimals", to=10),
            changed("unit", "column", to="person"),
            changed("variables", 0, "levels", 1, "codes", 1, "parts", to=["s1"]),
            changed("variables", 1, "column", to="aeg"),
            changed("variables", 2, "name", to="2nd"),
            changed("measures", 0, "lower_bound", to=2000),
        ],
        {
            "name": "use up to 64 lower-case letters",
            "label": "at most 1000 characters",
            "policy": "There is no policy of this name.",
            "design.sampling_fraction": "lies between 1e-12 and 1",
            "reference_date": "write YYYY-MM-DD",
            "weight.decimals": "lies between 0 and 9",
            "unit.column": "the file has no column 'person'",
            "variables[0].levels[1]": "'s2' of 'place' belong to no code of this level",
            "variables[1].column": "the nearest are 'age'",
            "variables[2].name": "use letters, digits",
            "variables[2].column": "the file has no column '2nd'",
            "measures[0].lower_bound": "exceeds the upper bound; the file has 3 rows with values beyond it",
        },
    ),
}
"""Changes of a good descriptor with a good file; paths within the descriptor."""


def descriptor(name: str, *changes: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The good descriptor under a name of its own, changed."""
    made = {
        **deepcopy(PEOPLE),
        "name": name,
        "source": name,
        **COPY,
        "data": {"path": f"{name}.csv"},
    }
    for change in changes:
        change(made)
    return made


def scenario(*keys: str, **fields: Any) -> dict[str, Any]:
    """An intruder who knows some variables, with some fields replaced."""
    return {"name": "roll", "kind": "NOSY_NEIGHBOUR", "keys": list(keys), **fields}


ASSESSMENTS: dict[str, tuple[dict[str, Any], Told]] = {
    "names that are not declared": (
        {"scenarios": [scenario("age", "regoin", "region:five")]},
        {
            "scenarios[0].keys[1]": "'regoin' is no variable; they are 'region', 'age'",
            "scenarios[0].keys[2]": "'five' is no level of region; they are ",
        },
    ),
    "things that stand twice": (
        {"scenarios": [scenario("age", "age"), scenario("age", "age:five")]},
        {
            "scenarios[0].keys": "a variable stands more than once",
            "scenarios[1].name": "'roll' is declared twice",
            "scenarios[1].keys": "a variable stands at two levels",
        },
    ),
    "what no scenario has": (
        {"scenarios": [scenario(kind="UNSPECIFIED", name="", quality=2, threshold=0)]},
        {"scenarios[0].kind": "must be one of NOSY_NEIGHBOUR, INDIVIDUAL_ARCHIVE, HOUSEHOLD_ARCHIVE"},
    ),
    "what is out of range": (
        {"scenarios": [scenario(name="", quality=2, threshold=0)]},
        {
            "scenarios[0].name": "at least 1 character",
            "scenarios[0].keys": "at least 1 item",
            "scenarios[0].quality": "less than or equal to 1",
            "scenarios[0].threshold": "greater than 0",
        },
    ),
    "too many scenarios": (
        {"scenarios": [scenario("age", name=f"{number}") for number in range(21)]},
        {"scenarios": "has 21 items; at most 20 are taken"},
    ),
    "a field that is not known": (
        {"scenario": []},
        {"scenario": "is not known here; the fields are dataset, scenarios"},
    ),
}
"""Bodies of POST /v1/datasets/people:assess."""


def registration(**fields: Any) -> pb.RegisterDatasetRequest:
    """A request that would register a file, with fields set to what JSON cannot say."""
    request = from_value({"descriptor": descriptor("bad")}, pb.RegisterDatasetRequest)
    for path, value in fields.items():
        place: Any = request.descriptor
        *steps, last = path.split("__")
        for step in steps:
            place = place[int(step)] if step.isdigit() else getattr(place, step)
        setattr(place, last, value)
    return request


NAN = float("nan")
STEWARD, RESEARCHER = "stefan", "ada"
MESSAGES: dict[str, tuple[str, str, str, Message, Told]] = {
    "a fraction that is NaN": (
        "facility",
        "RegisterDataset",
        STEWARD,
        registration(design__sampling_fraction=NAN),
        {"descriptor.design.sampling_fraction": "lies between 1e-12 and 1"},
    ),
    "a bound that is infinite": (
        "facility",
        "RegisterDataset",
        STEWARD,
        registration(measures__0__upper_bound=float("inf")),
        {"descriptor.measures[0].upper_bound": "must be a finite number; leave it out if none"},
    ),
    "an enum that is none": (
        "facility",
        "RegisterDataset",
        STEWARD,
        registration(variables__0__identifying=77, data__format=77),
        {
            "descriptor.variables[0].identifying": "say NO, YES, VERY or EXTREMELY",
            "descriptor.data.format": "must be one of CSV, PARQUET",
        },
    ),
    "verdicts that are none": (
        "facility",
        "ListQueries",
        RESEARCHER,
        pb.ListQueriesRequest(verdicts=[99], page_size=1001),
        {"verdicts[0]": "must be one of RELEASED, ", "page_size": "less than or equal to 1000"},
    ),
    "a statistic that is none": (
        "facility",
        "QueryTable",
        RESEARCHER,
        pb.QueryTableRequest(dataset="people", figures=[pb.FigureRequest(statistic=99)]),
        {"figures[0].statistic": "must be one of UNITS, "},
    ),
    "two things at once": (
        "facility",
        "GetPolicy",
        RESEARCHER,
        pb.GetPolicyRequest(dataset="people", query="q"),
        {"": "Name a dataset or a query, and not both."},
    ),
    "nothing to assess": (
        "risk",
        "AssessTable",
        RESEARCHER,
        risk_pb2.AssessTableRequest(),
        {"facts": "required", "rules": "required"},
    ),
    "nothing to protect": (
        "protection",
        "ProtectTable",
        RESEARCHER,
        protection_pb2.ProtectTableRequest(),
        {
            "problem": "required",
            "problem.facts": "must have units, records or the sums of a measure",
            "time_limit_ms": "greater than or equal to 1",
        },
    ),
}
"""What only gRPC can send, or send so: service, call, whose key, request."""
