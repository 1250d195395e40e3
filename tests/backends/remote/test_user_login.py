"""Calls of a remote server whose user is not logged in."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import anyio
import pytest
from auth.authorization import Authorization, authorization
from auth.browser import Browser

from backends.remote.reached import Reached, reached
from search_mcp.auth.interactive import log_in
from search_mcp.auth.renewal import Need, digest, renew
from search_mcp.auth.settings import login_settings
from search_mcp.auth.store import LoginStore
from search_mcp.backends.remote import channel, user_login
from search_mcp.backends.remote.user_login import UserLogin
from search_mcp.background import run_in_thread
from search_mcp.config.schema import Remote
from search_mcp.folders import logins_folder
from search_mcp.model.calls import Question, Result
from search_mcp.model.names import Ask, State
from search_mcp.model.servers import ElicitationComplete, StateChanged
from search_mcp.model.standing import standing_of
from search_mcp.wire import payload
from search_mcp.wire.payload import encode

REMEDY = "Ask the user to run `search-mcp auth login there` in a terminal, or `search-mcp ui`"
NEEDED = f"MCP server 'there' needs a login. {REMEDY}"


@pytest.fixture(autouse=True)
def _folders(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def protected() -> Iterator[Authorization]:
    with authorization() as server:
        yield server


@pytest.fixture
async def there(protected: Authorization) -> AsyncIterator[Reached]:
    async with reached(remote(protected)) as backend:
        yield backend


def remote(server: Authorization) -> Remote:
    return Remote(url=f"{server.url}/mcp", public_url=f"{server.url}/mcp")


async def log_in_elsewhere(server: Authorization) -> None:
    """Log in as the command does."""
    browser = Browser()
    await log_in(login_settings("there", remote(server)), LoginStore(logins_folder()), browser.show)
    await browser.close()


def agree(there: Reached, browser: Browser) -> None:
    """Have the client's user open the addresses that it is asked to open."""
    there.person.capabilities["elicitation"] = encode({"url": {}})

    def answer(question: Question) -> dict[str, str]:
        browser.begin(payload.string(question.params["url"]) or "")
        return {"action": "accept"}

    there.person.answers = answer


async def test_a_call_without_a_login_names_the_command(there: Reached) -> None:
    await there.state(State.NEEDS_LOGIN)
    assert standing_of(there.supervisor.status).explanation == "run `search-mcp auth login there`"
    message, data = await there.error("say", {"text": "hello"})
    assert message == NEEDED
    assert data == {"server": "there", "remedy": REMEDY}


async def test_a_missing_login_does_not_count_as_a_failed_start(there: Reached) -> None:
    """A call that waits for the lists of the server would be refused by such a state."""
    await there.state(State.NEEDS_LOGIN)
    states = [each.status.state for each in there.news if isinstance(each, StateChanged)]
    assert states == [State.STARTING, State.NEEDS_LOGIN]


async def test_a_login_made_elsewhere_is_noticed(there: Reached, protected: Authorization) -> None:
    await there.state(State.NEEDS_LOGIN)
    await log_in_elsewhere(protected)
    await there.ready()
    assert there.tools() == ["say"]
    assert await there.text("say", {"text": "hello"}) == "hello"


async def test_the_client_is_asked_to_open_the_address_of_the_login(there: Reached, protected: Authorization) -> None:
    await there.state(State.NEEDS_LOGIN)
    browser = Browser()
    agree(there, browser)
    assert await there.text("say", {"text": "hello"}) == "hello"
    await browser.close()
    assert "You are logged in" in browser.pages[0]
    (question,) = there.person.questions
    assert (question.ask, payload.string(question.params["mode"])) == (Ask.ELICIT, "url")
    message = payload.string(question.params["message"])
    host = protected.url.removeprefix("http://")
    where = f"Open its address at {host} in a browser on the computer where search-mcp runs."
    assert message == f"[there] This server needs a login. {where}"
    (complete,) = [each for each in there.news if isinstance(each, ElicitationComplete)]
    assert complete.params["elicitationId"] == question.params["elicitationId"]


