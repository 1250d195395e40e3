"""The way from a server to its authorization server."""

import pytest

from auth.scripted import ISSUER, SERVER, WELL_KNOWN, Script, document, metadata, resource
from search_mcp.auth.addresses import Reach
from search_mcp.auth.challenges import Challenge
from search_mcp.auth.errors import AddressRefused, AuthError, Unavailable
from search_mcp.auth.metadata import discover, resource_urls, server_urls
from search_mcp.auth.steps import Response

RESOURCE = "https://mcp.example.com/.well-known/oauth-protected-resource"
AT_PATH = f"{RESOURCE}/public/mcp"
METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"


def test_the_addresses_and_their_order() -> None:
    assert resource_urls(SERVER) == [AT_PATH, RESOURCE]
    assert resource_urls("https://mcp.example.com/") == [RESOURCE]
    assert server_urls("https://auth.example.com/tenant1") == [
        "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
        "https://auth.example.com/.well-known/openid-configuration/tenant1",
        "https://auth.example.com/tenant1/.well-known/openid-configuration",
    ]
    assert server_urls(f"{ISSUER}/") == [METADATA, f"{ISSUER}/.well-known/openid-configuration"]


def test_the_usual_way() -> None:
    script = Script(WELL_KNOWN)
    found = script.run(discover(SERVER, None, Reach.PUBLIC))
    assert (found.server.issuer, found.resource, found.scopes) == (ISSUER, SERVER, None)
    assert script.urls == [AT_PATH, METADATA]


def test_a_challenge_names_the_document() -> None:
    named = "https://mcp.example.com/elsewhere"
    script = Script({**WELL_KNOWN, named: resource(scopes_supported=["a"])})
    challenge = Challenge("bearer", {"resource_metadata": "/elsewhere"})
    assert script.run(discover(SERVER, challenge, Reach.PUBLIC)).scopes == ("a",)
    assert script.urls == [named, METADATA]


def test_a_named_document_that_is_missing_is_like_none() -> None:
    challenge = Challenge("bearer", {"resource_metadata": "/missing"})
    assert Script(WELL_KNOWN).run(discover(SERVER, challenge, Reach.PUBLIC)).server.issuer == ISSUER


@pytest.mark.parametrize("identifier", [SERVER, "https://mcp.example.com", "https://mcp.example.com/", f"{SERVER}/"])
def test_the_resource_is_kept_as_it_is_written(identifier: str) -> None:
    """Authorization servers compare it as text: an added slash makes them refuse (typescript-sdk#1972)."""
    script = Script({**WELL_KNOWN, AT_PATH: resource(resource=identifier)})
    assert script.run(discover(SERVER, None, Reach.PUBLIC)).resource == identifier


@pytest.mark.parametrize(
    "identifier", ["https://other.example.com/public/mcp", f"{SERVER}/x", "https://mcp.example.com/pub", "no URL"]
)
def test_the_metadata_of_another_resource_is_refused(identifier: str) -> None:
    script = Script({**WELL_KNOWN, AT_PATH: resource(resource=identifier)})
    with pytest.raises(AuthError, match="describes another server"):
        script.run(discover(SERVER, None, Reach.PUBLIC))


@pytest.mark.parametrize("issuer", ["https://honest.example.com", f"{ISSUER}/", "https://AUTH.example.com"])
def test_metadata_of_another_issuer_is_refused(issuer: str) -> None:
    script = Script({**WELL_KNOWN, METADATA: metadata(issuer=issuer)})
    with pytest.raises(AuthError, match="names another issuer"):
        script.run(discover(SERVER, None, Reach.PUBLIC))


def test_the_next_authorization_server_is_tried() -> None:
    offered = resource(authorization_servers=["https://gone.example.com", ISSUER])
    script = Script({**WELL_KNOWN, AT_PATH: offered})
    assert script.run(discover(SERVER, None, Reach.PUBLIC)).server.issuer == ISSUER


def test_the_authorization_server_of_the_login_before_comes_first() -> None:
    offered = resource(authorization_servers=["https://new.example.com", ISSUER])
    new = {"https://new.example.com/.well-known/oauth-authorization-server": metadata(issuer="https://new.example.com")}
    responses = {**WELL_KNOWN, AT_PATH: offered, **new}
    assert Script(responses).run(discover(SERVER, None, Reach.PUBLIC)).server.issuer == "https://new.example.com"
    assert Script(responses).run(discover(SERVER, None, Reach.PUBLIC, known=ISSUER)).server.issuer == ISSUER
    assert Script(responses).run(discover(SERVER, None, Reach.PUBLIC, issuer=ISSUER)).server.issuer == ISSUER


