"""One stateless service in this process, behind a real channel."""

from contextlib import contextmanager

from sdcgate.servers.authentication import service_authenticator
from sdcgate.servers.channels import connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.settings import GrpcServer

TOKEN = "t" * 43


@contextmanager
def served(name, add, service, stub, warm_up):
    """A stub of the service that `add` adds to a server."""
    running = Running(name, add, [service], GrpcServer(), service_authenticator(TOKEN))
    running.start(warm_up)
    channel = connect(running.address, TOKEN)
    try:
        yield stub(channel)
    finally:
        channel.close()
        running.stop(0)
