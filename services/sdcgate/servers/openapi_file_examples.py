"""Examples of the OpenAPI document: options of calls that take files in a form, answers to them, and maps."""

from typing import Any

from sdcgate_proto.sdcgate.risk.v1 import confidentiality_map_pb2, linkage_pb2, recodings_pb2

FORMS: dict[str, dict[str, Any]] = {
    "AssessMicrodata": {
        "keys": ["sex", "age", "area"],
        "weight": "weight",
        "unit": "person",
        "scenarios": [
            {"name": "roll", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["sex", "age"], "coverage": 0.9},
            {"name": "neighbour", "kind": "NOSY_NEIGHBOUR", "keys": ["sex", "area"], "response_known": True},
        ],
    },
    "CompareRecodings": {
        "keys": [
            {"column": "age", "levels": [{"name": "ten_years", "band_width": 10}]},
            {
                "column": "area",
                "levels": [
                    {"name": "part", "codes": ["n1", "n2", "s1"], "parents": ["north", "north", "south"]}
                ],
            },
        ],
        "weight": "weight",
        "interest": "income",
        "maximum_share": 0.01,
        "access_levels": [{"access_level": "remote", "maximum_share": 0.01}],
    },
    "LinkRecords": {
        "method": "DISTANCE",
        "variables": [
            {"column": "income", "kind": "NUMERIC"},
            {"column": "area", "kind": "NOMINAL", "weight": 0.5},
        ],
        "id": "person",
    },
    "SubmitResults": {"project": "demo", "label": "job 17"},
}
"""Options of calls that take files in a form."""


def recodings() -> recodings_pb2.CompareRecodingsResponse:
    """Two recodings of a key of one variable."""
    finest = recodings_pb2.Recoding(
        levels=[0],
        key_cells=74,
        sample_uniques=6,
        population_uniques=0.9,
        expected_matches=1.6,
        share=0.016,
        maximum=0.41,
        variance_loss=0.0,
        frontier=True,
    )
    coarser = recodings_pb2.Recoding(
        levels=[1],
        key_cells=9,
        maximum=0.08,
        entropy_loss=0.46,
        variance_loss=0.21,
        frontier=True,
        access_level="remote",
    )
    age = recodings_pb2.RecodedVariable(column="age", levels=["age", "age:ten_years"])
    return recodings_pb2.CompareRecodingsResponse(
        units=100,
        variables=[age],
        possible=2,
        evaluated=2,
        finished=True,
        maximum_share=0.01,
        best=coarser,
        recodings=[finest, coarser],
    )


def confidentiality_map() -> confidentiality_map_pb2.MapConfidentialityResponse:
    """Noise as large as the variable's own standard deviation, and two halves: 2 / pi of the information."""
    half = confidentiality_map_pb2.RecodingPoint(
        cut_offs=[0.0], risk=2.7519383, utility=0.6366198, equal_noise=0.7555106
    )
    noise = confidentiality_map_pb2.NoisePoint(noise=1.0, risk=1.0, utility=0.5)
    return confidentiality_map_pb2.MapConfidentialityResponse(noise=[noise], recodings=[half])


def links() -> linkage_pb2.LinkRecordsResponse:
    """Links of three records by distance."""
    distance = linkage_pb2.DistanceLinks(
        expected_matches=1.5,
        rate=0.5,
        unique_links=2,
        linked=[1, 3, 2],
        nearest=[0.1, 0.4, 0.2],
        second=[1.2, 0.5, 0.2],
        ties=[1, 1, 2],
        correct=[1.0, 0.0, 0.5],
    )
    return linkage_pb2.LinkRecordsResponse(
        original_records=3, released_records=3, known_records=3, distance=distance
    )
