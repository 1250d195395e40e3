"""A login from its first request to its tokens, and answers that are not accepted."""

import base64
import json
from collections.abc import Mapping
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from auth.scripted import ISSUER, SERVER, WELL_KNOWN, Script, document, metadata, resource
from search_mcp.auth.addresses import Reach
from search_mcp.auth.challenges import Challenge
from search_mcp.auth.errors import AuthError, Refused, SeveralHosts, Unavailable
from search_mcp.auth.login import Pending, begin, code_challenge, code_of, finish, is_for, log_in_as_client
from search_mcp.auth.records import Login
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.steps import Response
from search_mcp.wire.structs import replace

NOW = 1_000_000.0
REDIRECT = "http://127.0.0.1:33419/callback"
SETTINGS = LoginSettings(name="files", url=SERVER)
AT_PATH = "https://mcp.example.com/.well-known/oauth-protected-resource/public/mcp"
METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"
TOKEN = f"{ISSUER}/token"


def pending(
    script: Script,
    settings: LoginSettings = SETTINGS,
    challenge: Challenge | None = None,
    before: Login | None = None,
) -> Pending:
    texts = iter(["state", "verifier"])
    steps = begin(
        settings, REDIRECT, lambda: next(texts), reach=Reach.PUBLIC, now=NOW, challenge=challenge, before=before
    )
    return script.run(steps)


def query_of(waiting: Pending) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(urlsplit(waiting.url).query).items()}


def answer(**members: str) -> str:
    return urlencode({"state": "state", "code": "code", **members})


def logged_in(responses: Mapping[str, Response] = WELL_KNOWN, settings: LoginSettings = SETTINGS) -> Login:
    script = Script(responses)
    return script.run(finish(settings, pending(script, settings), answer(), NOW))


def test_a_login_from_its_first_request_to_its_tokens() -> None:
    script = Script(WELL_KNOWN)
    waiting = pending(script)
    assert json.loads(script.requests[-1].body) == {
        "client_name": "search-mcp",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }
    assert query_of(waiting) == {
        "response_type": "code",
        "client_id": "registered",
        "redirect_uri": REDIRECT,
        "code_challenge": code_challenge("verifier"),
        "code_challenge_method": "S256",
        "state": "state",
        "resource": SERVER,
    }
    login = script.run(finish(SETTINGS, waiting, answer(), NOW))
    assert script.form() == {
        "grant_type": "authorization_code",
        "code": "code",
        "redirect_uri": REDIRECT,
        "code_verifier": "verifier",
        "resource": SERVER,
        "client_id": "registered",
    }
    assert login.tokens is not None
    assert (login.access_token, login.tokens.refresh_token, login.tokens.expires_at) == (
        "access",
        "refresh",
        NOW + 3600,
    )


