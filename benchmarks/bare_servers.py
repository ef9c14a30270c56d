"""The bare stack: a gRPC server that answers with bytes, and a gateway that hands bodies on to it, unchecked.

`bare_servers.py grpc SIZE` and `bare_servers.py rest ADDRESS` print their address and serve until killed.
"""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc

METHOD = "/bare.Echo/Call"


@contextmanager
def bare_server(*arguments: str) -> Iterator[tuple[int, str]]:
    """One of them in a process of its own: process id and address."""
    command = [sys.executable, __file__, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.pid, process.stdout.readline().strip()  # type: ignore[union-attr]
        finally:
            process.kill()


def serve_grpc(size: int) -> None:
    """Answer every call with so many bytes."""
    answer = bytes(size)
    handler = grpc.unary_unary_rpc_method_handler(lambda *_: answer)
    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("bare.Echo", {"Call": handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"127.0.0.1:{port}", flush=True)
    server.wait_for_termination()


def serve_rest(address: str) -> None:
    """Hand every body on to a gRPC server, and its answer back."""
    import uvicorn
    import uvloop
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def run() -> None:
        channel = grpc.aio.insecure_channel(address)
        call = channel.unary_unary(METHOD)

        async def hand_on(request: Request) -> Response:
            return Response(await call(await request.body(), timeout=10), media_type="application/json")

        app = Starlette(routes=[Route("/", hand_on, methods=["POST"])])
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        print(f"127.0.0.1:{listening.getsockname()[1]}", flush=True)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off"))
        await server.serve(sockets=[listening])

    uvloop.run(run()) if sys.platform != "win32" else asyncio.run(run())


if __name__ == "__main__":
    serve_grpc(int(sys.argv[2])) if sys.argv[1] == "grpc" else serve_rest(sys.argv[2])