async def test_a_login_of_several_hosts_is_not_asked_for_in_a_call(there: Reached, protected: Authorization) -> None:
    await there.state(State.NEEDS_LOGIN)
    protected.login_page = "http://localhost:9/authorization"
    agree(there, Browser())
    message, _ = await there.error("say", {"text": "hello"})
    host = protected.url.removeprefix("http://")
    assert message == (
        "MCP server 'there' needs a login (its login uses several hosts, which you have to accept: "
        f"localhost:9, {host}). Ask the user to run `search-mcp auth login there` in a terminal, or `search-mcp ui`"
    )
    assert there.person.questions == []


async def test_one_login_serves_all_calls_that_wait(there: Reached) -> None:
    await there.state(State.NEEDS_LOGIN)
    browser = Browser()
    agree(there, browser)
    calls = [there.begin("say", {"text": str(number)}) for number in range(5)]
    texts = [payload.value(cast(Result, await call.outcome()).raw()) for call in calls]
    assert [each["content"][0]["text"] for each in texts] == list("01234")
    await browser.close()
    assert len(there.person.questions) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"action": "decline"}, "the user did not agree to log in"),
        ({"action": "cancel"}, "the user did not agree to log in"),
        ({}, "the user did not agree to log in"),
    ],
)
async def test_a_user_who_does_not_agree_is_not_asked_again_in_that_call(
    there: Reached, answer: dict[str, str], reason: str
) -> None:
    await there.state(State.NEEDS_LOGIN)
    there.person.capabilities["elicitation"] = encode({"url": {}})
    there.person.answers = lambda _question: answer
    message, _ = await there.error("say", {"text": "hello"})
    assert message == f"MCP server 'there' needs a login ({reason}). {REMEDY}"
    assert len(there.person.questions) == 1


async def test_a_login_that_the_authorization_server_refuses_ends_the_call(there: Reached) -> None:
    await there.state(State.NEEDS_LOGIN)
    browser = Browser({"error": "access_denied", "code": ""})
    agree(there, browser)
    message, data = await there.error("say", {"text": "hello"})
    assert "access_denied" in message
    assert data["remedy"] == REMEDY
    await browser.close()


async def test_the_next_call_asks_if_the_one_that_asked_is_cancelled(there: Reached) -> None:
    await there.state(State.NEEDS_LOGIN)
    there.person.capabilities["elicitation"] = encode({"url": {}})
    browser, cancelled = Browser(), list[Any]()
    agree(there, browser)
    agreed = there.person.answers

    def answer(question: Question) -> Any:
        if len(there.person.questions) == 1:
            first.cancel(None)
            cancelled.append(question)
            return {"action": "accept"}  # but nobody opens the address
        return agreed(question)

    there.person.answers = answer
    first, second = there.begin("say", {"text": "first"}), there.begin("say", {"text": "second"})
    outcome = await second.outcome()
    assert b"second" in bytes(cast(Result, outcome).raw())
    assert (len(cancelled), first.outcomes) == (1, [])
    await browser.close()


async def test_the_time_in_which_the_user_logs_in_does_not_count_for_any_waiting_call(there: Reached) -> None:
    await there.state(State.NEEDS_LOGIN)
    browser, asking = Browser(), list[bool]()
    agree(there, browser)
    calls = [there.begin("say", {"text": "hello"}, asks=asking.append) for _ in range(3)]
    for call in calls:
        assert isinstance(await call.outcome(), Result)
    await browser.close()
    assert asking == [True, True, True, False, False, False]


async def test_a_call_that_waits_for_a_login_is_handed_over_if_the_entry_is_edited(there: Reached) -> None:
    await there.state(State.NEEDS_LOGIN)
    there.person.capabilities["elicitation"] = encode({"url": {}})
    there.person.answers = lambda _question: {"action": "accept"}  # but nobody opens the address
    call = there.begin("say", {"text": "hello"})
    (handed,) = there.supervisor.calls.hand_over(there.person.session).held
    assert (handed.call.reply, handed.call.tried) == (call.reply, frozenset())
    assert call.outcomes == []


