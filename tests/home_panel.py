"""People in homes of two, whose file is registered again when some join; a house that answers of them."""

import csv
from pathlib import Path

from house import build
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

HERS = 5_000
"""What the woman earns who joins in the second version."""
TABLE = {"dataset": "people", "rows": ["sex"], "figures": ["UNITS", "SUM:income"]}


def descriptor(**more):
    variables = [
        {"name": name, "identifying": "NO", "levels": [{"codes": [{"code": code} for code in codes]}]}
        for name, codes in {"sex": "fm", "place": "abc"}.items()
    ]
    return parse_descriptor(
        {
            "name": "people",
            "data": {"path": "people.csv"},
            "unit": {"column": "person", "label": "person"},
            "design": {"coverage": "CENSUS"},
            "variables": variables,
            "measures": [{"name": "income", "lower_bound": 0}],
            **more,
        }
    )


HOUSEHOLDS = {"household": {"column": "home"}}
HOLDINGS = {"holding": {"column": "home"}}


class Panel:
    """Six hundred people in homes of two; some join later."""

    def __init__(self, folder: Path, policies=None, **descriptor_) -> None:
        self.folder, self.descriptor = folder, descriptor_
        self.house = build(folder, policies=policies)

    def register(self, joined=0, homes=1, far=0, unknown=0):
        """`joined` women come, spread over so many homes, `far` of them where eight people live.

        Of the `unknown` last the home is not known.
        """
        with (self.folder / "people.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["person", "home", "sex", "place", "income"])
            for one in range(600):
                place = "c" if one < 8 else "ab"[one // 4 % 2]
                writer.writerow([f"p{one}", f"h{one // 2}", "fm"[one // 2 % 2], place, 900 + one])
            for one in range(joined):
                place = "c" if one < far else "a"
                home = f"g{one % homes}" if one < joined - unknown else ""
                writer.writerow([f"q{one}", home, "f", place, HERS + 40 * one])
        return self.house.engine.register(descriptor(**self.descriptor)).dataset.version

    def ask(self, **request):
        return self.house.ask(**{**TABLE, **request})

    def approve(self, query: str, exception=False) -> pb.Decision:
        request = pb.ReviewQueryRequest(query=query, approve=True, note="ok", exception=exception)
        return self.house.facility.review_query(self.house.checker, request, Pace(60.0))

    def seen(self, query: str) -> pb.GetQueryResponse:
        return self.house.facility.get_query(self.house.checker, query)