def test_an_authorization_server_that_the_resource_does_not_name_is_an_error() -> None:
    with pytest.raises(AuthError, match="the configuration names https://corp"):
        Script(WELL_KNOWN).run(discover(SERVER, None, Reach.PUBLIC, issuer="https://corp.example.com"))


# The first revision


def test_without_resource_metadata_the_server_is_its_authorization_server() -> None:
    url = "https://mcp.example.com/.well-known/oauth-authorization-server"
    for issuer in ("https://mcp.example.com", "https://mcp.example.com/"):
        found = Script({url: metadata(issuer=issuer)}).run(discover(SERVER, None, Reach.PUBLIC))
        assert (found.server.issuer, found.resource) == (issuer, SERVER)


def test_without_any_metadata_the_default_endpoints_are_used() -> None:
    server = Script({}).run(discover(SERVER, None, Reach.PUBLIC)).server
    assert server.authorization_endpoint == "https://mcp.example.com/authorize"
    assert server.token_endpoint == "https://mcp.example.com/token"
    assert server.registration_endpoint == "https://mcp.example.com/register"


@pytest.mark.parametrize("broken", [Response(503), Response(429), Response(failure="the connection was refused")])
def test_a_server_in_trouble_is_not_taken_for_one_without_metadata(broken: Response) -> None:
    for url in (AT_PATH, METADATA):
        with pytest.raises(Unavailable, match="cannot be read"):
            Script({**WELL_KNOWN, url: broken}).run(discover(SERVER, None, Reach.PUBLIC))
    with pytest.raises(Unavailable):
        Script({"https://mcp.example.com/.well-known/oauth-authorization-server": broken}).run(
            discover(SERVER, None, Reach.PUBLIC)
        )


# Addresses


@pytest.mark.parametrize(
    ("url", "response"),
    [
        (AT_PATH, resource(authorization_servers=["http://169.254.169.254"])),
        (AT_PATH, resource(authorization_servers=["https://10.0.0.1"])),
        (AT_PATH, Response(302, {"location": "https://192.168.1.1/admin"})),
        (METADATA, metadata(token_endpoint="https://localhost:6379/")),
        (METADATA, metadata(authorization_endpoint="file:///etc/passwd")),
        (METADATA, metadata(registration_endpoint="http://auth.example.com/register")),
    ],
)
def test_nothing_leads_to_addresses_that_the_network_hides(url: str, response: Response) -> None:
    script = Script({**WELL_KNOWN, url: response})
    with pytest.raises(AddressRefused):
        script.run(discover(SERVER, None, Reach.PUBLIC))
    assert script.urls[-1] == url


def test_a_challenge_leads_nowhere_either() -> None:
    script = Script({})
    challenge = Challenge("bearer", {"resource_metadata": "http://169.254.169.254/latest/meta-data/"})
    with pytest.raises(AddressRefused):
        script.run(discover(SERVER, challenge, Reach.PUBLIC))
    assert script.urls == []


def test_a_challenge_that_names_no_url_is_an_error_of_the_login() -> None:
    challenge = Challenge("bearer", {"resource_metadata": "https://[::1"})
    with pytest.raises(AddressRefused, match="it is not a URL"):
        Script(WELL_KNOWN).run(discover(SERVER, challenge, Reach.PUBLIC))


def test_redirects_are_followed_a_few_times() -> None:
    moved = Response(301, {"location": "/moved"})
    script = Script({**WELL_KNOWN, AT_PATH: moved, "https://mcp.example.com/moved": resource()})
    assert script.run(discover(SERVER, None, Reach.PUBLIC)).server.issuer == ISSUER
    script = Script({AT_PATH: Response(301, {"location": AT_PATH})})
    with pytest.raises(AuthError, match="too many redirects"):
        script.run(discover(SERVER, None, Reach.PUBLIC))
    assert len(script.urls) == 4


@pytest.mark.parametrize(
    ("url", "response", "why"),
    [
        (AT_PATH, Response(200, body=b"<html>"), "cannot be read"),
        (METADATA, Response(200, body=b"[]"), "cannot be read"),
        (METADATA, document(issuer=ISSUER), "names no token endpoint"),
        (METADATA, Response(404), "has no metadata"),
    ],
)
def test_documents_that_cannot_be_used(url: str, response: Response, why: str) -> None:
    with pytest.raises(AuthError, match=why):
        Script({**WELL_KNOWN, url: response}).run(discover(SERVER, None, Reach.PUBLIC))


def test_a_resource_that_names_no_authorization_server_is_one_of_the_first_revision() -> None:
    script = Script({AT_PATH: resource(authorization_servers=[])})
    assert script.run(discover(SERVER, None, Reach.PUBLIC)).server.issuer == "https://mcp.example.com"