async def test_a_tool_that_needs_a_login_at_a_server_that_lists_without(protected: Authorization) -> None:
    protected.open_methods = {"initialize", "notifications/initialized", "tools/list"}
    async with reached(remote(protected)) as there:
        await there.ready()
        assert (await there.error("say", {"text": "hello"}))[0] == NEEDED
        status = there.supervisor.status
        explained = "a call needed a login; run `search-mcp auth login there`"
        assert (status.state, standing_of(status).explanation) == (State.READY, explained)
        await log_in_elsewhere(protected)
        assert await there.text("say", {"text": "hello"}) == "hello"
        await there.until(lambda: there.supervisor.status.reason is None)


async def test_a_server_that_lists_nothing_without_a_login_needs_one(protected: Authorization) -> None:
    protected.open_methods = {"initialize", "notifications/initialized"}
    async with reached(remote(protected)) as there:
        await there.state(State.NEEDS_LOGIN)
        assert (await there.error("say", {"text": "hello"}))[0] == NEEDED
        await log_in_elsewhere(protected)
        await there.ready()
        assert await there.text("say", {"text": "hello"}) == "hello"


async def test_a_renewal_does_not_count_as_the_login_that_is_asked_for(
    protected: Authorization, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = anyio.Event()
    read = UserLogin._token

    async def token(login: UserLogin) -> str | None:
        found = await read(login)
        looked.set()
        return found

    monkeypatch.setattr(user_login, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(UserLogin, "_token", token)
    await log_in_elsewhere(protected)
    settings, store = login_settings("there", remote(protected)), LoginStore(logins_folder())
    async with reached(remote(protected)) as there:
        await there.ready()
        protected.scopes = "write"
        asked = anyio.Event()
        there.person.capabilities["elicitation"] = encode({"url": {}})

        def answer(_question: Question) -> dict[str, str]:
            asked.set()
            return {"action": "accept"}

        there.person.answers = answer
        going = there.begin("say", {"text": "hello"})
        await asked.wait()
        looked = anyio.Event()
        renewed = await run_in_thread(lambda: renew(store, settings, Need(refused=digest("access-1"))))
        assert renewed.outcome == "renewed"
        await looked.wait()
        await anyio.wait_all_tasks_blocked()
        assert going.outcomes == []
        going.cancel(None)


async def test_a_login_that_ended_keeps_what_was_listed(protected: Authorization) -> None:
    await log_in_elsewhere(protected)
    async with reached(remote(protected)) as there:
        await there.ready()
        assert await there.text("say", {"text": "hello"}) == "hello"
        protected.expire()
        protected.refresh = None
        message, _ = await there.error("say", {"text": "hello"})
        assert message.endswith(f". {REMEDY}")
        assert "used before" in message  # why the authorization server ended the login
        assert there.tools() == ["say"]


async def test_an_expired_token_is_renewed_during_a_call(protected: Authorization) -> None:
    await log_in_elsewhere(protected)
    async with reached(remote(protected)) as there:
        await there.ready()
        protected.expire()
        assert await there.text("say", {"text": "hello"}) == "hello"
        assert protected.redeemed == 1


async def test_a_stream_that_is_refused_does_not_renew_the_login_again_and_again(
    protected: Authorization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "SHORTEST_PAUSE", 0.0)
    protected.refused_streams = 0
    await log_in_elsewhere(protected)
    async with reached(remote(protected)) as there:
        await there.ready()
        while protected.refused_streams < 2:
            await there.text("say", {"text": "hello"})
        for _ in range(20):
            await there.text("say", {"text": "hello"})
    assert (protected.redeemed, protected.refused_streams) == (1, 2)
