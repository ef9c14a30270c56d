"""`sdcgate ledger public-key` and `rotate-key`: the keys that sign heads and certificates."""

from contextlib import ExitStack, closing

import typer

from sdcgate.cli.connection import DEFAULT_URL, ApiKey, Url, connected, told
from sdcgate.cli.ledger_place import as_value_error, opened_where_it_lies


def public_key(url: Url = DEFAULT_URL, api_key: ApiKey = "") -> None:
    """Print the public keys that verify certificates of any age, as the gateway tells them."""
    with connected(url, api_key) as client:
        typer.echo(client.status()["public_key"].rstrip())


def rotate_key() -> None:
    """Replace the signing key, every facility stopped; prints all public keys, to be published."""
    from sdcgate.ledger.signing import KeyRing
    from sdcgate.servers.settings import Settings
    from sdcgate.servers.state_folder import only_one

    settings = Settings()
    with told(), as_value_error(), ExitStack() as held:
        with opened_where_it_lies(settings) as ledger:
            if (refusal := ledger.refusal()) is not None:
                raise ValueError(f"the ledger is not in order: {refusal}")
            if ledger.serves_one_process:
                try:
                    held.enter_context(closing(only_one(settings.state_dir / "facility.lock")))
                except RuntimeError:
                    raise ValueError("a facility signs with the key: stop it first") from None
        key_ring = KeyRing.open(settings.state_dir / "keys" / "ledger", create=False)
        old = key_ring.key_id
        new = key_ring.rotate()
    typer.echo(f"key {new} signs from now on; {old} still verifies, and its private key is deleted", err=True)
    typer.echo(key_ring.public_bundle().decode().rstrip())
