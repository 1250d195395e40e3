"""When a login is renewed, what is stored of it, and what a refused request leads to."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from auth.authorization import Authorization, authorization
from search_mcp.auth import scopes
from search_mcp.auth.access import LOOK_SECONDS, Access
from search_mcp.auth.errors import AuthError, Unauthorized, Unavailable
from search_mcp.auth.records import Login
from search_mcp.auth.registration import Registration
from search_mcp.auth.renewal import Need, Renewed, detachments, digest, renew, renew_apart
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore
from search_mcp.auth.tokens import Tokens
from search_mcp.wire.structs import replace

CHALLENGE = "Bearer"


@pytest.fixture
def server() -> Iterator[Authorization]:
    with authorization() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> LoginStore:
    return LoginStore(tmp_path / "logins", patience_seconds=0)


@pytest.fixture
def settings(server: Authorization) -> LoginSettings:
    return LoginSettings(name="files", url=f"{server.url}/mcp")


@pytest.fixture
def machine(settings: LoginSettings) -> LoginSettings:
    return replace(settings, client_id="mine", client_secret="secret", grant="client_credentials")


LogIn = Callable[..., Login]


@pytest.fixture
def log_in(store: LoginStore, settings: LoginSettings, server: Authorization) -> LogIn:
    """Store a login, as if the user had just made it."""

    def stored(lifetime: float | None = 3600, *, is_renewable: bool = True) -> Login:
        given, now = server.tokens("read"), time.time()
        login = Login(
            name="files",
            url=settings.url,
            issuer=server.url,
            token_endpoint=f"{server.url}/token",
            client=Registration(issuer=server.url, client_id="registered"),
            wanted_scopes=("read",),
            tokens=Tokens(
                access_token=given["access_token"],
                refresh_token=given["refresh_token"] if is_renewable else None,
                obtained_at=now,
                expires_at=None if lifetime is None else now + lifetime,
            ),
        )
        with store.changing(settings) as change:
            change.write(login)
        return login

    return stored


def access(settings: LoginSettings, store: LoginStore) -> Access:
    return Access(settings, store, renew=renew)


# One renewal


def test_a_token_is_renewed_once_for_all_who_were_refused(
    store: LoginStore, settings: LoginSettings, server: Authorization, log_in: LogIn
) -> None:
    need = Need(refused=digest(log_in().access_token))
    for _ in range(2):
        assert renew(store, settings, need).outcome == "renewed"
    assert server.redeemed == 1
    login = store.read(settings)
    assert login is not None
    assert login.tokens is not None
    assert (login.access_token, login.tokens.refresh_token) == ("access-2", "refresh-2")


def test_a_token_that_is_not_due_is_not_renewed(
    store: LoginStore, settings: LoginSettings, server: Authorization, log_in: LogIn
) -> None:
    log_in()
    assert renew(store, settings, Need()).outcome == "renewed"
    assert server.redeemed == 0


def test_a_refused_refresh_token_ends_the_login_and_keeps_the_registration(
    store: LoginStore, settings: LoginSettings, server: Authorization, log_in: LogIn
) -> None:
    before = log_in(0)
    server.refresh = "another"
    renewed = renew(store, settings, Need())
    assert renewed.outcome == "needs login"
    assert "invalid_grant): The refresh token was used before" in renewed.reason
    login = store.read(settings)
    assert login is not None
    assert (login.tokens, login.client, login.ended) == (None, before.client, renewed.reason)
    assert renew(store, settings, Need()) == renewed


def test_a_client_that_the_server_forgot_is_registered_again(
    store: LoginStore, settings: LoginSettings, server: Authorization, log_in: LogIn
) -> None:
    log_in(0)
    server.knows_client = False
    assert "invalid_client" in renew(store, settings, Need()).reason
    login = store.read(settings)
    assert login is not None
    assert not login.client.fits(login.issuer, login.client.redirect_uri, (), 0)


def test_without_an_answer_nothing_is_lost(store: LoginStore, settings: LoginSettings, log_in: LogIn) -> None:
    login = replace(log_in(0), token_endpoint="http://127.0.0.1:9/token")
    with store.changing(settings) as change:
        change.write(login)
    renewed = renew(store, settings, Need())
    assert renewed.outcome == "unavailable"
    assert "no connection to 127.0.0.1" in renewed.reason
    assert store.read(settings) == login


def test_another_process_that_takes_too_long_is_no_reason_to_log_in(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    log_in(0)
    with store.changing(settings):
        assert renew(store, settings, Need()).outcome == "unavailable"


def test_a_process_of_its_own_does_the_same(
    store: LoginStore, settings: LoginSettings, server: Authorization, log_in: LogIn
) -> None:
    log_in(0)
    assert renew_apart(store, settings, Need()) == Renewed(outcome="renewed")
    assert server.redeemed == 1


# The token of a request


async def test_a_server_without_a_login_gets_no_token(store: LoginStore, settings: LoginSettings) -> None:
    opened = access(settings, store)
    assert await opened.token() is None
    with pytest.raises(Unauthorized, match=r"^$"):
        await opened.refused(None, 401, [CHALLENGE])
    assert not list(store.folder.glob("*.json"))


async def test_a_login_made_elsewhere_is_used_at_once(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    opened = access(settings, store)
    assert await opened.token() is None
    login = log_in()
    await opened.refused(None, 401, [CHALLENGE])
    assert await opened.token() == login.access_token


async def test_an_expired_token_is_renewed_before_it_is_sent(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    log_in(0.001)
    assert await access(settings, store).token() == "access-2"


async def test_a_token_near_its_end_is_sent_and_renewed_meanwhile(
    store: LoginStore, settings: LoginSettings, server: Authorization, log_in: LogIn
) -> None:
    log_in(3600)
    now = time.time()
    server.hold.clear()

    def renew_at_that_time(store: LoginStore, settings: LoginSettings, need: Need) -> Renewed:
        login = store.read(settings)
        assert login is not None
        return renew(store, settings, Need(refused=digest(login.access_token)))

    opened = Access(settings, store, renew=renew_at_that_time, clock=lambda: now + 3400)
    assert [await opened.token() for _ in range(3)] == ["access-1"] * 3
    server.hold.set()
    assert opened._early is not None
    opened._early.join()
    assert await opened.token() == "access-2"
    assert server.redeemed == 1


async def test_a_refused_token_is_renewed_though_it_has_not_expired(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    log_in(None)
    opened = access(settings, store)
    await opened.refused(await opened.token(), 401, [CHALLENGE])
    assert await opened.token() == "access-2"


async def test_a_refused_token_that_cannot_be_renewed_needs_the_user(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    log_in(is_renewable=False)
    opened = access(settings, store)
    with pytest.raises(Unauthorized, match=r"^the login has expired$"):
        await opened.refused(await opened.token(), 401, [CHALLENGE])


async def test_an_expired_token_that_cannot_be_renewed_needs_the_user(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    log_in(0.001, is_renewable=False)
    opened = access(settings, store)
    assert await opened.token() is None
    with pytest.raises(Unauthorized, match=r"^the login has expired$"):
        await opened.refused(None, 401, [CHALLENGE])


async def test_a_login_that_the_user_replaces_or_ends_elsewhere_is_noticed(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    now = [time.time()]
    opened = Access(settings, store, renew=renew, clock=lambda: now[0])
    log_in()
    assert await opened.token() == "access-1"
    log_in()
    assert await opened.token() == "access-1"  # the file is not looked at for each request
    now[0] += LOOK_SECONDS
    assert await opened.token() == "access-2"
    with store.changing(settings) as change:
        change.delete()
    now[0] += LOOK_SECONDS
    assert await opened.token() is None


async def test_more_permissions_need_the_user_and_are_remembered(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    log_in()
    opened = access(settings, store)
    headers = ['Bearer error="insufficient_scope", scope="write"']
    for _ in range(2):
        with pytest.raises(Unauthorized, match=r"^a call needs more permissions: write$"):
            await opened.refused(await opened.token(), 403, headers)
    login = store.read(settings)
    assert login is not None
    assert (login.wanted_scopes, login.missing_scopes) == (("read",), ("write",))
    assert login.access_token == "access-1"


async def test_the_permissions_that_a_server_asks_for_are_bounded(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    log_in()
    opened = access(settings, store)
    for number in range(10):
        names = " ".join(f"{number}-{each}-\u202e" for each in range(100))
        with pytest.raises(Unauthorized, match=r"^[^\u202e]{,300}$"):
            await opened.refused(await opened.token(), 403, [f'Bearer error="insufficient_scope", scope="{names}"'])
    login = store.read(settings)
    assert login is not None
    assert login.missing_scopes[-1] == "9-99-\u202e"
    assert len(" ".join(login.missing_scopes)) <= scopes.MOST_CHARACTERS


async def test_permissions_that_a_login_did_not_get_are_no_reason_for_another_one(
    store: LoginStore, settings: LoginSettings, log_in: LogIn
) -> None:
    log_in()
    opened = access(settings, store)
    with pytest.raises(AuthError, match="needs permissions that the login did not get: read"):
        await opened.refused(await opened.token(), 403, ['Bearer error="insufficient_scope", scope="read"'])


@pytest.mark.parametrize(
    ("status", "headers", "why"),
    [
        (401, ['Basic realm="x"'], "a kind of login that search-mcp does not have"),
        (403, [], "forbids"),
        (403, ['Bearer error="invalid_token"'], "forbids"),
    ],
)
async def test_refusals_that_no_login_changes(
    store: LoginStore, settings: LoginSettings, status: int, headers: list[str], why: str
) -> None:
    with pytest.raises(AuthError, match=why):
        await access(settings, store).refused(None, status, headers)


async def test_a_store_that_cannot_be_read_is_no_reason_to_log_in(store: LoginStore, settings: LoginSettings) -> None:
    store._path(settings).mkdir(parents=True)
    with pytest.raises(Unavailable, match="cannot be read"):
        await access(settings, store).token()


# Client credentials


async def test_a_client_logs_in_by_itself(store: LoginStore, machine: LoginSettings, server: Authorization) -> None:
    opened = access(machine, store)
    assert await opened.token() == "access-1"
    assert await access(machine, store).token() == "access-1"
    server.expire()
    await opened.refused("access-1", 401, [CHALLENGE])
    assert await opened.token() == "access-2"
    await opened.refused("access-2", 403, ['Bearer error="insufficient_scope", scope="write"'])
    assert server.access[str(await opened.token())] == "write"


async def test_a_client_without_a_secret_is_told_what_is_missing(store: LoginStore, machine: LoginSettings) -> None:
    with pytest.raises(AuthError, match='needs "clientId" and "clientSecret"'):
        await access(replace(machine, client_secret=None), store).token()


def test_on_windows_a_renewal_leaves_the_job_of_the_client_if_it_may() -> None:
    flags = [options["creationflags"] for options in detachments("win32")]
    assert flags == [0x09000000, 0x08000000]
    assert detachments("linux") == detachments("darwin") == [{"start_new_session": True}]
