"""Where the gateway listens, and how it lets go of it without losing a request.

A socket may be handed over by whoever starts the gateway, as systemd does (sd_listen_fds(3): `LISTEN_PID`,
`LISTEN_FDS`, descriptor 3). It then outlives the process: connections that come while one gateway follows
another wait in it, and two may take from it at a time.
"""

import asyncio
import os
import socket
import time

import uvicorn

from sdcgate.servers.settings import GatewayServer

FIRST_DESCRIPTOR = 3
CLOSE = (b"connection", b"close")
LEAVING_SECONDS = 3.0
"""For so long at most requests are taken from connections that are there when the gateway is told to stop."""
_STEP_SECONDS = 0.02
_BACKLOG = 2048


def listening_socket(section: GatewayServer) -> socket.socket:
    """The socket that was handed over, or one that is bound to the section's port.

    Raises:
        ValueError: what was handed over is not one socket, or one that listens elsewhere.
        OSError: the port is taken.
    """
    if os.environ.pop("LISTEN_PID", "") != str(os.getpid()):
        return _bound(section)
    number = os.environ.pop("LISTEN_FDS", "")
    if number != "1":
        raise ValueError(f"one socket must be handed over, not {number or 'none'}")
    handed = socket.socket(fileno=FIRST_DESCRIPTOR)
    handed.set_inheritable(False)
    host, port = handed.getsockname()[:2]
    # TLS is wanted of a gateway that others reach: the settings must say where it is reached.
    if (host, port) != (section.host, section.port):
        raise ValueError(
            f"the socket that was handed over is at {host}:{port}, SDCGATE_GATEWAY__HOST and "
            f"SDCGATE_GATEWAY__PORT say {section.host}:{section.port}"
        )
    handed.setblocking(False)
    return handed


def _bound(section: GatewayServer) -> socket.socket:
    family = socket.AF_INET6 if ":" in section.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((section.host, section.port))
        # At once: until then the port can be bound by others too, and uvloop says nothing of one that was.
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


class LeavingServer(uvicorn.Server):
    """A server that takes no new connections when told to stop, and answers what comes over those it has.

    uvicorn itself closes a connection at once on which no request is under way: one that is on its way over
    it would be lost. Here each answer says meanwhile that the connection ends (RFC 9112, section 9.6).
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let go of the socket, answer what still comes, then close."""
        for server in self.servers:
            server.close()
        self.server_state.default_headers = [*self.server_state.default_headers, CLOSE]
        until = time.monotonic() + LEAVING_SECONDS
        while self.server_state.connections and time.monotonic() < until:
            await asyncio.sleep(_STEP_SECONDS)
        await super().shutdown(sockets)
