import contextlib
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.wire.json import enum_names, enum_prefix, from_json, from_value, parse, to_json
from sdcgate.wire.problems import InvalidMessageError
from sdcgate_proto.sdcgate.facility.v1 import descriptor_pb2, facility_pb2
from sdcgate_proto.sdcgate.protection.v1 import perturbation_pb2, protection_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, table_pb2

QUERY = facility_pb2.QueryTableRequest


def problems(body, message_type=QUERY, given=None):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(InvalidMessageError) as caught:
        from_json(text, message_type, given)
    return {problem.path: problem.message for problem in caught.value.problems}


def test_a_query_reads_as_the_design_writes_it():
    body = b"""{"rows": [{"variable": "site"}], "columns": [{"variable": "age", "level": "ten_years"}],
     "layers": [], "margins": true, "project": "demo",
     "figures": [{"statistic": "UNITS"}, {"statistic": "MEAN", "measure": "meddol"}],
     "filter": [{"variable": "female", "codes": ["1"]}]}"""
    query = from_json(body, QUERY, {"dataset": "randhie"})
    assert query.dataset == "randhie"
    assert query.columns[0].level == "ten_years"
    assert query.margins is True
    assert [figure.statistic for figure in query.figures] == [
        table_pb2.STATISTIC_UNITS,
        table_pb2.STATISTIC_MEAN,
    ]
    assert list(query.filter[0].codes) == ["1"]


def test_all_problems_come_at_once_with_their_paths():
    found = problems(
        {
            "rows": [{"variable": 3}, {"variabel": "site"}, None],
            "columns": {"variable": "age"},
            "margins": "yes",
            "figures": [{"statistic": "units"}, {"statistic": "UNSPECIFIED"}, {"statistic": 1}],
            "filter": [{"variable": "a", "codes": ["1", 2, None]}],
            "project": None,
        }
    )
    assert set(found) == {
        "rows[0].variable",
        "rows[1].variabel",
        "rows[2]",
        "columns",
        "margins",
        "figures[0].statistic",
        "figures[1].statistic",
        "figures[2].statistic",
        "filter[0].codes[1]",
        "filter[0].codes[2]",
        "project",
    }
    assert found["rows[1].variabel"] == "is not known here; the fields are variable, level"
    assert found["rows[0].variable"] == "must be a text, not a number"
    assert found["figures[0].statistic"].startswith("must be one of UNITS, RECORDS")
    assert "UNSPECIFIED" not in found["figures[0].statistic"]


def test_repeated_names_are_found_where_they_stand():
    body = b'{"rows": [{"variable": "a", "variable": "b"}], "margins": true, "margins": false}'
    assert problems(body) == {
        "rows[0].variable": "stands more than once",
        "margins": "stands more than once",
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[1,]",
        b"NaN",
        b'{"a": NaN}',
        b"[" * 5000,
        b'{"a":' * 500 + b"1",
        b"\xff\xfe",
        b'"\\ud800"',
    ],
)
def test_what_is_no_strict_json_is_said_to_be_none(body):
    assert list(problems(body)) == [""]


@pytest.mark.parametrize("body", [b"[]", b"null", b"3", b'"x"'])
def test_a_body_must_be_an_object(body):
    assert problems(body)[""].startswith("must be an object, not")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400])
def test_numbers_beyond_a_double_are_no_numbers(number):
    body = f'{{"largest": 1, "share": {number}}}'.encode()
    assert problems(body, policy_pb2.Dominance) == {"share": "must be a finite number"}


@pytest.mark.parametrize("number", [-1, 2**32, 1.5, True, "1", 1e300])
def test_integers_must_fit_their_field(number):
    assert set(problems({"largest": number}, policy_pb2.Dominance)) == {"largest"}


def test_an_integer_may_be_written_with_a_zero_fraction_as_json_schema_has_it():
    assert from_json(b'{"largest": 2.0}', policy_pb2.Dominance).largest == 2


def test_64_bit_integers_are_numbers_to_the_last_digit():
    rangemessage = descriptor_pb2.IntegerRange(first=-(2**63), last=2**63 - 1)
    body = to_json(rangemessage)
    assert body == b'{"first":-9223372036854775808,"last":9223372036854775807}'
    assert from_json(body, descriptor_pb2.IntegerRange) == rangemessage


def test_the_address_wins_and_the_body_must_not_contradict_it():
    body = {"dataset": "other", "rows": []}
    assert problems(body, given={"dataset": "randhie"}) == {
        "dataset": "differs from the address; leave it out of the body"
    }
    same = from_json(b'{"dataset": "randhie"}', QUERY, {"dataset": "randhie"})
    assert same.dataset == "randhie"


def test_optional_fields_are_left_out_where_nobody_set_them_and_zero_is_set():
    unset = json.loads(to_json(descriptor_pb2.Measure(name="x")))
    assert "lower_bound" not in unset
    assert unset["decimals"] == 0
    assert json.loads(to_json(descriptor_pb2.Measure(name="x", lower_bound=0.0)))["lower_bound"] == 0.0
    assert not from_json(b'{"name": "x"}', descriptor_pb2.Measure).HasField("lower_bound")
    assert from_json(b'{"name": "x", "lower_bound": 0}', descriptor_pb2.Measure).HasField("lower_bound")


def test_enums_lose_their_prefix_and_the_unspecified_is_left_out():
    decision = facility_pb2.Decision(verdict=facility_pb2.VERDICT_RELEASED_PROTECTED)
    assert json.loads(to_json(decision))["verdict"] == "RELEASED_PROTECTED"
    assert "verdict" not in json.loads(to_json(facility_pb2.Decision()))
    assert enum_prefix(policy_pb2.ReasonCode.DESCRIPTOR) == "REASON_CODE_"
    assert enum_names(facility_pb2.Verdict.DESCRIPTOR)["REFUSED"] == facility_pb2.VERDICT_REFUSED


