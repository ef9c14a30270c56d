"""A gateway in this process, on a loopback port, with no service behind it."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sdcgate.servers import gateway
from sdcgate.servers.process import Signals
from sdcgate.servers.settings import GatewayServer, Peer, Settings


@contextmanager
def served_gateway(folder: Path, **section: Any) -> Iterator[str]:
    """The address of a gateway whose section of the settings is this."""
    nowhere = {name: Peer(address="127.0.0.1:1") for name in ("facility", "risk", "protection")}
    settings = Settings(
        state_dir=folder, gateway=GatewayServer(port=0, metrics_port=0, **(nowhere | section))
    )
    signals = Signals()
    thread = threading.Thread(target=asyncio.run, args=(gateway.run(settings, signals),))
    thread.start()
    ready = folder / "run" / "gateway.json"
    try:
        while not ready.exists():
            assert thread.is_alive()
            time.sleep(0.02)
        yield json.loads(ready.read_text())["address"]
    finally:
        signals.first.set()
        thread.join(10)
