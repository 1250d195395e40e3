"""Access tokens of an authorization server: which are valid, and whose they are."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Callable
from typing import Any

import anyio
import jwt
import pytest

from fronts.http.issuing import AUDIENCE, ec_key, ed_key, jwk, rsa_key, signed
from search_mcp.auth.errors import Unavailable
from search_mcp.fronts.http.access import Token
from search_mcp.fronts.http.access_tokens import MOST_CHARACTERS, ResourceServer, principal_name
from search_mcp.fronts.http.issuer_keys import IssuerKeys, JwkSet
from search_mcp.fronts.http.protected_resource import ProtectedResource
from search_mcp.fronts.http.requests import RefusedError
from search_mcp.fronts.http.token_store import NAME

ISSUER = "https://login.example.com"


def keys() -> JwkSet:
    found = (
        jwk(rsa_key(), kid="one"),
        jwk(ec_key(), kid="two", alg="ES256"),
        jwk(ed_key(), kid="three"),
        jwk(rsa_key(_name="for encryption"), kid="four", use="enc"),
        jwk(rsa_key(1024), kid="short"),
        {"kid": "strange", "kty": "RSA"},
        {"kid": ["strange"], "kty": "RSA"},
    )
    return JwkSet(found)


def principal(token: str, *scopes: str, fetch: Callable[[str], JwkSet] = lambda _issuer: keys()) -> Token:
    """Return whose a token is, by a resource server with the keys above."""

    async def main() -> Token:
        known = IssuerKeys(ISSUER, fetch)
        server = ResourceServer(ProtectedResource(ISSUER, AUDIENCE, scopes), known)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(known.run)
            try:
                return await server.principal(token)
            except RefusedError as exc:
                refused = exc
            finally:
                tasks.cancel_scope.cancel()
        raise refused

    return anyio.run(main)


def part(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def token(**changes: Any) -> str:
    return signed(ISSUER, **changes)


@pytest.mark.parametrize(
    "valid",
    [
        lambda: token(),
        lambda: token(aud=[AUDIENCE, "account"]),
        lambda: token(exp=time.time() - 10),
        lambda: token(nbf=time.time() + 10),
        lambda: token(header={"typ": "application/AT+JWT"}),
        lambda: token(header={"typ": "JWT"}),
        lambda: token(algorithm="PS256"),
        lambda: token(header={"kid": "two"}, key=ec_key(), algorithm="ES256"),
        lambda: token(header={"kid": "three"}, key=ed_key(), algorithm="EdDSA"),
        # where a token says that its key is does not matter
        lambda: token(header={"jku": "https://evil.example.com", "x5u": "https://evil.example.com"}),
        lambda: token(header={"jwk": jwk(rsa_key(_name="of an attacker"))}),
    ],
)
def test_a_valid_token_is_of_its_subject(valid: Callable[[], str]) -> None:
    assert principal(valid()) == Token(principal_name(ISSUER, "anna"), "", subject="anna")


def with_hmac() -> str:
    """Return a token whose shared secret is the public key."""
    text = f"{part({'alg': 'HS256', 'typ': 'at+jwt', 'kid': 'one'})}.{part({'iss': ISSUER, 'sub': 'anna'})}"
    public = json.dumps(jwk(rsa_key())).encode()
    return f"{text}.{part(jwt.algorithms.HMACAlgorithm(hashlib.sha256).sign(text.encode(), public))}"


def other_key() -> Any:
    return rsa_key(_name="of an attacker")


@pytest.mark.parametrize(
    ("invalid", "reason"),
    [
        (lambda: f"{part({'alg': 'none'})}.{part({'sub': 'anna'})}.", "algorithm"),
        (lambda: f"{part({'alg': 'RS256', 'typ': 'at+jwt', 'kid': 'one'})}.{part({'sub': 'anna'})}.", "signature"),
        (lambda: with_hmac(), "algorithm"),
        (lambda: token(key=other_key()), "signature"),
        (lambda: token(key=other_key(), header={"jwk": jwk(other_key())}), "signature"),
        (lambda: token(key=other_key(), header={"jku": "https://evil.example.com", "kid": "evil"}), "key is not known"),
        (lambda: token(header={"kid": "../../one"}), "key is not known"),
        (lambda: token(header={"kid": "four"}, key=rsa_key(_name="for encryption")), "key is not known"),
        (lambda: token(header={"kid": "strange"}), "key is not known"),
        (lambda: token(header={"kid": "short"}, key=rsa_key(1024)), "cannot be used"),
        (lambda: token(header={"kid": "two"}), "key is not known"),
        (lambda: token(header={"typ": "logout+jwt"}), "not an access token"),
        (lambda: token(header={"crit": ["b64"], "b64": False}), "cannot be used"),
        (lambda: token(header={"crit": ["exp"]}), "not a JWT"),
        (lambda: token(aud="https://other.example.com/mcp"), "audience"),
        (lambda: token(aud=f"{AUDIENCE}/"), "audience"),
        (lambda: token(aud=["account"]), "audience"),
        (lambda: token(aud=[AUDIENCE, 1]), "audience"),
        (lambda: token(without="aud"), "aud"),
        (lambda: token(iss="https://evil.example.com"), "issuer"),
        (lambda: token(without="iss"), "iss"),
        (lambda: token(without="sub"), "sub"),
        (lambda: token(without="exp"), "exp"),
        (lambda: token(exp=time.time() - 60), "expired"),
        (lambda: token(exp="soon"), "cannot be used"),
        (lambda: token(nbf=time.time() + 60), "not valid yet"),
        (lambda: token(sub=""), "subject"),
        (lambda: token(sub="a" * 256), "subject"),
        (lambda: token(sub="anna\nbob"), "subject"),
        (lambda: token(sub="\ud800"), "subject"),
        (lambda: token(cnf={"jkt": "x"}), "bound to a key"),
        (lambda: token(note="x" * MOST_CHARACTERS), "characters"),
        (str, "not a JWT"),
        (lambda: "a.b.c", "not a JWT"),
        (lambda: "ü.ü.ü", "not a JWT"),
        (lambda: f"{part(b'[' * 9000)}.{part({})}.", "not a JWT"),
        (lambda: f"{part({'alg': ['RS256']})}.{part({})}.", "algorithm"),
        (lambda: f"{part({'alg': 'RS256', 'kid': ['one']})}.{part({})}.", "not a JWT"),
        (lambda: f"{part({'alg': 'RS256', 'typ': 1})}.{part({})}.", "not an access token"),
    ],
)
def test_any_other_token_is_refused(invalid: Callable[[], str], reason: str) -> None:
    text = invalid()
    with pytest.raises(RefusedError) as caught:
        principal(text)
    assert caught.value.status == 401
    assert reason in caught.value.reason
    assert 'error="invalid_token"' in dict(caught.value.headers)["www-authenticate"]
    assert not text or text not in caught.value.reason


@pytest.mark.parametrize("scopes", [{"scope": "tools files"}, {"scp": "files tools"}, {"scp": ["tools", "files", 1]}])
def test_the_scopes_of_a_token(scopes: dict[str, Any]) -> None:
    assert principal(token(**scopes), "tools", "files").subject == "anna"


@pytest.mark.parametrize("scopes", [{}, {"scope": "tools"}, {"scope": "toolsfiles"}, {"scope": 1}])
def test_a_token_without_a_needed_scope_is_told_all_of_them(scopes: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as caught:
        principal(token(**scopes), "tools", "files")
    assert caught.value.status == 403
    metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
    challenge = f'Bearer error="insufficient_scope", scope="tools files", resource_metadata="{metadata}"'
    assert caught.value.headers == (("www-authenticate", challenge),)


def test_no_token_is_invalid_because_its_issuer_does_not_answer() -> None:
    """Its client must not throw away its login."""

    def fetch(_issuer: str) -> JwkSet:
        raise Unavailable("it sleeps")

    with pytest.raises(RefusedError) as caught:
        principal(token(), fetch=fetch)
    assert (caught.value.status, caught.value.headers) == (503, (("retry-after", "15"),))
    with pytest.raises(RefusedError, match="algorithm"):
        principal(f"{part({'alg': 'none'})}.{part({})}.", fetch=fetch)


def test_the_names_of_subjects() -> None:
    subjects = ["anna", "Anna", "../anna", "anna/", "a" * 255, "auth0|123", "ü", "sub-anna"]
    names = [principal_name(issuer, each) for each in subjects for issuer in (ISSUER, f"{ISSUER}/")]
    assert len({*names}) == len(names)
    assert all(re.fullmatch("sub-[a-z2-7]{26}", each) and NAME.fullmatch(each) for each in names)
