"""An authorization server as far as a resource server needs it: keys, access tokens, and its two documents."""

import json
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.warnings import InsecureKeyLengthWarning

AUDIENCE = "https://mcp.example.com/mcp"


@cache
def rsa_key(bits: int = 2048, _name: str = "") -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def jwk(key: Any, **members: Any) -> dict[str, Any]:
    """Return the public half of a key, as a member of a JWK Set."""
    kinds: dict[type, Any] = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm = next((found for kind, found in kinds.items() if isinstance(key, kind)), OKPAlgorithm)
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), **members}


def signed(
    issuer: str,
    header: Mapping[str, Any] | None = None,
    *,
    key: Any = None,
    without: str = "",
    algorithm: str = "RS256",
    **claims: Any,
) -> str:
    """Return an access token; `header` and `claims` differ from those of a valid one."""
    now = time.time()
    usual = {"iss": issuer, "sub": "anna", "aud": AUDIENCE, "exp": now + 300, "iat": now}
    whole = {name: value for name, value in {**usual, **claims}.items() if name != without}
    headers = {"typ": "at+jwt", "kid": "one", **(header or {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureKeyLengthWarning)
        return jwt.encode(whole, rsa_key() if key is None else key, algorithm, headers)


class Issuer(ThreadingHTTPServer):
    """Its documents, each with how it is answered; `asked` counts by path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Documents)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.keys: list[dict[str, Any]] = [jwk(rsa_key(), kid="one")]
        self.metadata: dict[str, Any] = {
            "issuer": self.url,
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
        }
        self.location = ""
        """Where the address of the keys redirects to."""
        self.padding = b""
        """What the keys begin with."""
        self.asked: list[str] = []

    def handle_error(self, *_: Any) -> None:
        """A client may leave in the middle of an answer."""


class _Documents(BaseHTTPRequestHandler):
    server: Issuer

    def do_GET(self) -> None:
        issuer = self.server
        issuer.asked.append(self.path)
        if self.path == "/.well-known/openid-configuration":
            body = json.dumps(issuer.metadata).encode()
        elif self.path == "/jwks":
            body = issuer.padding + json.dumps({"keys": issuer.keys}).encode()
        else:
            self.send_error(404)
            return
        is_redirected = self.path == "/jwks" and issuer.location
        self.send_response(302 if is_redirected else 200)
        if is_redirected:
            self.send_header("Location", issuer.location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def issuing() -> Iterator[Issuer]:
    """Run an authorization server."""
    with Issuer() as issuer:
        threading.Thread(target=issuer.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield issuer
        finally:
            issuer.shutdown()
