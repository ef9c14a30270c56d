"""AssessTable of one kilobyte over gRPC and through the gateway, beside the bare stack in the same run.

CPU time of the serving processes for each call, so that other work on the machine does not show; latencies
are medians of calls made in turns, one at a time.
"""

import http.client
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import grpc
import psutil

from bare_servers import METHOD, bare_server
from run import Result, result
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import Supervisor
from sdcgate.servers.settings import Settings
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2

ASSESS = "/sdcgate.risk.v1.RiskService/AssessTable"
PATH = "/v1/risk:assessTable"
AT_ONCE = 16
CALLS = 1000
ROUNDS = 5
TURNS = 400


def table() -> dict[str, object]:
    """Regions by sizes with totals: counts, a measure with its two largest, three rules; about a kilobyte."""
    inner = {(r, s): 3 + (7 * r + 5 * s) % 40 for r, s in product(range(5), range(4))}
    rows = [[sum(n for (r, s), n in inner.items() if row in (r, 5) and column in (s, 4))
             for column in range(5)] for row in range(6)]  # fmt: skip
    units = [n for row in rows for n in row]
    largest = [share for n in units for share in (0.1 * n + 1, 0.1 * n)]
    measure = {"measure": "turnover", "sums": [float(3 * n) for n in units], "valid_units": units,
               "ranks": 2, "largest": largest, "lower_bound": 0}  # fmt: skip
    return {
        "dimensions": [
            {"variable": "region", "codes": ["1", "2", "3", "4", "5", "_T"]},
            {"variable": "size", "codes": ["a", "b", "c", "d", "_T"]},
        ],
        "facts": {"units": units, "measures": [measure]},
        "rules": {
            "minimum_units": {"units": 10, "consequence": "PROTECT"},
            "dominance": [{"largest": 1, "share": 0.5, "consequence": "PROTECT"}],
            "p_percent": {"share": 0.1, "consequence": "PROTECT"},
        },
    }


def assess_table() -> list[Result]:
    """CPU time of the services for each call, and what the gateway adds to its latency."""
    message = from_value(table(), risk_pb2.AssessTableRequest).SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(state_dir=Path(folder), data_root=Path(folder))
        key = create_keys(settings, {"portal": "portal"}, "bench")["portal"]
        with (
            Supervisor(settings) as house,
            bare_server("grpc", "150") as echo,
            bare_server("rest", echo[1]) as bare,
        ):
            metadata = (("authorization", f"Bearer {key}"),)
            risk = grpc.insecure_channel(house.addresses["risk"]).unary_unary(ASSESS)
            bytes_only = grpc.insecure_channel(echo[1]).unary_unary(METHOD)
            rest = _poster(house.url.removeprefix("http://"), PATH, key)
            hand_on = _poster(bare[1], "/", key)

            def over_grpc() -> None:
                risk(message, timeout=10, metadata=metadata)

            def echoed() -> None:
                bytes_only(message, timeout=10)

            pids = house.processes
            ours, theirs, gateway, plain = _cpu(
                (over_grpc, pids["risk"]), (echoed, echo[0]), (rest, pids["gateway"]), (hand_on, bare[0])
            )
            direct, through, echo_p50, plain_p50 = _latencies(over_grpc, rest, echoed, hand_on)
    size = len(message)
    return [
        result(
            "AssessTable, gRPC: risk",
            size,
            ours,
            theirs,
            f"bare gRPC echo; {1e6 / ours:.0f} calls/s a core",
            CPU,
        ),
        result(
            "AssessTable, REST: gateway",
            size,
            gateway,
            plain,
            f"bare uvicorn to gRPC; with risk {1e6 / (gateway + ours):.0f} calls/s a core",
            CPU,
        ),
        result(
            "AssessTable: what the gateway adds, p50",
            size,
            through - direct,
            plain_p50 - echo_p50,
            f"bare uvicorn before bare gRPC; {direct:.2f} ms without it, {through:.2f} with it",
        ),
    ]


CPU = "us of CPU a call"


def _poster(address: str, path: str, key: str) -> Callable[[], None]:
    """Posts the table over a connection of the calling thread, by plain http.client."""
    body = json.dumps(table()).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    connections: dict[int, http.client.HTTPConnection] = {}

    def post() -> None:
        connection = connections.setdefault(threading.get_ident(), http.client.HTTPConnection(address))
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(content)

    return post


def _cpu(*served: tuple[Callable[[], None], int]) -> list[float]:
    """Microseconds of a process's CPU for each call of several made at once: medians of rounds in turns."""
    taken: list[list[float]] = [[] for _ in served]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in range(ROUNDS + 1):
            for (call, pid), times in zip(served, taken, strict=True):
                process = psutil.Process(pid)
                before = process.cpu_times()
                list(pool.map(lambda _, call=call: call(), range(CALLS)))
                after = process.cpu_times()
                spent = after.user + after.system - before.user - before.system
                times.append(spent / CALLS * 1e6)
    return [statistics.median(times[1:]) for times in taken]


def _latencies(*calls: Callable[[], None]) -> list[float]:
    """Median milliseconds of each call, made in turns."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(TURNS + 20):
        for call, taken in zip(calls, times, strict=True):
            began = time.perf_counter()
            call()
            if turn >= 20:
                taken.append((time.perf_counter() - began) * 1000)
    return [statistics.median(taken) for taken in times]