def test_a_verdict_that_this_version_does_not_know_is_not_sent_as_a_name():
    assert "verdict" not in json.loads(to_json(facility_pb2.Decision(verdict=99)))


def test_times_are_rfc_3339():
    decision = facility_pb2.Decision()
    decision.decided.FromJsonString("2025-11-21T07:00:00Z")
    body = to_json(decision)
    assert json.loads(body)["decided"] == "2025-11-21T07:00:00Z"
    assert (
        from_json(b'{"decided": "2025-11-21T07:00:00Z"}', facility_pb2.Decision).decided == decision.decided
    )
    assert problems({"decided": "yesterday"}, facility_pb2.Decision) == {
        "decided": "must be a time like 2025-01-31T12:00:00Z"
    }


def test_figures_that_are_no_numbers_leave_as_null():
    finding = policy_pb2.Finding(figure=math.nan, bound=math.inf)
    written = json.loads(to_json(finding))
    assert written["figure"] is None
    assert written["bound"] is None


def test_names_in_problems_are_cut_short():
    (path,) = problems({"x" * 5000: 1})
    assert len(path) < 50


def test_a_flood_of_problems_is_cut_short_and_says_so():
    found = problems({f"x{i}": 1 for i in range(5000)})
    assert len(found) == 1001
    assert found[""] == "and 4000 more problems"


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
dimension_requests = st.builds(facility_pb2.DimensionRequest, variable=texts, level=texts)
queries = st.builds(
    QUERY,
    dataset=texts,
    rows=st.lists(dimension_requests, max_size=3),
    margins=st.booleans(),
    figures=st.lists(
        st.builds(facility_pb2.FigureRequest, statistic=st.integers(1, 10), measure=texts), max_size=3
    ),
    filter=st.lists(
        st.builds(facility_pb2.FilterRequest, variable=texts, codes=st.lists(texts, max_size=3)), max_size=2
    ),
)
measures = st.builds(
    descriptor_pb2.Measure,
    name=texts,
    decimals=st.integers(0, 2**32 - 1),
    lower_bound=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    upper_bound=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)


@settings(max_examples=100, deadline=None)
@given(st.one_of(queries, measures))
def test_what_is_written_reads_back_the_same(message):
    assert from_json(to_json(message), type(message)) == message


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["rows", "variable", "figures", "statistic", "filter", "codes", "margins", "x"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=10,
    )
)
def test_any_body_is_read_or_refused_and_nothing_else(value):
    with contextlib.suppress(InvalidMessageError):
        assert isinstance(from_json(json.dumps(value).encode(), QUERY), QUERY)


def test_parsing_keeps_repeated_names_apart_from_ordinary_objects():
    assert type(parse(b'{"a": 1}')) is dict
    assert parse(b'{"a": 1, "a": 2}').names == ("a",)


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ([1, 2.5, -3], []),
        ([1.0, float("nan"), 2.0], [1]),
        ([float("nan")], [0]),
        ([1, float("inf"), float("-inf")], [1, 2]),
        ([10**400, -(10**400), 1.5], [0, 1]),
        ([10**400, 1.5], [0]),
        ([1.0, True], [1]),
        ([1.7e308, 1.7e308], []),
        ([1, None, "2", [3]], [1, 2, 3]),
    ],
)
def test_columns_of_numbers_are_read_whole_or_each_wrong_one_is_named(column, wrong):
    assert _read_or_wrong({"sums": column}, table_pb2.MeasureFacts) == (
        [f"sums[{place}]" for place in wrong] or column
    )


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ([0, 2**63 - 1, -(2**63)], []),
        ([2**63], [0]),
        ([1, -(2**63) - 1], [1]),
        ([1, 2.0], []),
        ([1, 2.5], [1]),
        ([1, False], [1]),
        ([], []),
    ],
)
def test_columns_of_counts_are_read_whole_or_each_wrong_one_is_named(column, wrong):
    assert _read_or_wrong({"units": column}, table_pb2.CellFacts) == (
        [f"units[{place}]" for place in wrong] or column
    )


def _read_or_wrong(body, message_type):
    """The column as it was read, or the paths of what is wrong in it."""
    (name,) = body
    try:
        return list(getattr(from_value(body, message_type), name))
    except InvalidMessageError as error:
        return [problem.path for problem in error.problems]


def test_of_fields_that_exclude_each_other_only_one_is_taken():
    both = {"cell_keys": {}, "rounding": {"base": 3}}
    found = problems(both, protection_pb2.ProtectTableRequest)
    assert found == {"rounding": "must not stand beside cell_keys: send one of them"}
    read = from_json(b'{"rounding": {"base": 3}}', protection_pb2.ProtectTableRequest)
    assert read.WhichOneof("method") == "rounding"


def test_keys_of_64_bits_are_read_as_they_are():
    key = 2**64 - 1
    read = from_json(json.dumps({"keys": [key, 0]}).encode(), perturbation_pb2.CellKeys)
    assert list(read.keys) == [key, 0]


@pytest.mark.parametrize("body", [b'{"a": [1, NaN]}', b'{"a": -Infinity}', b'{"a":Infinity}'])
def test_numbers_that_json_does_not_have_are_told_as_such(body):
    with pytest.raises(InvalidMessageError, match="NaN and Infinity are no numbers of JSON"):
        parse(body)