def test_the_challenge_of_pkce() -> None:
    """The example of RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert code_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.parametrize("methods", [None, [], ["plain"]])
def test_a_server_without_pkce_is_refused(methods: list[str] | None) -> None:
    with pytest.raises(AuthError, match="does not support PKCE"):
        pending(Script({**WELL_KNOWN, METADATA: metadata(code_challenge_methods_supported=methods)}))


@pytest.mark.parametrize(
    ("issuer", "page", "token"),
    [
        (ISSUER, "https://honest.example/authorize", f"{ISSUER}/token"),
        (ISSUER, f"{ISSUER}/authorize", "https://evil.example/token"),
        (ISSUER, "https://honest.example/authorize", "https://honest.example/token"),
        (ISSUER, f"{ISSUER}:8443/authorize", f"{ISSUER}/token"),
        ("https://me.github.io", "https://you.github.io/authorize", "https://me.github.io/token"),
        ("https://evil.example", "https://accounts.google.com/authorize", "https://oauth2.googleapis.com/token"),
    ],
)
def test_a_login_at_one_host_whose_tokens_go_to_another_is_accepted_by_a_person(
    issuer: str, page: str, token: str
) -> None:
    there = {
        AT_PATH: resource(authorization_servers=[issuer]),
        f"{issuer}/.well-known/oauth-authorization-server": metadata(
            issuer=issuer, authorization_endpoint=page, token_endpoint=token
        ),
        f"{issuer}/register": document(client_id="registered"),
    }
    script = Script(there)
    with pytest.raises(SeveralHosts) as refusal:
        pending(script)
    hosts = {part: urlsplit(url).netloc for part, url in (("login page", page), ("token endpoint", token))}
    assert refusal.value.hosts == {**hosts, "issuer": urlsplit(issuer).netloc}
    assert f"{issuer}/register" not in script.urls
    accepted = refusal.value.hosts
    assert pending(Script(there), replace(SETTINGS, accepted_hosts=accepted)).token_endpoint == token
    with pytest.raises(SeveralHosts):
        pending(Script(there), replace(SETTINGS, accepted_hosts={**accepted, "token endpoint": "another.example"}))


def test_the_hosts_of_google_belong_together() -> None:
    google = "https://accounts.google.com"
    there = {
        AT_PATH: resource(authorization_servers=[google]),
        f"{google}/.well-known/oauth-authorization-server": metadata(
            issuer=google,
            authorization_endpoint=f"{google}/o/oauth2/v2/auth",
            token_endpoint="https://oauth2.googleapis.com/token",
        ),
        f"{google}/register": document(client_id="registered"),
    }
    assert pending(Script(there)).token_endpoint == "https://oauth2.googleapis.com/token"


def test_no_secret_is_shown_of_a_login() -> None:
    login = logged_in()
    assert login.tokens is not None
    shown = f"{login!r} {login.client!r} {login.tokens!r} {pending(Script(WELL_KNOWN))!r}"
    assert not any(word in shown for word in ("access", "refresh", "verifier", "registered'", "state="))


# The answer


@pytest.mark.parametrize(
    ("promised", "query", "why"),
    [
        (False, answer(state="other"), "its state differs"),
        (False, "code=code", "its state differs"),
        (False, f"{answer()}&state=state", "its state differs"),
        (False, f"{answer()}&code=other", "names a parameter twice"),
        (False, answer(iss="https://evil.example.com"), "another authorization server"),
        (False, answer(iss=f"{ISSUER}/"), "another authorization server"),
        (True, answer(), "does not name its issuer"),
        (True, answer(iss="HTTPS://auth.example.com"), "another authorization server"),
        (False, answer(code=""), "has no code"),
    ],
)
def test_answers_that_are_not_accepted(promised: bool, query: str, why: str) -> None:
    script = Script({**WELL_KNOWN, METADATA: metadata(authorization_response_iss_parameter_supported=promised)})
    waiting = pending(script)
    with pytest.raises(AuthError, match=why):
        script.run(finish(SETTINGS, waiting, query, NOW))
    assert TOKEN not in script.urls  # "before transmitting the authorization code to any token endpoint"


def test_an_issuer_that_is_right_is_accepted() -> None:
    for promised in (True, False):
        script = Script({**WELL_KNOWN, METADATA: metadata(authorization_response_iss_parameter_supported=promised)})
        assert code_of(pending(script), answer(iss=ISSUER)) == "code"


def test_an_error_is_told_but_not_that_of_another_issuer() -> None:
    waiting = pending(Script(WELL_KNOWN))
    refused = {"error": "access_denied", "error_description": "You\nsaid no\u202e"}
    with pytest.raises(Refused, match=r"refused the login \(access_denied\): You said no") as told:
        code_of(waiting, answer(**refused))
    assert "\u202e" not in str(told.value)
    with pytest.raises(AuthError) as other:
        code_of(waiting, answer(**refused, iss="https://evil.example.com"))
    assert "access_denied" not in str(other.value)


def test_whose_answer_it_is() -> None:
    waiting = pending(Script(WELL_KNOWN))
    assert is_for(waiting, answer())
    assert not is_for(waiting, "state=st%C3%A4te")


# The client


def test_a_client_of_the_configuration_comes_first() -> None:
    settings = LoginSettings(
        name="files",
        url=SERVER,
        client_id="mine",
        client_secret="s:cret",
        client_metadata_url="u",
        issuer=ISSUER,
    )
    script = Script(WELL_KNOWN)
    script.run(finish(settings, pending(script, settings), answer(), NOW))
    assert f"{ISSUER}/register" not in script.urls
    assert "client_secret" not in script.form()
    header = script.requests[-1].headers["authorization"]
    assert base64.b64decode(header.removeprefix("Basic ")) == b"mine:s%3Acret"


@pytest.mark.parametrize(("supported", "is_in_form"), [(["client_secret_post"], True), (None, False), ([], False)])
def test_the_secret_goes_where_the_server_wants_it(supported: list[str] | None, is_in_form: bool) -> None:
    settings = LoginSettings(name="files", url=SERVER, client_id="mine", client_secret="secret", issuer=ISSUER)
    script = Script({**WELL_KNOWN, METADATA: metadata(token_endpoint_auth_methods_supported=supported)})
    script.run(finish(settings, pending(script, settings), answer(), NOW))
    assert ("client_secret" in script.form()) is is_in_form
    assert ("authorization" in script.requests[-1].headers) is not is_in_form


def test_a_metadata_document_is_used_where_it_is_supported() -> None:
    document_url = "https://search-mcp.example.com/client.json"
    settings = LoginSettings(name="files", url=SERVER, client_metadata_url=document_url)
    assert pending(Script(WELL_KNOWN), settings).client.client_id == "registered"
    script = Script({**WELL_KNOWN, METADATA: metadata(client_id_metadata_document_supported=True)})
    assert query_of(pending(script, settings))["client_id"] == document_url
    assert f"{ISSUER}/register" not in script.urls


def test_a_registration_is_used_again_at_its_issuer_only() -> None:
    before = logged_in()
    script = Script({key: value for key, value in WELL_KNOWN.items() if not key.endswith("/register")})
    assert pending(script, before=before).client == before.client
    other = "https://new.example.com"
    moved = {
        AT_PATH: resource(authorization_servers=[other]),
        f"{other}/.well-known/oauth-authorization-server": metadata(issuer=other),
        f"{other}/register": document(client_id="anew"),
    }
    assert pending(Script({**WELL_KNOWN, **moved}), before=before).client.client_id == "anew"
    expired = replace(before, client=replace(before.client, secret_expires_at=NOW - 1))
    script = Script(WELL_KNOWN)
    pending(script, before=expired)
    assert f"{ISSUER}/register" in script.urls


@pytest.mark.parametrize(("supported", "scope"), [(None, "a b"), (["b", "c"], "b"), ([], None)])
def test_only_scopes_of_the_authorization_server_are_registered(supported: list[str] | None, scope: str | None) -> None:
    """It may refuse others (oidc-provider does), or refuse later those that were not registered (the Python SDK)."""
    script = Script({**WELL_KNOWN, METADATA: metadata(scopes_supported=supported)})
    waiting = pending(script, challenge=Challenge("bearer", {"scope": "a b"}))
    assert json.loads(script.requests[-1].body).get("scope") == scope
    assert waiting.scopes == ("a", "b")


def test_for_more_scopes_another_client_is_registered() -> None:
    before = logged_in()
    script = Script(WELL_KNOWN)
    assert pending(script, before=before, challenge=Challenge("bearer", {"scope": "a"})).client.scopes == ("a",)
    assert f"{ISSUER}/register" in script.urls


def test_a_client_of_the_configuration_is_not_shown_to_another_issuer() -> None:
    settings = LoginSettings(name="files", url=SERVER, client_id="mine")
    before = logged_in(settings=settings)
    other = "https://new.example.com"
    moved = {
        AT_PATH: resource(authorization_servers=[other]),
        f"{other}/.well-known/oauth-authorization-server": metadata(issuer=other),
    }
    script = Script({**WELL_KNOWN, **moved})
    with pytest.raises(AuthError, match=r"was https://auth.* and is now https://new"):
        pending(script, settings, before=before)
    stated = replace(settings, issuer=other)
    assert pending(script, stated, before=before).issuer == other


def test_a_server_that_registers_nobody_needs_a_client_id() -> None:
    script = Script({**WELL_KNOWN, METADATA: metadata(registration_endpoint=None)})
    with pytest.raises(AuthError, match=r'set "oauth": \{"clientId"'):
        pending(script)


@pytest.mark.parametrize(
    ("response", "kind", "why"),
    [
        (Response(400, body=b'{"error":"invalid_redirect_uri"}'), Refused, "refused the client registration"),
        (Response(403, body=b"{}"), Refused, "HTTP status 403"),
        (Response(404, body=b"<html>"), AuthError, "HTTP status 404"),
        (Response(201, body=b"{}"), AuthError, "has no client ID"),
        (Response(503), Unavailable, "HTTP status 503"),
    ],
)
def test_a_registration_that_fails_is_explained(response: Response, kind: type[AuthError], why: str) -> None:
    with pytest.raises(kind, match=why):
        pending(Script({**WELL_KNOWN, f"{ISSUER}/register": response}))


@pytest.mark.parametrize(
    ("registered", "method"),
    [
        ({"client_secret": "s"}, "client_secret_basic"),
        ({"client_secret": "s", "token_endpoint_auth_method": "client_secret_post"}, "client_secret_post"),
        ({"client_secret": "s", "token_endpoint_auth_method": "none"}, "none"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "none"),
    ],
)
def test_the_registration_says_how_the_client_proves_itself(registered: dict[str, str], method: str) -> None:
    responses = {**WELL_KNOWN, f"{ISSUER}/register": document(client_id="x", **registered)}
    assert pending(Script(responses)).client.auth_method == method


@pytest.mark.parametrize(
    ("address", "response", "why"),
    [
        (f"{ISSUER}/register", document(client_id="x" * 4097), "a client whose ID or secret has more than 4,096"),
        (f"{ISSUER}/register", document(client_id="x", client_secret="x" * 4097), "ID or secret has more than 4,096"),
        (METADATA, metadata(authorization_endpoint=f"{ISSUER}/{'x' * 2048}"), "it has more than 2,048 characters"),
        (METADATA, metadata(revocation_endpoint=f"{ISSUER}/{'x' * 2048}"), "it has more than 2,048 characters"),
        (AT_PATH, resource(resource=f"{SERVER}?{'x' * 2048}"), "a resource of more than 2,048 characters"),
        (TOKEN, document(access_token="x" * 16_385), "a token of more than 16,384 characters"),
        (TOKEN, document(access_token="x", refresh_token="x" * 16_385), "a token of more than 16,384 characters"),
    ],
)
def test_no_long_text_of_a_server_is_sent_shown_or_stored(address: str, response: Response, why: str) -> None:
    with pytest.raises(AuthError, match=why) as refusal:
        logged_in({**WELL_KNOWN, address: response})
    assert len(str(refusal.value)) < 500


# Scopes


def test_the_scopes_of_a_login_are_limited() -> None:
    many = [str(number) for number in range(300_000)]  # a limit that looks at all of them for each would take hours
    responses = {
        **WELL_KNOWN,
        AT_PATH: resource(scopes_supported=many),
        METADATA: metadata(scopes_supported=many[::-1]),
        TOKEN: document(access_token="a", scope=" ".join(many)),
    }
    login = logged_in(responses)
    assert login.tokens is not None
    for kept in (login.wanted_scopes, login.client.scopes, login.tokens.scopes or ()):
        assert kept == tuple(many[-len(kept) :])
        assert 3900 < len(" ".join(kept)) <= 4000


def test_scopes_that_a_server_asks_for_in_ever_new_challenges_do_not_pile_up() -> None:
    before: Login | None = None
    for turn in range(20):
        challenge = Challenge("bearer", {"scope": " ".join(f"{turn}-{number}" for number in range(500))})
        steps = log_in_as_client(MACHINE, reach=Reach.PUBLIC, now=NOW, challenge=challenge, before=before)
        before = Script(WELL_KNOWN).run(steps)
        assert before.wanted_scopes[-1] == f"{turn}-499"
        assert len(" ".join(before.wanted_scopes)) <= 4000


@pytest.mark.parametrize(
    ("challenged", "configured", "of_resource", "of_server", "scope"),
    [
        ("", None, None, None, None),
        ("a b", None, ["c"], None, "a b"),
        ("", None, ["c", "d"], None, "c d"),
        ("", None, [], None, None),
        ("", None, ["c"], ["c", "offline_access"], "c offline_access"),
        ("", None, None, ["c", "offline_access"], None),
        ("", ("x",), ["c"], ["offline_access"], "x"),
        ("a", ("x",), None, None, "x a"),
        ("", (), ["c"], None, None),
    ],
)
def test_the_scopes_that_are_asked_for(
    challenged: str,
    configured: tuple[str, ...] | None,
    of_resource: list[str] | None,
    of_server: list[str] | None,
    scope: str | None,
) -> None:
    settings = LoginSettings(name="files", url=SERVER, scopes=configured)
    script = Script(
        {
            **WELL_KNOWN,
            AT_PATH: resource(scopes_supported=of_resource),
            METADATA: metadata(scopes_supported=of_server),
        }
    )
    query = query_of(pending(script, settings, Challenge("bearer", {"scope": challenged})))
    assert query.get("scope") == scope
    assert ("prompt" in query) is ("offline_access" in (scope or ""))


def test_more_scopes_are_asked_for_together_with_those_before() -> None:
    before = replace(logged_in(), wanted_scopes=("read", "list"), missing_scopes=("send",))
    challenge = Challenge("bearer", {"scope": "write read", "error": "insufficient_scope"})
    scopes = pending(Script(WELL_KNOWN), challenge=challenge, before=before).scopes
    assert scopes == ("read", "list", "send", "write")


@pytest.mark.parametrize(
    ("setting", "sent"), [(None, SERVER), (False, None), ("https://api.example.com", "https://api.example.com")]
)
def test_the_resource_can_be_set_or_left_out(setting: str | None, sent: str | None) -> None:
    settings = LoginSettings(name="files", url=SERVER, resource=setting)
    script = Script(WELL_KNOWN)
    waiting = pending(script, settings)
    script.run(finish(settings, waiting, answer(), NOW))
    assert query_of(waiting).get("resource") == script.form().get("resource") == sent


# Tokens


@pytest.mark.parametrize(
    ("response", "kind", "why"),
    [
        (Response(400, body=b'{"error":"invalid_grant","error_description":"used"}'), Refused, "invalid_grant.*: used"),
        (Response(200, body=b'{"error":"bad_verification_code"}'), Refused, "bad_verification_code"),
        (Response(400, body=b'{"error":"temporarily_unavailable"}'), Unavailable, "temporarily_unavailable"),
        (Response(500, body=b'{"error":"invalid_grant"}'), Unavailable, "invalid_grant"),
        (Response(502, body=b"<html>"), Unavailable, "HTTP status 502"),
        (Response(failure="the name was not found"), Unavailable, "the name was not found"),
        (Response(200, body=b"<html>"), AuthError, "has no token"),
        (Response(404), AuthError, "has no token"),
        (document(access_token="a", token_type="mac"), AuthError, "not a bearer token"),
        (document(access_token="a\r\nX: y"), AuthError, "cannot be sent in a header"),
    ],
)
def test_answers_of_a_token_endpoint_that_are_no_tokens(response: Response, kind: type[AuthError], why: str) -> None:
    with pytest.raises(kind, match=why):
        logged_in({**WELL_KNOWN, TOKEN: response})


@pytest.mark.parametrize(
    ("given", "seconds"), [(60, 60), (60.5, 60.5), ("60", 60), ("soon", None), (None, None), (-1, None), (0, None)]
)
def test_the_lifetime_of_a_token(given: object, seconds: float | None) -> None:
    login = logged_in({**WELL_KNOWN, TOKEN: document(access_token="a", expires_in=given)})
    assert login.tokens is not None
    assert login.tokens.expires_at == (None if seconds is None else NOW + seconds)


# Client credentials

MACHINE = LoginSettings(
    name="files",
    url=SERVER,
    client_id="mine",
    client_secret="secret",
    issuer=ISSUER,
    grant="client_credentials",
    scopes=("a", "b"),
)


def test_a_client_logs_in_without_a_user() -> None:
    script = Script(WELL_KNOWN)
    login = script.run(log_in_as_client(MACHINE, reach=Reach.PUBLIC, now=NOW))
    assert script.form() == {"grant_type": "client_credentials", "scope": "a b", "resource": SERVER}
    assert (login.access_token, login.wanted_scopes) == ("access", ("a", "b"))
    with pytest.raises(AuthError, match="needs"):
        script.run(log_in_as_client(replace(MACHINE, client_secret=None), reach=Reach.PUBLIC, now=NOW))


NOWHERE = "is sent only to an authorization server that the entry names"


def test_a_secret_is_not_sent_to_an_authorization_server_that_only_the_mcp_server_names() -> None:
    script = Script(WELL_KNOWN)
    machine, person = replace(MACHINE, issuer=None), replace(MACHINE, issuer=None, grant="authorization_code")
    with pytest.raises(AuthError, match=f'{NOWHERE}.* set "issuer": "{ISSUER}"'):
        script.run(log_in_as_client(machine, reach=Reach.PUBLIC, now=NOW))
    with pytest.raises(AuthError, match=NOWHERE):
        pending(script, person)
    assert not any(each.method == "POST" for each in script.requests)


def test_a_secret_is_sent_to_the_host_of_the_server_and_where_it_was_sent_before() -> None:
    machine, here = replace(MACHINE, issuer=None), "https://mcp.example.com"
    at_host = {
        f"{here}/.well-known/oauth-authorization-server": metadata(issuer=here),
        f"{here}/token": document(access_token="access"),
    }
    assert Script(at_host).run(log_in_as_client(machine, reach=Reach.PUBLIC, now=NOW)).issuer == here
    before = Script(WELL_KNOWN).run(log_in_as_client(MACHINE, reach=Reach.PUBLIC, now=NOW)).with_secret(None)
    again = Script(WELL_KNOWN).run(log_in_as_client(machine, reach=Reach.PUBLIC, now=NOW, before=before))
    assert again.issuer == ISSUER
    without = replace(before, client=replace(before.client, auth_method="none"))
    with pytest.raises(AuthError, match=NOWHERE):
        Script(WELL_KNOWN).run(log_in_as_client(machine, reach=Reach.PUBLIC, now=NOW, before=without))


# When to renew


@pytest.mark.parametrize(
    ("lifetime", "at", "is_due", "is_expired"),
    [
        (3600, 3299, False, False),
        (3600, 3301, True, False),
        (3600, 3600, True, True),
        (60, 47, False, False),
        (60, 49, True, False),
        (60, 60, True, True),
        (10, 7, False, False),
        (10, 8.5, True, False),
        (10, 10, True, True),
        (None, 1e9, False, False),
    ],
)
def test_when_a_token_is_due(lifetime: float | None, at: float, is_due: bool, is_expired: bool) -> None:
    login = logged_in({**WELL_KNOWN, TOKEN: document(access_token="a", expires_in=lifetime)})
    assert (login.is_due(NOW + at), login.is_expired(NOW + at)) == (is_due, is_expired)
    assert login.over("x").is_expired(NOW)


def test_members_of_wrong_types_do_not_cost_the_tokens() -> None:
    response = document(access_token="a", refresh_token="r", scope=["a"], expires_in={}, token_type=None)
    tokens = logged_in({**WELL_KNOWN, TOKEN: response}).tokens
    assert tokens is not None
    assert (tokens.access_token, tokens.refresh_token, tokens.expires_at, tokens.scopes) == ("a", "r", None, None)
