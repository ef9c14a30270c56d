"""A Spark Connect server in a process of its own."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running_connect_server() -> Iterator[str]:
    """Its address."""
    import pyspark

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    home = Path(pyspark.__file__).parent
    settings = {"grpc.binding.port": str(port), "grpc.binding.address": "127.0.0.1"}
    given = [part for name, value in settings.items() for part in ("--conf", f"spark.connect.{name}={value}")]
    server = subprocess.Popen(
        [home / "bin" / "spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
         "--master", "local[2]", "--conf", "spark.ui.enabled=false", *given, "spark-internal"],
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for(port)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)


def _wait_for(port: int) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.5)
    raise TimeoutError("the Spark Connect server did not come up")
