"""The challenges of `WWW-Authenticate`, as servers write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.auth.challenges import Challenge, bearer, challenges

URL = "https://mcp.example.com/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["Bearer"], [Challenge("bearer")]),
        (['Bearer realm="a, b", error=invalid'], [Challenge("bearer", {"realm": "a, b", "error": "invalid"})]),
        (["Basic, bearer x=1"], [Challenge("basic"), Challenge("bearer", {"x": "1"})]),
        (["Negotiate abc==, Bearer a=1"], [Challenge("negotiate"), Challenge("bearer", {"a": "1"})]),
        (['Digest qop="auth,auth-int", nonce = "n" ,BEARER Scope="a b"'],
         [Challenge("digest", {"qop": "auth,auth-int", "nonce": "n"}), Challenge("bearer", {"scope": "a b"})]),
        (['Basic realm="x"', "Bearer"], [Challenge("basic", {"realm": "x"}), Challenge("bearer")]),
        ([r'Bearer error_description="say \"no\""'], [Challenge("bearer", {"error_description": 'say "no"'})]),
        (['Bearer a="1", a="2"'], [Challenge("bearer", {"a": "1"})]),
        (['a="1"', "", ",,", '"'], []),
    ],
)  # fmt: skip
def test_challenges_are_read(values: list[str], found: list[Challenge]) -> None:
    assert challenges(values) == found


def test_a_bearer_challenge_names_metadata_and_scopes() -> None:
    challenge = bearer(
        [f'Bearer resource_metadata="{URL}",\t scope="files:read  files:write", error="insufficient_scope"']
    )
    assert challenge is not None
    assert (challenge.metadata_url, challenge.scopes) == (URL, ("files:read", "files:write"))
    assert challenge.error == "insufficient_scope"


def test_a_server_that_asks_for_another_scheme_has_no_oauth() -> None:
    assert bearer(['Basic realm="x"']) is None
    assert bearer([]) == Challenge("bearer")
    assert bearer(['Basic realm="x", Bearer']) == Challenge("bearer")


@given(st.lists(st.text(alphabet='aB1 ,="\\\t;~é'), max_size=4))
def test_no_header_is_an_error(values: list[str]) -> None:
    for challenge in challenges(values):
        assert challenge.scheme == challenge.scheme.lower() != ""
