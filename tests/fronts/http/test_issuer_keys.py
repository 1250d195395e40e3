"""The keys of an issuer: when they are read, and from where."""

import contextlib
import re
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import jwt
import pytest

from fronts.http.issuing import Issuer, issuing, jwk, rsa_key
from search_mcp.auth.errors import AuthError, Unavailable
from search_mcp.fronts.http import issuer_keys
from search_mcp.fronts.http.issuer_keys import (
    FRESH_SECONDS,
    KEPT_SECONDS,
    IssuerKeys,
    IssuerUnreachableError,
    JwkSet,
    fetched,
)

ONE, TWO = (jwk(rsa_key(), kid=each) for each in ("one", "two"))


class Source:
    """An issuer in this process, and its clock."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = [ONE]
        self.error: AuthError | None = None
        self.now = 0.0
        self.asked = 0

    def fetch(self, _issuer: str) -> JwkSet:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return JwkSet(tuple(self.keys))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[IssuerKeys]:
        keys = IssuerKeys("https://login.example.com", self.fetch, lambda: self.now)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keys.run)
            yield keys
            tasks.cancel_scope.cancel()


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(30):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def test_thousands_of_unknown_keys_are_asked_for_once() -> None:
    source = Source()
    async with source.running() as keys:
        for number in range(2000):
            assert await keys.find(f"key {number}", "RS256") is None
        assert isinstance(await keys.find("one", "RS256"), jwt.PyJWK)
    assert source.asked == 1


async def test_a_new_key_is_found_after_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_keys, "REST_SECONDS", 0)
    source = Source()
    async with source.running() as keys:
        assert await keys.find("two", "RS256") is None
        source.keys = [TWO]
        with anyio.fail_after(30):
            while await keys.find("two", "RS256") is None:
                await anyio.lowlevel.checkpoint()
        assert await keys.find("one", "RS256") is None


async def test_a_withdrawn_key_is_used_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_keys, "REST_SECONDS", 0)
    source = Source()
    async with source.running() as keys:
        assert await keys.find("one", "RS256")
        source.keys = []
        source.now += FRESH_SECONDS + 1
        with anyio.fail_after(30):
            while await keys.find("one", "RS256"):
                await anyio.lowlevel.checkpoint()


async def test_keys_are_used_for_a_while_without_their_issuer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(issuer_keys, "REST_SECONDS", 0)
    caplog.set_level("INFO")
    source = Source()
    async with source.running() as keys:
        assert await keys.find("one", "RS256")
        source.error = Unavailable("it sleeps")
        source.now += KEPT_SECONDS
        assert await keys.find("one", "RS256")
        await until(lambda: source.asked > 1)
        source.now += 1
        with pytest.raises(IssuerUnreachableError):
            await keys.find("one", "RS256")
        source.error = None
        with anyio.fail_after(30):
            while True:
                with contextlib.suppress(IssuerUnreachableError):
                    assert await keys.find("one", "RS256")
                    break
                await anyio.lowlevel.checkpoint()
    assert [each.message for each in caplog.records] == [
        "! no keys from the issuer of access tokens: it sleeps",
        "= the issuer of access tokens answers again",
    ]


async def test_an_issuer_that_does_not_answer_blocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_keys, "FETCH_SECONDS", 0.01)
    source, answers = Source(), threading.Event()
    source.fetch = lambda _issuer: JwkSet(({"kid": answers.wait(60)},))  # type: ignore[method-assign]
    async with source.running() as keys:
        with pytest.raises(IssuerUnreachableError):
            await keys.find("one", "RS256")
    answers.set()


# What is read, and from where


def refused(change: Callable[[Issuer], None]) -> str:
    with issuing() as issuer, issuing() as other:
        change(issuer)
        issuer.location = issuer.location.replace("OTHER", other.url)
        with pytest.raises(AuthError) as caught:
            fetched(issuer.url)
        assert not other.asked
    return re.sub(r"127.0.0.1:\d+", "it", str(caught.value))


def test_the_keys_are_those_of_the_metadata() -> None:
    with issuing() as issuer:
        assert fetched(issuer.url) == JwkSet((ONE,))
        assert issuer.asked == ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/jwks"]


@pytest.mark.parametrize("location", ["OTHER/jwks", "http://169.254.169.254/latest", "https://10.0.0.1/jwks", "/jwks"])
def test_redirects_of_the_keys_are_not_followed(location: str) -> None:
    assert refused(lambda issuer: vars(issuer).update(location=location)) == (
        "its JWK Set cannot be read: HTTP status 302"
    )


@pytest.mark.parametrize("url", [None, "http://example.com/jwks", "http://169.254.169.254/", "file:///etc/passwd"])
def test_addresses_of_keys_that_are_not_used(url: str | None) -> None:
    assert "is not used" in refused(lambda issuer: issuer.metadata.update(jwks_uri=url))


def test_a_long_answer_is_not_read_to_its_end() -> None:
    assert "more than 1 MiB" in refused(lambda issuer: vars(issuer).update(padding=b" " * (10 << 20)))


@pytest.mark.parametrize("keys", [None, {}, ["x"], "x"])
def test_something_else_than_keys(keys: Any) -> None:
    assert "cannot be read" in refused(lambda issuer: vars(issuer).update(keys=keys))


def test_metadata_of_another_issuer_is_not_used() -> None:
    assert "names another issuer" in refused(lambda issuer: issuer.metadata.update(issuer="https://evil.example.com"))
