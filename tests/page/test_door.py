"""Tokens, sessions and origins, with a clock that a test sets."""

import pytest

from search_mcp.page.door import MOST_SESSIONS, MOST_TOKENS, SESSION_SECONDS, TOKEN_SECONDS, Door

AUTHORITY = "127.0.0.1:8000"
HOST = {"host": AUTHORITY}
OURS = {**HOST, "origin": f"http://{AUTHORITY}"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(clock: Clock) -> Door:
    return Door(AUTHORITY, clock)


def cookies(header: str | None) -> dict[str, str]:
    assert header is not None
    name, _, value = header.partition(";")[0].partition("=")
    return {name: value}


def test_a_token_begins_one_session(door: Door) -> None:
    token = door.new_token()
    session = door.session(cookies(door.enter(token)))
    assert session is not None
    assert door.enter(token) is None


def test_a_token_is_too_old_after_ten_minutes(door: Door, clock: Clock) -> None:
    in_time, late = door.new_token(), door.new_token()
    clock.now += TOKEN_SECONDS
    assert door.enter(in_time) is not None
    clock.now += 0.1
    assert door.enter(late) is None
    clock.now -= 1
    assert door.enter(late) is None  # it was used


def test_a_session_ends_after_twelve_hours(door: Door, clock: Clock) -> None:
    shown = cookies(door.enter(door.new_token()))
    clock.now += SESSION_SECONDS - 1
    assert door.session(shown) is not None
    clock.now += 1
    assert door.session(shown) is None


@pytest.mark.parametrize("token", ["", " ", "x", "é☃", "a" * 100_000])
def test_no_other_token_lets_in(door: Door, token: str) -> None:
    right = door.new_token()
    assert door.enter(token) is None
    assert door.enter(right[:-1]) is None
    assert door.enter(f"{right}x") is None
    assert door.enter(right) is not None


def test_the_oldest_tokens_are_forgotten(door: Door) -> None:
    tokens = [door.new_token() for _ in range(MOST_TOKENS + 1)]
    assert [door.enter(each) is not None for each in tokens] == [False] + [True] * MOST_TOKENS


def test_the_oldest_sessions_are_forgotten(door: Door) -> None:
    entered = [cookies(door.enter(door.new_token())) for _ in range(MOST_SESSIONS + 1)]
    assert [door.session(each) is not None for each in entered] == [False] + [True] * MOST_SESSIONS


def test_each_session_has_its_form_token(door: Door) -> None:
    sessions = [door.session(cookies(door.enter(door.new_token()))) for _ in range(2)]
    assert len({each.form_token for each in sessions if each is not None}) == 2


def test_another_start_knows_neither_its_tokens_nor_its_cookies(door: Door, clock: Clock) -> None:
    other = Door(AUTHORITY, clock)
    token = door.new_token()
    assert other.enter(token) is None
    assert other.session(cookies(door.enter(token))) is None
    assert (other.root, other.cookie) != (door.root, door.cookie)


REFUSED = [
    ("GET", {}, 421),
    ("GET", {"host": "evil.example"}, 421),
    ("GET", {"host": "127.0.0.1"}, 421),
    ("GET", {"host": f"{AUTHORITY}, evil.example"}, 421),
    ("GET", {"host": f" {AUTHORITY}"}, 421),
    ("GET", {**HOST, "sec-fetch-site": "cross-site"}, 403),
    ("GET", {**HOST, "sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
    ("POST", HOST, 403),
    ("POST", {**HOST, "origin": "null"}, 403),
    ("POST", {**HOST, "origin": "null", "sec-fetch-site": "none"}, 403),
    ("POST", {**HOST, "origin": "null", "sec-fetch-site": "same-site"}, 403),
    ("POST", {**HOST, "origin": f"https://{AUTHORITY}"}, 403),
    ("POST", {**HOST, "origin": "http://127.0.0.1:8001"}, 403),
    ("POST", {**HOST, "origin": f"http://{AUTHORITY}.evil.example"}, 403),
    ("POST", {**HOST, "sec-fetch-site": "same-origin"}, 403),
    ("PUT", HOST, 403),
]
ACCEPTED = [
    ("GET", HOST),
    ("HEAD", HOST),
    ("GET", {**HOST, "sec-fetch-site": "none", "sec-fetch-mode": "navigate"}),
    ("GET", {**HOST, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}),  # a link, without the cookie
    ("POST", OURS),
    ("POST", {**OURS, "sec-fetch-site": "same-origin"}),
    ("POST", {**HOST, "origin": "null", "sec-fetch-site": "same-origin"}),  # a form, since we send no referrer
]


@pytest.mark.parametrize(("method", "headers", "status"), REFUSED)
def test_a_request_from_elsewhere_is_refused(door: Door, method: str, headers: dict[str, str], status: int) -> None:
    assert door.refusal(method, headers) == status


@pytest.mark.parametrize(("method", "headers"), ACCEPTED)
def test_a_request_from_here_is_not_refused(door: Door, method: str, headers: dict[str, str]) -> None:
    assert door.refusal(method, headers) is None
