"""An identity provider on the loopback: it signs tokens and publishes its keys, and can be made to fail."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

AUDIENCE = "sdcgate"
MAKERS = {
    "RS256": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


class IdentityProvider:
    """Keys by their ids, those of them that are published, and how often they were asked for."""

    def __init__(self) -> None:
        self.keys: dict[str, tuple[str, Any]] = {}
        self.published: list[str] = []
        self.asked = 0
        self.status = 200
        self.body: bytes | None = None
        """What is sent in place of the keys, where it is not None."""
        self.hangs = 0.0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, kid: str, algorithm: str = "RS256", published: bool = True) -> None:
        self.keys[kid] = (algorithm, MAKERS[algorithm]())
        if published:
            self.published.append(kid)

    def sign(self, kid: str = "first", headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token of ada, a researcher, unless claims say otherwise; one that is None is left out."""
        now = int(time.time())
        given = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ada",
            "roles": ["researcher"],
            "iat": now,
            "exp": now + 300,
            **claims,
        }
        algorithm, key = self.keys[kid]
        kept = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(kept, key, algorithm, {"kid": kid, **(headers or {})})

    def jwks(self) -> bytes:
        found = []
        for kid in self.published:
            name, key = self.keys[kid]
            algorithm = jwt.get_algorithm_by_name(name)
            found.append(
                {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig", "alg": name}
            )
        return json.dumps({"keys": found}).encode()

    def _handler(provider) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked += 1
                time.sleep(provider.hangs)
                body = provider.jwks() if provider.body is None else provider.body
                self.send_response(provider.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """A provider with one published key, `first`."""
    provider = IdentityProvider()
    provider.add("first")
    try:
        yield provider
    finally:
        provider.stop()
